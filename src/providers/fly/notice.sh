#!/bin/sh
# Prints that Fly stops this machine, or nothing: its first process notes until when Fly waits.
at="${DROVER_STATE_DIR:-/var/lib/drover}/stops-at"
[ -s "$at" ] || exit 0
left=$(($(cat "$at") - $(date +%s)))
echo "Fly stops this machine"
echo "gone in $((left > 0 ? left : 0))s"
