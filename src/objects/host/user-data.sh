#!/bin/sh
# Turns a fresh machine into a host: fetches the agent, compares its digest, and runs it. Needs nothing but sh
# and Node 20. The control plane replaces each word between two @, quoted for a shell.
#
# The code goes into a file, not into arguments that everybody can list. An agent that was killed, or has
# crashed, is started again and goes on with what runs; one that ends of its own accord is not: it is done (0),
# was called wrongly (2), or is not wanted (3).
set -eu
umask 077
dir="${DROVER_STATE_DIR:-/var/lib/drover}"
mkdir -p "$dir"
printf '%s' @CODE@ > "$dir/code"
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
node "$dir/fetch-agent.mjs" @AGENT@ "$dir/drover-agent.mjs"
while :; do
  code=0
  node "$dir/drover-agent.mjs" --url @URL@ --state "$dir" \
    --code-file "$dir/code" @COMMANDS@ || code=$?
  case $code in 0|2|3) exit "$code" ;; esac
  echo "the agent has ended with $code; it is started again"
  sleep 1
done
