// Which script turns a fresh machine into a host?
import type { ProviderConfig } from "../../schema/pool/provider-config.ts";
import { quoteArgv } from "../../shared/shell-words.ts";
import script from "./user-data.sh";

/**
 * `powerOff`: the command that ends the machine. `notice`: the command that prints its interruption notice.
 */
export interface HostFacts extends Pick<ProviderConfig, "powerOff" | "notice"> {
  url: string;
  code: string;
  agentSha256: string;
}

/**
 * The script that turns a fresh machine into a host (host-protocol.md#survives), with its variables filled
 * in.
 */
export function userDataScript(host: HostFacts): string {
  const flag = (name: string, value?: string) => (value === undefined ? [] : [name, value]);
  const words: Record<string, string[]> = {
    CODE: [host.code],
    URL: [host.url],
    AGENT: [`${host.url}/agent/drover-agent.mjs`, host.agentSha256],
    COMMANDS: [...flag("--power-off", host.powerOff), ...flag("--notice", host.notice)],
  };
  return script.replace(/@([A-Z]+)@/g, (_, name) => quoteArgv(words[name] ?? []));
}
