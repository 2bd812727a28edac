#!/bin/sh
# A host of Drover without its agent: joins with this machine, reports what lives here, does what the orders
# say.
# Needs Linux, a POSIX shell, curl, openssl, and setsid and flock (of util-linux, or of busybox).
#
#   DROVER_URL=https://… host.sh <code>     the first time, with a code of `drover enroll`
#   DROVER_URL=https://… host.sh            from then on
#
# What it knows lies in $DROVER_HOST_DIR, by default ./drover-host. It ends with 0 when Drover is done with
# it: after `drover drain`, or `drover kill`.
set -u
url=${DROVER_URL:?the address of your Drover}
umask 077
mkdir -p "${DROVER_HOST_DIR:=drover-host}/jobs" && cd "$DROVER_HOST_DIR" || exit 1
boot=$(cat /proc/sys/kernel/random/boot_id)
worker=$(cat worker 2>/dev/null)

die() {
  echo "host.sh: $*" >&2
  exit 1
}

# What it reports, and what it is told to do, goes in the clear to this very machine only.
at=${url#*://} at=${at%%/*}
case $at in '[::1]' | '[::1]:'*) name='[::1]' ;; *) name=${at%%:*} ;; esac
case $url in *[@?#]*) name= ;; esac
case ${url%%://*}:$name in
https:?* | http:localhost | http:127.0.0.1 | 'http:[::1]') ;;
*) die "DROVER_URL must be https, or http of this very machine: $url is neither" ;;
esac
prefix=${url#*"://$at"}

# --- Saying something, signed, and believing what is signed (docs/design/protocol.md) ---

# keyed <file>: the two keys of HMAC-SHA256 of a secret in base64: filled up with zeros to 64 bytes, each xor a
# number. They are read from files, because everybody on a machine can see the arguments of its `openssl`.
keyed() {
  pad "$1" 54 >"$1.inner" && pad "$1" 92 >"$1.outer"
}
pad() {
  { openssl base64 -d -A <"$1" && head -c 32 /dev/zero; } | od -An -v -tu1 | tr -s ' ' '\n' |
    while read -r byte; do [ -z "$byte" ] || printf %b "\\0$(printf %o $((byte ^ $2)))"; done
}

# hmac <file>: of what it reads, by the keys that `keyed` has made.
hmac() {
  cat "$1.inner" - | openssl dgst -sha256 -binary | cat "$1.outer" - | openssl dgst -sha256 -binary
}

# digest <file>: as the header Content-Digest says it.
digest() { printf 'sha-256=:%s:' "$(openssl dgst -sha256 -binary "$1" | openssl base64 -A)"; }

# header <name>: of the answer.
header() {
  tr -d '\r' <headers |
    awk -v name="$1:" 'tolower($1) == name { sub(/^[^ ]* */, ""); value = $0 } END { print value }'
}

# fetch <arguments of curl>: no file of its own, and no proxy of the environment, comes in between on this machine.
fetch() {
  case $url in http:*) curl -q --noproxy '*' "$@" ;; *) curl -q "$@" ;; esac
}

# call <POST|PUT> <path> <content type> <purpose>: sends the file `body`, signed as `keyid` with the secret in
# the file `key` names. If that goes well the file `answer` is what came back.
offset=0 covered='("@method" "@path" "@query" "content-digest")'
call() {
  path=$prefix/v1/hosts/${2%%\?*} query='?'
  case $2 in *\?*) query="?${2#*\?}" ;; esac
  sum=$(digest body) nonce=$(openssl rand -hex 16)
  params="$covered;created=$(($(date +%s) + offset));nonce=\"$nonce\";keyid=\"$keyid\";tag=\"drover-$4\""
  signature=$(printf '"@method": %s\n"@path": %s\n"@query": %s\n"content-digest": %s\n"@signature-params": %s' \
    "$1" "$path" "$query" "$sum" "$params" | hmac "$key" | openssl base64 -A)
  : >answer
  status=$(fetch -sS --max-time 20 -X "$1" "$url/v1/hosts/$2" --data-binary @body -H "Content-Type: $3" \
    -H "Content-Digest: $sum" -H "Signature-Input: drover=$params" -H "Signature: drover=:$signature:" \
    -D headers -o answer -w '%{http_code}') || status=000
  # What nobody known has signed is no answer, whatever it says.
  [ "$status" = 000 ] || proven || status=000
  case $status in
  200) return 0 ;;
  # This clock is off; the next call goes by that of the control plane.
  401) offset=$((created - $(date +%s))) ;;
  # Another start of this host, or a clone of it, speaks for this machine now, or Drover is done with it.
  403 | 404 | 409 | 410) [ "$1" = PUT ] || { stop_all && die "refused: $(cat answer)"; } ;;
  esac
  return 1
}

