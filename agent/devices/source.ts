// What names the devices of this machine: a plug-in, nvidia-smi, or nothing (devices.md#source)?
import { accessSync, constants, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { isThere } from "../../posix/files.ts";
import { errorText } from "../../src/shared/words.ts";
import { faultOf, type Seen } from "../core/devices/device.ts";
import { readListing } from "../core/devices/listing.ts";
import { NVIDIA_ARGUMENTS, readNvidia } from "../core/devices/nvidia.ts";
import { baseEnvironment } from "../exec/environment.ts";
import { say } from "../say.ts";
import { type Asked, type Program, ProgramRunner } from "./program.ts";

/** The plug-in's name in the state directory. */
const PLUGIN_FILE = "devices";
const NVIDIA_SMI = "nvidia-smi";
/** The mode bits by which others may write. */
const OTHERS_WRITE = 0o022;

export interface DeviceSourceOptions {
  stateDir: string;
  /** The plug-in that the agent was called with (`--devices`). */
  program: string | undefined;
  /** The environment of the agent. */
  env: NodeJS.ProcessEnv;
}

/** Names the devices of this machine. */
export class DeviceSource {
  readonly #options: DeviceSourceOptions;
  readonly #runner = new ProgramRunner();
  /** The fault that was said last. */
  #said: string | undefined;

  constructor(options: DeviceSourceOptions) {
    this.#options = options;
  }

  /**
   * Looks at the devices. Never rejects: whatever a program does is a fault of devices at most. The log of
   * the agent has each new fault.
   */
  async look(): Promise<Seen> {
    const seen = await this.#look();
    const fault = seen.kind === "fault" ? seen.fault : undefined;
    if (fault !== undefined && fault !== this.#said) say(`does not know its devices: ${fault}`);
    this.#said = fault;
    return seen;
  }

  async #look(): Promise<Seen> {
    try {
      const plugin = this.#plugin();
      if (plugin !== undefined) {
        const fault = pluginFault(plugin);
        return fault === undefined
          ? await this.#ask(plugin, [], readListing)
          : faultOf(`${plugin}: ${fault}`);
      }
      const tool = this.#tool();
      return tool === undefined ? { kind: "none" } : await this.#ask(tool, NVIDIA_ARGUMENTS, readNvidia);
    } catch (error) {
      return faultOf(`its devices could not be looked at: ${errorText(error)}`);
    }
  }

  /** The plug-in: as the agent was called, as its environment says, or the one in the state directory. */
  #plugin(): string | undefined {
    const { program, env, stateDir } = this.#options;
    const named = program ?? env.DROVER_DEVICES_PLUGIN;
    if (named !== undefined && named !== "") return resolve(named);
    const own = join(stateDir, PLUGIN_FILE);
    return isThere(own) ? own : undefined;
  }

  /** `nvidia-smi`. Hosts that share a machine do not ask it: each would give away the same devices. */
  #tool(): string | undefined {
    const { env } = this.#options;
    if (env.DROVER_RESOURCES !== undefined) return undefined;
    const folders = (env.PATH ?? baseEnvironment().PATH ?? "")
      .split(":")
      .filter((one) => one.startsWith("/"));
    return folders.map((folder) => join(folder, NVIDIA_SMI)).find(isThere);
  }

  async #ask(file: string, args: string[], read: (text: string) => Seen): Promise<Seen> {
    const { env } = this.#options;
    const names = ["DROVER_INSTANCE", "DROVER_BOOT_ID"] as const;
    const own = Object.fromEntries(
      names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
    );
    const program: Program = { file, args, env: { ...baseEnvironment(), ...own } };
    const seen = seenIn(await this.#runner.run(program), read);
    return seen.kind === "fault" ? faultOf(`${file}: ${seen.fault}`) : seen;
  }
}

function seenIn(asked: Asked, read: (text: string) => Seen): Seen {
  return "fault" in asked ? faultOf(asked.fault) : read(asked.text);
}

/** Why a plug-in is not run: the agent, which may be root, would run what somebody else has written. */
function pluginFault(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return "there is no such file";
  if (!stats.isFile()) return "it is no file";
  const me = process.geteuid?.() ?? 0;
  if (stats.uid !== me && stats.uid !== 0)
    return `it belongs to user ${stats.uid}, and the agent is user ${me}`;
  if ((stats.mode & OTHERS_WRITE) !== 0) return "others may write to it: `chmod go-w` it";
  try {
    accessSync(file, constants.X_OK);
  } catch {
    return "it may not be executed: `chmod +x` it";
  }
  return undefined;
}
