#!/bin/sh
# Makes this machine a host of Drover, which runs the tasks that Drover places here.
#
#   curl -fsSL @DROVER_URL@/agent/install.sh | DROVER_CODE=drvc_… sh -s --
#
# The code is in the environment, because every user of a machine can read the arguments of a process. The
# script logs each step. If it runs again, it updates the agent and keeps the identity of this machine. A
# truncated download does nothing, because only the last line calls `main`.
set -eu

say() { printf 'drover: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

usage() {
  cat <<'END'
Makes this machine a host of Drover.

  --url <url>     the URL of Drover (default: @DROVER_URL@)
  --state <dir>   the directory for the agent's state
                  (default: /var/lib/drover for root, else ~/.local/state/drover)
  --devices <file>
                  a program that prints the GPUs of this machine as JSON (default: nvidia-smi, if it is
                  there); it stays until another one is named, also when this script runs again
  --foreground    run the agent now, instead of as a service
  --uninstall     stop the service, and delete the identity of this machine

The variable DROVER_CODE has the enrollment code that `drover enroll` prints; needed once.
END
}

main() {
  url='@DROVER_URL@' sha256='@AGENT_SHA256@'
  code=${DROVER_CODE:-} state='' devices='' foreground='' uninstall=''
  unset DROVER_CODE
  while [ $# -gt 0 ]; do
    case $1 in
      --url | --state | --devices)
        [ -n "${2:-}" ] || fail "$1 needs a value. Try --help."
        case $1 in --url) url=${2%/} ;; --state) state=$2 ;; --devices) devices=$2 ;; esac
        shift 2
        ;;
      --foreground) foreground=yes && shift ;;
      --uninstall) uninstall=yes && shift ;;
      --help) usage && exit 0 ;;
      --code) fail "Every user of this machine can read arguments: set DROVER_CODE instead, as \`drover enroll\` prints it." ;;
      *) fail "Unknown option $1. Try --help." ;;
    esac
  done
  choose_places
  if [ -n "$uninstall" ]; then
    forget
    exit 0
  fi
  find_node
  place_agent
  place_devices
  place_code
  if [ -z "$foreground" ] && [ -n "$unit" ]; then
    start_service
    exit 0
  fi
  [ -n "$foreground" ] || say "This machine has no systemd, so the agent runs here, not as a service. Ctrl-C ends it."
  exec "$node" "$state/drover-agent.mjs" --url "$url" --state "$state" --code-file "$state/code"
}

