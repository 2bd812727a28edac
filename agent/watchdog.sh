#!/bin/sh
# Ends the tasks at the end of a lease if the agent does not. Every few seconds it checks how much of the
# lease is left. Near the end it runs "$@", which ends all attempts as the agent would; if "$@" keeps failing,
# the watchdog kills their processes itself, as well as a shell can.
#
# - Arguments: the state directory; the seconds between two checks; how many seconds before the end of the
#   lease it acts if the agent is dead or suspended, how many if the agent seems to run, and how many if there
#   is no time for Node; the command that powers the machine off, or nothing; then "$@".
# - Times come from /proc/uptime, which counts sleep, as the agent's clock does.
# - It exits when watchdog.lock names another process or is gone, or when the agent is dead and nothing is
#   left to guard. Until then it acts once for each end of a lease: a living agent ends later attempts itself.
state=$1 pause=$2 dead=$3 last=$4 bare=$5 power_off=$6
shift 6
# If more seconds than this pass between two checks, the machine slept. A running agent then gets this many
# seconds to renew the lease.
asleep=8
stat() { read -r pid _ run _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ start _ <"$1"; } 2>/dev/null
see_agent() {
  agent=dead
  stat "$state/agent.lock" || return
  named="$pid $start"
  stat "/proc/$pid/stat" || return
  [ "$pid $start" = "$named" ] || return
  case $run in Z | X) ;; T | t) agent=stopped ;; *) agent=runs ;; esac
}
see_lease() {
  text=
  read -r text <"$state/lease.json"
  until=${text#*\"until\":}
  until=${until%%[!0-9]*}
  [ -n "$until" ] || return
  read -r now _ </proc/uptime
  left=$((until / 1000 - ${now%.*}))
} 2>/dev/null
kill_bare() {
  found=
  for file in "$state"/groups/*.json; do
    [ -e "$file" ] || continue
    rest=$(cat "$file") || continue
    while path=${rest#*\"path\":\"} && [ "$path" != "$rest" ]; do
      rest=$path path=${path%%\"*}
      # shellcheck disable=SC2013 # the whole list is read before the first kill
      for pid in $(cat "$path/cgroup.procs"); do found=1; kill -9 "$pid"; done
      [ ! -e "$path/cgroup.kill" ] || echo 1 >"$path/cgroup.kill"
    done
  done
  for folder in /proc/[0-9]*; do
    tr '\0' '\n' <"$folder/environ" | grep -qF "DROVER_TASK_DIR=$state/" || continue
    found=1
    kill -9 "${folder#/proc/}"
  done
  [ -z "$found" ] && rm -rf "$state"/secrets/*
} 2>/dev/null
ended=
while sleep "$pause"; do
  stat "$state/watchdog.lock" && [ "$pid" = "$$" ] || exit
  see_agent
  if ! see_lease; then
    [ "$agent" != dead ] || exit
    continue
  fi
  now=${now%.*}
  [ "$((now - ${seen:-$now}))" -le "$asleep" ] || patience=$((now + asleep))
  seen=$now
  [ "$agent" != runs ] || [ "$seen" -ge "${patience:-0}" ] || continue
  lead=$dead
  [ "$agent" != runs ] || lead=$last
  [ "$left" -le "$lead" ] || continue
  if [ "$ended" != "$until" ]; then
    echo "$left s before the end of the lease the agent is $agent (${now%.*})"
    if "$@" </dev/null; then ended=$until; elif see_lease && [ "$left" -le "$bare" ]; then
      kill_bare && ended=$until
    fi
  fi
  [ "$ended" = "$until" ] || continue
  [ "$agent$power_off" != dead ] || exit
  if [ -z "$power_off" ] || [ "$agent" = runs ] || [ "$left" -gt 0 ]; then continue; fi
  sh -c "$power_off"
  exit
done
