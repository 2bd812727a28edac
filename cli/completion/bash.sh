# shellcheck shell=bash
# Completion of drover for bash. `drover completion bash` prints it.
_drover() {
  local IFS=$'\n' current=${COMP_WORDS[COMP_CWORD]} line kind=
  COMPREPLY=()
  # Bash takes `--pool=gpu` apart, and completes only what stands behind the equals sign.
  if [ "$current" = "=" ]; then current=; fi
  while read -r line; do
    case $kind in
      '') kind=$line ;;
      words) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <(drover complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $kind in
    words) compopt -o nosort 2>/dev/null ;;
    files) set -- -f ;;
    directories) set -- -d ;;
    commands) set -- -c ;;
  esac
  if [ "$kind" = files ] || [ "$kind" = directories ] || [ "$kind" = commands ]; then
    [ "$kind" = commands ] || compopt -o filenames 2>/dev/null
    while read -r line; do
      COMPREPLY+=("$line")
    done < <(compgen "$1" -- "$current")
  fi
  return 0
}
complete -F _drover drover
