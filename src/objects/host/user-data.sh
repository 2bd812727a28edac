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

# Whether this Node can run the agent.
suits() {
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number)
    process.exit(a > 20 || (a === 20 && b > 5) ? 0 : 1)' 2>/dev/null
}

# Fetches a file: from a URL, to a path.
fetch() {
  if command -v curl >/dev/null 2>&1; then curl -fsSL --max-time 300 -o "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then wget -q -T 60 -O "$2" "$1"
  else echo "this machine has no Node 20, and neither curl nor wget to fetch it" >&2; exit 1
  fi
}

# Fetches Node for this processor, once and for all boots: what has another digest is never unpacked.
fetch_node() {
  for loader in /lib/ld-musl-*; do
    [ ! -e "$loader" ] || { echo "Node is built for glibc: put Node 20 into this image" >&2; exit 1; }
  done
  # The name of the build, and its digests as .tar.xz and as .tar.gz.
  case $(uname -m) in
    x86_64 | amd64) set -- @X64@ ;;
    aarch64 | arm64) set -- @ARM64@ ;;
    *) echo "this machine has no Node 20, and there is none for $(uname -m)" >&2; exit 1 ;;
  esac
  if command -v xz >/dev/null 2>&1; then file="$1.tar.xz" digest="$2"; else file="$1.tar.gz" digest="$3"; fi
  from=@NODE@/$file
  pause=1
  until fetch "$from" "$dir/$file" && echo "$digest  $dir/$file" | sha256sum -c - >/dev/null 2>&1 &&
    tar -xf "$dir/$file" -C "$dir" "$1/bin/node"; do
    echo "cannot fetch Node from $from, or its digest is wrong; trying again in $pause s" >&2
    sleep "$pause"
    pause=$((pause < 16 ? pause * 2 : 30))
  done
  mv "$dir/$1/bin/node" "$dir/node"
  rm -r "${dir:?}/$1" "${dir:?}/${file:?}"
}

node=$(command -v node || echo "$dir/node")
suits "$node" || { node="$dir/node"; suits "$node" || fetch_node; }
cat > "$dir/fetch-agent.mjs" <<'END_OF_SCRIPT'
import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
const [url, sha256, file] = process.argv.slice(2);
for (let delayMs = 500; ; delayMs = Math.min(delayMs * 2, 30_000)) {
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error("HTTP " + response.status);
    const agent = Buffer.from(await response.arrayBuffer());
    const found = createHash("sha256").update(agent).digest("hex");
    if (found !== sha256) throw new Error("its digest is " + found + " and should be " + sha256);
    writeFileSync(file + ".new", agent);
    renameSync(file + ".new", file);
    break;
  } catch (error) {
    console.error("cannot fetch the agent from " + url + ": " + error.message + "; trying again");
    await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
}
END_OF_SCRIPT
"$node" "$dir/fetch-agent.mjs" @AGENT@ "$dir/drover-agent.mjs"
while :; do
  code=0
  "$node" "$dir/drover-agent.mjs" --url @URL@ --state "$dir" \
    --code-file "$dir/code" @COMMANDS@ || code=$?
  case $code in 0|2|3) exit "$code" ;; esac
  echo "the agent has ended with $code; it is started again"
  sleep 1
done
