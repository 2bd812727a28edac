#!/bin/sh
# Prints the interruption notice of this EC2 machine, or nothing if there is none. Exits with 1 if nothing can
# be said: the agent asks again soon, however often. Each run takes a token of its own, so none is ever stale.
imds="${DROVER_IMDS:-http://169.254.169.254}/latest"
new='
'
# Prints the body of an answer and, on a last line, its status.
if command -v curl >/dev/null 2>&1; then
  ask() { curl -s -m 3 --noproxy '*' -w '\n%{http_code}' -X "$1" -H "$2" "$imds/$3"; }
else
  ask() {
    wget -q -O - -S -T 3 -t 1 --no-proxy --method="$1" --header="$2" "$imds/$3" 2>&1 |
      awk '/^ *HTTP\//{code=$2;next} /^  [A-Za-z-]+:/{next} {print} END{print code}'
  }
fi
token=$(ask PUT 'X-aws-ec2-metadata-token-ttl-seconds: 60' api/token)
[ "${token##*"$new"}" = 200 ] || exit 1
token=${token%"$new"*}
said=$(ask GET "X-aws-ec2-metadata-token: $token" meta-data/spot/instance-action)
case ${said##*"$new"} in 200) ;; 404) exit 0 ;; *) exit 1 ;; esac
time=$(printf %s "$said" | sed -n 's/.*"time" *: *"\([^"]*\)".*/\1/p')
echo "Amazon takes this spot machine away at $time"
# The days of a date since 1970: a year begins in March, so that the leap day is its last.
left=$(printf %s "$time" | awk -F '[-T:Z]' -v now="$(date -u +%s)" 'NF >= 6 {
  y = $1 - ($2 <= 2); m = ($2 + 9) % 12
  d = 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * m + 2) / 5) + $3 - 719469
  s = d * 86400 + $4 * 3600 + $5 * 60 + $6 - now
  print (s < 0 ? 0 : (s > 120 ? 120 : s))
}')
[ -z "$left" ] || echo "gone in ${left}s"
