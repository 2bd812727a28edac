#!/bin/sh
# The first process of a machine of Fly: runs the script that makes it a host, and ends the machine with that.
# Before Fly stops a machine it sends SIGTERM, and waits for as long as the machine's configuration says. The
# agent is to learn that by its notice, and ends what runs in time.
dir="${DROVER_STATE_DIR:-/var/lib/drover}"
mkdir -p "$dir"
echo $$ > "$dir/first-pid"
# The file gets its name once it is whole: the notice may be asked for at any moment.
trap 'echo $(($(date +%s) + 300)) > "$dir/stops-at.new" && mv "$dir/stops-at.new" "$dir/stops-at"' TERM INT
sh "${0%/*}/user-data" &
host=$!
# A trapped signal ends a wait with a code of its own, but not the script that is waited for. Once that has ended,
# its own code may still be there to ask for.
while :; do
  wait "$host"
  code=$?
  kill -0 "$host" 2>/dev/null && continue
  wait "$host" 2>/dev/null
  own=$?
  [ "$own" -eq 127 ] || code=$own
  exit "$code"
done
