// Which script turns a fresh machine into a host?

import { EC2_NOTICE } from "../../providers/ec2/notice.ts";
import { FLY_NOTICE } from "../../providers/fly/scripts.ts";
import { GCE_NOTICE } from "../../providers/gce/notice.ts";
import type { ProviderConfig } from "../../schema/pool/provider-config.ts";
import { type ProviderKind, TRAITS } from "../../shared/cloud/kinds.ts";
import { quoteArgv } from "../../shared/shell-words.ts";
import { NODE_BUILDS, type NodeBuilds } from "./node-builds.ts";
import script from "./user-data.sh";

/** Commands of a host. Absent: the host has none. */
export interface HostCommands {
  /** Ends the machine. */
  powerOff?: string | undefined;
  /** Prints the provider's notice of an interruption, or nothing. */
  notice?: string | undefined;
}

/** What the script of a machine is made of. */
export interface HostFacts extends HostCommands {
  url: string;
  code: string;
  /** The token with which the script reports the boot. */
  boot: string;
  agentSha256: string;
  /** The builds of Node for machines that have none. Default: Drover's own choice. */
  node?: NodeBuilds;
}

/** The commands of a provider's hosts: of a service as configured, of a cloud as its kind has them. */
export function hostCommands(provider: ProviderConfig): HostCommands {
  if (provider.kind === "http") return { powerOff: provider.powerOff, notice: provider.notice };
  return { powerOff: TRAITS[provider.kind].powerOff, notice: NOTICES[provider.kind] };
}

/** The scripts that print notices of an interruption, by kind of cloud. */
const NOTICES: Partial<Record<ProviderKind, string>> = { ec2: EC2_NOTICE, fly: FLY_NOTICE, gce: GCE_NOTICE };

/**
 * The script that turns a fresh machine into a host (host-protocol.md#survives), with its variables filled
 * in.
 */
export function userDataScript(host: HostFacts): string {
  const flag = (name: string, value?: string) => (value === undefined ? [] : [name, value]);
  const { url: nodeUrl, x64, arm64 } = host.node ?? NODE_BUILDS;
  const words: Record<string, string[]> = {
    NODE: [nodeUrl],
    MIRROR: [`${host.url}/node`],
    BOOT: [host.boot],
    REPORT: [`${host.url}/v1/hosts/boot`],
    X64: [x64.name, x64.xz, x64.gz],
    ARM64: [arm64.name, arm64.xz, arm64.gz],
    CODE: [host.code],
    URL: [host.url],
    AGENT: [`${host.url}/agent/drover-agent.mjs`, host.agentSha256],
    COMMANDS: [...flag("--power-off", host.powerOff), ...flag("--notice", host.notice)],
  };
  return script.replace(/@([A-Z0-9]+)@/g, (_, name) => quoteArgv(words[name] ?? []));
}