# proven: whether the answer was signed by who has the same secret, and for the call that was made. Its key is
# good for nothing else, so it may stand among the arguments.
proven() {
  input=$(header signature-input) && input=${input#drover=}
  case $input in
  '("@status" "content-digest");created='*";keyid=\"$keyid\";tag=\"drover-answer\"") ;;
  *) return 1 ;;
  esac
  created=${input#*;created=} && created=${created%%;*}
  case $created in '' | *[!0-9]*) return 1 ;; esac
  sum=$(digest answer)
  once=$(printf 'drover-answer\n%s' "$signature" | hmac "$key" | od -An -v -tx1 | tr -d ' \n')
  signed=$(printf '"@status": %s\n"content-digest": %s\n"@signature-params": %s' "$status" "$sum" "$input" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$once" -binary | openssl base64 -A)
  [ "$(header content-digest)" = "$sum" ] && [ "$(header signature)" = "drover=:$signed:" ]
}

# number <name>: the first number of that name in the answer.
number() { grep -o "\"$1\":[0-9]*" answer | head -n 1 | cut -d : -f 2; }

# --- Jobs: jobs/<run>/<task>/<epoch>.<n>, named as the attempts that they are ---

# words <argv|env|dir|umask> <orders of one attempt>: that list, map or text in words of a shell: 'a' 'b', or x='1'
# y='2', or 'a'.
words() {
  printf '%s\n' "$2" | awk -v key="$1" -v quote="'" '
    function plain(text,   out, at, kind) {
      while (at = index(text, "\\")) {
        kind = substr(text, at + 1, 1)
        out = out substr(text, 1, at - 1)
        if (kind == "u") out = out sprintf("%c", index(hex, substr(text, at + 4, 1)) * 16 - 17 + \
          index(hex, substr(text, at + 5, 1)))
        else out = out (kind == "n" ? "\n" : kind == "t" ? "\t" : kind == "r" ? "\r" : \
          kind == "b" ? "\b" : kind == "f" ? "\f" : kind)
        text = substr(text, at + (kind == "u" ? 6 : 2))
      }
      return out text
    }
    BEGIN { hex = "0123456789abcdef"; single = key == "dir" || key == "umask" }
    # A variable may be called as what is looked for.
    single { gsub(/"(env|meta)":[{]("([^"\\]|\\.)*"[,:]?)*[}]/, "") }
    match($0, "\"" key "\":" (single ? "" : "[[{]")) {
      rest = substr($0, RSTART + RLENGTH)
      while (match(rest, /^[,:]?"([^"\\]|\\.)*"/)) {
        text = plain(substr(rest, 1, RLENGTH))
        rest = substr(rest, RLENGTH + 1)
        sub(/^[,:]?"/, "", text)
        sub(/"$/, "", text)
        if (key == "env" && (++n % 2)) { printf " %s=", text; continue }
        gsub(quote, quote "\\\\" quote quote, text)
        printf "%s%s%s%s", key == "env" ? "" : " ", quote, text, quote
        if (single) exit
      }
    }'
}

# signal <signal> <job>: to all that the job has started. Fails if nothing of it is left.
signal() { kill -s "$1" -- "-$(cat "$2/pid")" 2>/dev/null; }

# start <attempt> <its orders>: what was started once is never started again.
start() {
  job=jobs/$1
  mkdir -p "${job%/*}" && mkdir "$job" 2>/dev/null || return
  mkdir "$job/dir"
  {
    # Not by `echo`, which in some shells makes something of backslashes.
    # The files of this host are private, and those of commands are their own affair.
    mask=$(words umask "$2")
    echo "umask ${mask:-022}"
    printf 'cd . %s || exit 1\n' "$(words dir "$2" | sed '1s/^/\&\& cd/')"
    printf "export DROVER_RUN_ID='%s' DROVER_ATTEMPT_ID='%s' %s\n" "${1%%/*}" "$1" "$(words env "$2")"
    printf 'exec %s\n' "$(words argv "$2")"
  } >"$job/command"
  # The shell outlives the signals for its command, to write down how that ended.
  # shellcheck disable=SC2016
  setsid sh -c 'trap : HUP QUIT USR1 USR2 ALRM TERM
    (cd "$1/dir" && exec env -i PATH="$PATH" HOME="$HOME" LANG=C.UTF-8 sh ../command) >"$1/stdout" 2>"$1/stderr"
    echo $? >"$1/exit.new" && mv "$1/exit.new" "$1/exit"' sh "$job" </dev/null >/dev/null 2>&1 9>&- &
  echo $! >"$job/pid"
}

# stop <attempt> <its orders>: the signal at once, the end when its time is over.
stop() {
  job=jobs/$1
  [ -e "$job/pid" ] || return
  if [ ! -e "$job/stop" ]; then
    ms=$(printf '%s\n' "$2" | sed 's/.*"timeoutMs":\([0-9]*\).*/\1/')
    echo $(($(date +%s) + ms / 1000)) >"$job/stop"
    signal "$(printf '%s\n' "$2" | sed 's/.*"signal":"SIG\([A-Z0-9]*\)".*/\1/')" "$job"
  fi
  [ "$(date +%s)" -lt "$(cat "$job/stop")" ] || signal KILL "$job"
}

# forget <job>: ends what is left of it, and deletes all but its name.
forget() {
  while signal KILL "$1"; do sleep 0.1; done
  rm -rf "${1:?}"/*
}

stop_all() {
  for pid in jobs/*/*/*/pid; do [ ! -e "$pid" ] || forget "${pid%/pid}"; done
}

# As much is kept of a stream.
kept=1073741824

# ship <attempt> <stream>: what of its output is not stored yet, a MiB at a time. Fails if some is left: its
# share of the time is over, or nobody answers. What is refused for good is left out.
ship() {
  output=jobs/$1/$2 share=$(($(date +%s) + 2))
  [ "$share" -lt "$due" ] || share=$due
  stored=$(cat "$output.stored" 2>/dev/null || echo 0)
  size=$(wc -c <"$output" || echo 0)
  [ "$size" -lt "$kept" ] || size=$kept
  while [ "$stored" -lt "$size" ]; do
    [ "$(date +%s)" -lt "$share" ] || return 1
    piece=$((size - stored < 1048576 ? size - stored : 1048576))
    tail -c "+$((stored + 1))" "$output" | head -c "$piece" >body
    if ! call PUT "$worker/logs/$(echo "$1" | sed 's:/:%2F:g')/$2?offset=$stored" application/octet-stream log; then
      case $status in
      401 | 408 | 429) ;;
      4* | 501) return 0 ;;
      esac
      # Nobody answers: to wait for that once is enough for this round.
      due=0
      return 1
    fi
    before=$stored stored=$(number stored)
    # Nobody takes more of it.
    [ "$stored" != "$before" ] || return 0
    echo "$stored" >"$output.stored"
  done
}

# told <file>: the size of an output as a report says it. Nobody shall wait for what was refused, so that is
# what is stored; and only of one that is longer than what is kept, all that there was.
told() {
  size=$(cat "$1.stored" 2>/dev/null || echo 0)
  [ "$size" -lt "$kept" ] || size=$(($(wc -c <"$1")))
  echo "$size"
}

# --- The exchange: a report goes in, orders come back ---

# attempt <attempt>: as the report says it. It has ended only when nothing is left of what it has started, and
# all of its output is stored or refused.
attempt() {
  job=jobs/$1 state=gone
  [ ! -e "$job/exit" ] || signal KILL "$job"
  if signal 0 "$job"; then state=running; elif [ -e "$job/exit" ]; then state=exited; fi
  for stream in stdout stderr; do ship "$1" $stream || [ $state != exited ] || state=running; done
  printf '{"id":"%s","state":"%s"' "$1" $state
  if [ $state = exited ]; then
    code=$(cat "$job/exit") signal=null
    # A shell says so that a signal ended its command.
    if [ "$code" -gt 128 ] && name=$(kill -l "$code" 2>/dev/null); then code=null signal="\"SIG$name\""; fi
    printf ',"exit":{"code":%s,"signal":%s,"oomKilled":false,"message":""},"log":{' "$code" "$signal"
    size=$(told "$job/stdout") && printf '"stdout":{"from":%d,"size":%d},' "$size" "$size"
    size=$(told "$job/stderr") && printf '"stderr":{"from":%d,"size":%d}}' "$size" "$size"
  fi
  echo '}'
}

# While all that is here lives, plain text says it. How something has ended only JSON can say.
report() {
  # However fast a command writes, a report goes out: for the lease, and for the orders that come back.
  due=$(($(date +%s) + 10))
  for pid in jobs/*/*/*/pid; do
    [ ! -e "$pid" ] || { id=${pid#jobs/} && attempt "${id%/pid}"; }
  done >attempts
  sent=$(date +%s)
  if grep -qv '"state":"running"' attempts; then
    printf '{"incarnation":%d,"seq":%d,"full":true,"ordersSeen":%d,"attempts":[%s]}' \
      "$incarnation" $((sent + offset)) "$seen" "$(paste -sd , attempts)" >body
    call POST "$worker/reports" application/json report || return
  else
    { sed 's:{"id"\:"\([^/]*\)/.*:\1:' attempts | uniq && echo "orders $seen"; } >body
    call POST "$worker/reports" text/plain report || return
  fi
  lease=$((sent + $(number leaseMs) / 1000))
  echo "$lease" >lease.new && mv lease.new lease
}

# Nobody may believe that something is over that still runs here: it ends before its lease does.
keep_lease() { [ "$(date +%s)" -lt $((lease - 60)) ] || stop_all; }

# What the orders do not name is over: it ends, and its data go.
obey() {
  sed 's/{"id":"/\
/g' answer >orders
  for pid in jobs/*/*/*/pid; do
    id=${pid#jobs/} && id=${id%/pid}
    [ ! -e "$pid" ] || grep -q "^$id\"" orders || forget "jobs/$id"
  done
  while IFS= read -r line || [ -n "$line" ]; do
    id=${line%%\"*}
    case $line in
    "$id\",\"want\":\"run\",\"task\":"*) start "$id" "$line" ;;
    "$id\",\"want\":\"stop\""*) stop "$id" "$line" ;;
    esac
  done <orders
  seen=$(number revision)
  if grep -q '"powerOff":true' answer; then stop_all && over=yes; fi
}

# --- Joining ---

exec 9>lock
flock -n 9 || die "another one runs in $PWD"

# Neither the code nor the secret is ever sent. Both sides make the secret of the key in the code and of a salt;
# it is stored first: the same code with the same salt gets the same answer again.
if [ -z "$worker" ]; then
  code=${1:?a code of drover enroll}
  printf '%s=' "${code##*.}" | tr '_-' '/+' >code
  keyed code && key=code keyid=${code#drvc_} && keyid=${keyid%.*}
  [ -s salt ] || openssl rand -base64 32 >salt
  printf 'drover-host-secret\n%s' "$(cat salt)" | hmac code | openssl base64 -A >secret
  memory=$(awk '/^MemTotal:/ { print $2 * 1024 }' /proc/meminfo)
  disk=$(df -Pk . | awk 'NR == 2 { print $4 * 1024 }')
  printf '{"salt":"%s","bootId":"%s",
    "agent":{"version":"host.sh","os":"linux","arch":"%s"},
    "resources":{"vcpus":%d,"memoryBytes":%.0f,"diskBytes":%.0f,"gpus":0}}' "$(cat salt)" "$boot" \
    "$(uname -m)" "$(getconf _NPROCESSORS_ONLN)" "$memory" "$disk" >body
  for try in 1 2 3 4 5; do
    call POST enroll application/json enroll && break
    [ $try -lt 5 ] || die "not taken in: $(cat answer)"
    sleep 2
  done
  sed -n 's/.*"worker":"\([^"]*\)".*/\1/p' answer >worker
  worker=$(cat worker)
fi
keyed secret
key=secret keyid=$worker

# After a boot nothing lives of what was started before it, and its numbers may be those of others.
[ "$(cat boot 2>/dev/null)" = "$boot" ] || rm -rf jobs/*/*/*/*
echo "$boot" >boot
# All tries say the same start: a late one of them, or of a start before, ends nobody.
printf '{"start":"%s","bootId":"%s"}' "$(openssl rand -hex 16)" "$boot" >body
# What an earlier start has left may run on for as long as that one was told.
lease=$(cat lease 2>/dev/null || echo 0)
until call POST "$worker/join" application/json join; do
  [ -n "${waits:-}" ] || echo "host.sh: cannot join $url yet, and goes on trying" >&2
  waits=yes
  keep_lease
  sleep 5
done
incarnation=$(number incarnation) seen=0 over=
echo "host.sh: this machine is worker $worker" >&2
# The orders are asked for every other second: two reports within one second count as one.
while sleep 2; do
  if report; then
    # It has said that it knows that Drover is done with it, and that nothing is left.
    [ -z "$over" ] || exit 0
    obey
  else
    keep_lease
  fi
done
