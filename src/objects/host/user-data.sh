#!/bin/sh
# Turns a fresh machine into a host: finds or fetches Node, fetches the agent, compares their digests, and runs
# the agent. The control plane replaces each word between two @, quoted for a shell.
#
# The code goes into a file, not into arguments that everybody can list. An agent that was killed, or has
# crashed, is started again and goes on with what runs; one that ends of its own accord is not: it is done (0),
# was called wrongly (2), or is not wanted (3).
set -eu
umask 077
dir="${DROVER_STATE_DIR:-/var/lib/drover}"
mkdir -p "$dir"
printf '%s' @CODE@ > "$dir/code"
printf 'authorization: Bearer %s\n' @BOOT@ > "$dir/boot-header"
report=@REPORT@
node=
# Until the agent starts, errors are also in a file, whose end is sent if the boot fails.
exec 3>&2 2> "$dir/boot-errors"

# Seconds by a clock that does not jump.
uptime() {
  up=0
  { read -r up _ < /proc/uptime; } 2>/dev/null || :
  echo "$up"
}

# Sends standard input to the control plane.
post() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsS --max-time 10 -o /dev/null -H "@$dir/boot-header" -H 'content-type: text/plain' --data-binary @- "$report"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -t 1 -T 10 -O /dev/null --header="$(cat "$dir/boot-header")" --header='content-type: text/plain' \
      --post-data="$(cat)" "$report"
  elif [ -n "$node" ]; then
    "$node" -e 'const { readFileSync } = require("node:fs")
      const authorization = readFileSync(process.argv[2], "utf8").trim().slice("authorization: ".length)
      const headers = { authorization, "content-type": "text/plain" }
      const signal = AbortSignal.timeout(10_000)
      fetch(process.argv[1], { method: "POST", body: readFileSync(0), headers, signal })
        .then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))' "$report" "$dir/boot-header"
  fi
}

# Sends the record of this boot whole, so that a step that was lost comes with the next.
record="$dir/boot-record"
send() {
  { cat "$record"; echo "$(uptime) now"; } | post >/dev/null 2>&1
}

# Adds a step to the record: its name, and what happens.
note() {
  echo "$(uptime) $*" >> "$record"
  send &
}

# Says something here, and in the record.
say() {
  echo "$2" >&3
  note "$1" "$2"
}

# Says that a step has failed, and waits before it is tried again, longer each time.
again() {
  said="$2; trying again in $pause s"
  # A boot that waits for hours would otherwise have a long record.
  if [ "$pause" -lt 30 ]; then say "$1" "$said"; else echo "$said" >&3; fi
  sleep "$pause"
  pause=$((pause < 16 ? pause * 2 : 30))
}

# The boot cannot succeed.
give_up() {
  echo "$1" >&2
  exit 1
}

# The end of this script. If it has failed, the record says so, with the last errors.
ended() {
  trap - EXIT
  [ "$1" != 0 ] || exit 0
  cat "$dir/boot-errors" >&3
  echo "$(uptime) failed its script has ended with $1" >> "$record"
  tail -n 8 "$dir/boot-errors" | while IFS= read -r line; do
    printf '%s output %.300s\n' "$(uptime)" "$line"
  done >> "$record"
  for pause in 1 2 4 8 16; do
    send && break
    sleep "$pause"
  done
  exit "$1"
}
id=
{ read -r id < /proc/sys/kernel/random/uuid; } 2>/dev/null || id=$$
echo "boot $id" > "$record"
trap 'ended $?' EXIT
note begin "its script has begun, on $(uname -m)"

# Whether this Node can run the agent.
suits() {
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number)
    process.exit(a > 20 || (a === 20 && b > 5) ? 0 : 1)' 2>/dev/null
}

# Fetches a file: from a URL, to a path.
fetch() {
  if command -v curl >/dev/null 2>&1; then curl -fsSL --connect-timeout 15 --max-time 300 -o "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then wget -q -t 1 -T 60 -O "$2" "$1"
  else give_up "this machine has no Node 20, and neither curl nor wget to fetch it"
  fi
}

# Fetches Node for this processor, once and for all boots: what has another digest is never unpacked. If one
# place does not have it, the other is tried.
fetch_node() {
  for loader in /lib/ld-musl-*; do
    [ ! -e "$loader" ] || give_up "Node is built for glibc: put Node 20 into this image"
  done
  # The name of the build, and its digests as .tar.xz and as .tar.gz.
  case $(uname -m) in
    x86_64 | amd64) set -- @X64@ ;;
    aarch64 | arm64) set -- @ARM64@ ;;
    *) give_up "this machine has no Node 20, and there is none for $(uname -m)" ;;
  esac
  if command -v xz >/dev/null 2>&1; then file="$1.tar.xz" digest="$2"; else file="$1.tar.gz" digest="$3"; fi
  from=@NODE@ other=@MIRROR@
  pause=1
  note node "fetches Node from $from/$file"
  until fetch "$from/$file" "$dir/$file" && echo "$digest  $dir/$file" | sha256sum -c - >/dev/null 2>&1 &&
    tar -xf "$dir/$file" -C "$dir" "$1/bin/node"; do
    again node "cannot fetch Node from $from/$file, or its digest is wrong"
    failed="$from" from="$other" other="$failed"
  done
  mv "$dir/$1/bin/node" "$dir/node"
  rm -r "${dir:?}/$1" "${dir:?}/${file:?}"
}

found=$(command -v node || echo "$dir/node")
suits "$found" || { found="$dir/node"; suits "$found" || fetch_node; }
version=$("$found" --version)
node="$found"
note agent "fetches the agent, with Node $version"
cat > "$dir/fetch-agent.mjs" <<'END_OF_SCRIPT'
import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
const [url, sha256, file] = process.argv.slice(2);
try {
  const response = await fetch(url);
  if (!response.ok) throw new Error("HTTP " + response.status);
  const agent = Buffer.from(await response.arrayBuffer());
  const found = createHash("sha256").update(agent).digest("hex");
  if (found !== sha256) throw new Error("its digest is " + found + " and should be " + sha256);
  writeFileSync(file + ".new", agent);
  renameSync(file + ".new", file);
} catch (error) {
  process.stdout.write("cannot fetch the agent from " + url + ": " + error.message);
  process.exit(1);
}
END_OF_SCRIPT
pause=1
until said=$("$node" "$dir/fetch-agent.mjs" @AGENT@ "$dir/drover-agent.mjs"); do again agent "$said"; done
rm -f "$dir/updating" "$dir/refused" "$dir/drover-agent.mjs.old"
note start "starts the agent"
exec 2>&3
: > "$dir/boot-errors"
# A newer agent that has not reported after three starts makes room for the one before it.
go_back() {
  [ -e "$dir/updating" ] && [ -e "$dir/drover-agent.mjs.old" ] || return 0
  echo >> "$dir/updating"
  [ "$(wc -l < "$dir/updating")" -gt 4 ] || return 0
  mv -f "$dir/drover-agent.mjs.old" "$dir/drover-agent.mjs"
  mv -f "$dir/updating" "$dir/refused"
}
starts=0
while :; do
  code=0
  go_back
  DROVER_RESTARTS=1 "$node" "$dir/drover-agent.mjs" --url @URL@ --state "$dir" \
    --code-file "$dir/code" @COMMANDS@ 3>&- || code=$?
  case $code in 0|2|3) exit "$code" ;; esac
  said="the agent has ended with $code; it is started again"
  starts=$((starts + 1))
  if [ "$starts" -lt 10 ]; then say end "$said"; else echo "$said" >&3; fi
  sleep 1
done