# Sets state, unit and ctl; unit is empty where no service can be installed.
choose_places() {
  [ "$(uname -s)" = Linux ] || fail "Hosts must run Linux; this is $(uname -s)."
  unit='' ctl='systemctl'
  if [ "$(id -u)" = 0 ]; then
    state=${state:-/var/lib/drover}
    [ ! -d /run/systemd/system ] || unit=/etc/systemd/system/drover-agent.service
  else
    state=${state:-${XDG_STATE_HOME:-$HOME/.local/state}/drover}
    ctl='systemctl --user'
    if [ -d /run/systemd/system ] && $ctl show-environment >/dev/null 2>&1; then
      unit=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/drover-agent.service
    fi
  fi
  case $state in /*) ;; *) state=$PWD/$state ;; esac
  # The values become part of a systemd unit, where these characters have a special meaning.
  case $state$url in *[[:space:]\"\'%\$\\]*) fail "--state and --url must not contain blanks, quotes, %, \$ or \\." ;; esac
}

find_node() {
  command -v node >/dev/null || fail "The agent needs Node 20 or newer, and this machine has none: see https://nodejs.org/en/download."
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 20 ] || fail "The agent needs Node 20 or newer; this is $(node --version): see https://nodejs.org/en/download."
  # The PATH of a service might lack node.
  node=$(node -p process.execPath)
  say "Uses $node, $(node --version)."
}

place_agent() {
  umask 077
  mkdir -p "$state" || fail "Cannot create $state: name another --state, or run this as root."
  # Programs in this directory are executed, perhaps as root: nobody else must be able to change them.
  if [ -L "$state" ] || [ ! -O "$state" ] || [ -n "$(find "$state" -prune -perm /022)" ]; then
    fail "$state is a link, belongs to another user, or others can write to it: name another --state."
  fi
  agent=$state/drover-agent.mjs
  say "Fetches the agent from $url into $state."
  curl -fsSL "$url/agent/drover-agent.mjs" -o "$agent.new" || fail "Cannot fetch the agent from $url: is Drover up?"
  found=$(sha256sum "$agent.new" | cut -d ' ' -f 1)
  if [ "$found" != "$sha256" ]; then
    rm -f "$agent.new"
    fail "The agent has the digest $found, but should have $sha256: download this script again from $url."
  fi
  mv "$agent.new" "$agent"
  # What is left of an update that was under way belongs to the agent before.
  rm -f "$state/updating" "$state/refused" "$agent.old"
}

# The agent looks for the program in its state directory.
place_devices() {
  [ -n "$devices" ] || return 0
  case $devices in /*) ;; *) devices=$PWD/$devices ;; esac
  if [ ! -f "$devices" ] || [ ! -x "$devices" ]; then
    fail "$devices is no program: --devices must name a file that can be executed."
  fi
  ln -sfn "$devices" "$state/devices"
  say "Asks $devices for the GPUs of this machine."
}

# Writes the code to a file for the agent. printf is a builtin: no process has the code as an argument.
place_code() {
  if [ -n "$code" ]; then
    printf '%s\n' "$code" >"$state/code"
    [ ! -e "$state/setup.json" ] || say "This machine is already enrolled: it keeps its identity as long as Drover knows it."
  elif [ ! -e "$state/setup.json" ]; then
    fail "This machine is not enrolled yet: get a code with \`drover enroll\`, and set DROVER_CODE to it."
  else
    say "This machine is already enrolled: it keeps its identity."
  fi
}

# Delegate and DelegateSubgroup let the agent create a cgroup for each task beside its own. KillMode lets tasks
# outlive the agent. systemd does not restart an agent that Drover no longer needs (exit code 0) or refuses (3),
# that was called wrongly (2), or whose state another agent uses (4).
start_service() {
  case $unit in /etc/*) target=multi-user.target ;; *) target=default.target ;; esac
  say "Installs the service drover-agent ($unit)."
  # A newer agent that has not reported after three starts makes room for the one before it.
  cat >"$state/go-back.sh" <<'END'
cd "$1" || exit 0
[ -e updating ] && [ -e drover-agent.mjs.old ] || exit 0
echo >>updating
[ "$(wc -l <updating)" -gt 4 ] || exit 0
mv -f drover-agent.mjs.old drover-agent.mjs
mv -f updating refused
END
  umask 022
  mkdir -p "${unit%/*}"
  cat >"$unit" <<END
[Unit]
Description=Drover host agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Environment=DROVER_RESTARTS=1
ExecStartPre=/bin/sh $state/go-back.sh $state
ExecStart=$node $state/drover-agent.mjs --url $url --state $state --code-file $state/code
Delegate=yes
DelegateSubgroup=drover-agent
KillMode=process
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 3 4
UMask=0077

[Install]
WantedBy=$target
END
  $ctl daemon-reload
  if $ctl is-active --quiet drover-agent; then
    say "Restarts the agent. Tasks here go on: the new agent adopts them."
    # On SIGTERM the agent would end its tasks, too. A killed agent leaves its tasks to the next agent.
    $ctl kill --kill-who=main --signal=KILL drover-agent || true
  fi
  $ctl enable --quiet drover-agent
  $ctl start drover-agent
  if [ "$target" = default.target ] && ! loginctl enable-linger 2>/dev/null; then
    say "The agent will end when you log out: ask an administrator for \`loginctl enable-linger $(id -un)\`."
  fi
  say "Done. \`drover workers\` shows this machine in a moment; \`journalctl -u drover-agent\` shows its log."
}

forget() {
  if [ -n "$unit" ] && [ -e "$unit" ]; then
    say "Stops the service drover-agent and its tasks, and removes it."
    $ctl disable --now --quiet drover-agent || true
    rm -f "$unit"
    $ctl daemon-reload
  fi
  [ ! -e "$state/setup.json" ] || say "Drover shows this machine as unknown until \`drover kill\` ends its worker."
  rm -f "$state/secret" "$state/salt" "$state/setup.json" "$state/code" "$state/drover-agent.mjs" \
    "$state/drover-agent.mjs.old" "$state/devices" "$state/go-back.sh" "$state/updating" "$state/refused"
  say "This machine is no longer a host. The data of its runs are still in $state: delete them when you like."
}

main "$@"
