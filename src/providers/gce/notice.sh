#!/bin/sh
# Prints the preemption notice of this machine of Google, or nothing if there is none. Exits with 1 if nothing
# can be said: the agent asks again soon, however often.
url="${DROVER_METADATA:-http://metadata.google.internal}/computeMetadata/v1/instance/preempted"
if command -v curl >/dev/null 2>&1; then
  said=$(curl -sf -m 3 --noproxy '*' -H 'Metadata-Flavor: Google' "$url") || exit 1
else
  said=$(wget -q -O - -T 3 -t 1 --no-proxy --header='Metadata-Flavor: Google' "$url") || exit 1
fi
case $said in
  TRUE) echo "Google takes this machine away"; echo "gone in 30s" ;;
  FALSE) ;;
  *) exit 1 ;;
esac
