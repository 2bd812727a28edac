#!/bin/sh
# Runs on Drover what a file says, once a day, by curl alone, and ends as that did. For cron: one that fires
# twice, or again after this machine was down, finds the run of the day and waits for it.
#
#   DROVER_URL=https://… DROVER_TOKEN=drv_… nightly.sh nightly.json [day]
#
# Exit codes: the command's own (128 + n if signal n ended it), 124 if its time was over, 125 if there is none.
set -u
: "${DROVER_URL:?the address of your Drover}" "${DROVER_TOKEN:?a token of it}"
file=${1:?a file that says what to run}
key=$(basename "$file" .json)-${2:-$(date -u +%Y-%m-%d)}
answer=$(mktemp) && trap 'rm -f "$answer"' EXIT

# call <path> [option of curl …]: the answer is in the file then. Whatever may pass is tried again, for ten
# minutes: no connection, one that broke, and the statuses 408, 429 and 5xx. That does no harm: a submission
# with the same key is the same one. An answer may take as long as it likes, while something of it comes: a
# question is held for a minute without a byte. What curl has of an answer that broke says 200, too.
call() {
  path=$1 && shift
  status=$(curl -s "$DROVER_URL/v1/$path" -H "Authorization: Bearer $DROVER_TOKEN" "$@" \
    --retry 200 --retry-all-errors --retry-max-time 600 --retry-delay 3 --connect-timeout 10 --speed-limit 1 \
    --speed-time 90 -o "$answer" -w '%{http_code}') ||
    { status="no whole answer, curl says $?" && : >"$answer"; }
  case $status in 2??) return ;; esac
  echo "nightly: $DROVER_URL/v1/$path: $status $(cat "$answer")" >&2
  exit 125
}

# field <name>: its value in the answer, where it stands first.
field() { grep -o "\"$1\":[^,}]*" "$answer" | head -n 1 | cut -d : -f 2 | tr -d '"'; }

call runs -H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary "@$file"
run=$(field id)
echo "nightly: $key is run $run" >&2

# A question is held for a minute. No end in that time is no error: it is asked again.
while call "runs/$run?wait=60s&state=done"; do
  case $(field finishedAt) in [0-9]*) break ;; esac
  sleep 1
done
state=$(field state) code=$(field exitCode)
[ "$state" != timedout ] || code=124
[ "$code" != null ] || code=125

call "runs/$run/logs/main/stdout" && cat "$answer"
call "runs/$run/logs/main/stderr" && cat "$answer" >&2
echo "nightly: $run is $state, exit code $code" >&2
exit "$code"
