import type { ProviderConfig } from "../../schema/pool.ts";
import { quoteArgv } from "../../shared/shell-words.ts";

/** Where the agent keeps what it must not forget, unless the cloud says otherwise. */
const STATE_DIR = "/var/lib/drover";

/** `powerOff`: ends such a machine from within, and what it costs. `notice`: prints that it is taken back. */
export interface HostFacts extends Pick<ProviderConfig, "powerOff" | "notice"> {
  url: string;
  code: string;
  agentSha256: string;
}

/**
 * The script that turns a fresh machine into a host: it fetches the agent, compares its digest, and runs it.
 * It needs nothing but `sh` and Node 20. The code goes into a file, not into arguments that everybody can
 * list. An agent that was killed, or has crashed, is started again and goes on with what runs
 * (host-protocol.md#survives); one that ends of its own accord is not: it is done (0), was called wrongly
 * (2), or is not wanted (3).
 */
export function userDataScript(host: HostFacts): string {
  const flag = (name: string, value?: string) => (value === undefined ? "" : ` ${quoteArgv([name, value])}`);
  const [code, url] = [quoteArgv([host.code]), quoteArgv([host.url])];
  const agent = quoteArgv([`${host.url}/agent/drover-agent.mjs`, host.agentSha256]);
  const commands = flag("--power-off", host.powerOff) + flag("--notice", host.notice);
  return `#!/bin/sh
set -eu
umask 077
dir="\${DROVER_STATE_DIR:-${STATE_DIR}}"
mkdir -p "$dir"
printf '%s' ${code} > "$dir/code"
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
node "$dir/fetch-agent.mjs" ${agent} "$dir/drover-agent.mjs"
while :; do
  code=0
  node "$dir/drover-agent.mjs" --url ${url} --state "$dir" \\
    --code-file "$dir/code"${commands} || code=$?
  case $code in 0|2|3) exit "$code" ;; esac
  echo "the agent has ended with $code; it is started again"
  sleep 1
done
`;
}
