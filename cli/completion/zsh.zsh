#compdef drover
# Completion of drover for zsh. `drover completion zsh` prints it.
_drover() {
  local -a lines shown
  local line
  lines=("${(@f)$(drover complete zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  case $lines[1] in
    (words)
      for line in "${(@)lines[2,-1]}"; do
        shown+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
      done
      _describe -V drover shown
      ;;
    (files | directories)
      # What stands before the equals sign stays.
      [[ $PREFIX == --*=* ]] && compset -P '*='
      if [[ $lines[1] == files ]]; then _files; else _files -/; fi
      ;;
    (commands) _command_names -e ;;
  esac
}
# It is either read from a folder of functions, or by `source`.
if [ "$funcstack[1]" = "_drover" ]; then _drover "$@"; else compdef _drover drover; fi
