// What is the pool `default` of `drover up`, and when is it written?
import { homedir, tmpdir } from "node:os";
import type { Client } from "../client/client.ts";
import type { PoolConfig } from "../client/types.ts";
import { errorText } from "../src/shared/words.ts";
import { isSameSize, type SizeChoices, type Sizes, sizesBeside } from "./pool-size.ts";
import { UpError } from "./up-error.ts";

/** How long to wait for the Worker. It answers as soon as it listens, unless the machine is very busy. */
const PATIENCE = { unreachableMs: 30_000, busyMs: 30_000 };
/** What the flags of `drover up` can change about the pool. */
export interface PoolChoices extends SizeChoices {
  /** How long a machine may be idle, as a duration. */
  idle?: string;
}

/** The directories of the user of this laptop. */
export interface OwnDirs {
  home: string;
  temporary: string;
}

/**
 * The pool `default` of a laptop, with machines of these sizes. Intervals are short because nothing is far
 * away; absolute directories are allowed because the files are the user's own.
 */
export function defaultPool(
  cloud: { url: string; secret: string },
  sizes: Sizes,
  idle = "1m",
  dirs: OwnDirs = { home: homedir(), temporary: tmpdir() },
): PoolConfig {
  return {
    provider: { kind: "http", ...cloud },
    ...sizes,
    allowHostPaths: true,
    allowContainers: laptopContainers(dirs),
    image: "",
    probe: { interval: "1s", boot: "true" },
    timeouts: { idle, shutdown: "2s" },
    sync: { interval: "5s" },
  };
}

/**
 * What a container may have on a laptop, where each command can do what its user can
 * (loopback.md#containers): what that user could do anyway, and nothing that would take root.
 */
function laptopContainers({ home, temporary }: OwnDirs): PoolConfig["allowContainers"] {
  const isMountable = (path: string) => /^\/[^:]*[^:/.][^:]*$/.test(path) && !path.split("/").includes("..");
  const binds = [...new Set([home, temporary])].filter(isMountable);
  return { binds, hostNetwork: true, gainPrivileges: true };
}

/** The pool as the control plane shows it now. `isLater`: its new size waits until machines have ended. */
export interface Settled {
  shown: string;
  isLater: boolean;
}

/**
 * Puts the pool `default`, unless somebody has changed it since `drover up` last put it. `last`: the
 * configuration that the control plane showed after that; undefined if it is not known. `living`: how many
 * machines of an earlier `drover up` go on (loopback.md#size). Undefined if the pool was left alone. If the
 * control plane refuses the pool, throws an `UpError` that quotes the refusal.
 */
export async function settleDefaultPool(
  { pools }: Client,
  config: PoolConfig,
  { last, living }: { last: string | undefined; living: number },
): Promise<Settled | undefined> {
  const shown = await pools.get("default", { patience: PATIENCE }).catch(() => undefined);
  if (shown !== undefined && last !== undefined && JSON.stringify(shown.config) !== last) return undefined;
  const sizes = sizesBeside(living, config, shown?.config);
  try {
    const put = await pools.put("default", { ...config, ...sizes }, { patience: PATIENCE });
    return { shown: JSON.stringify(put.config), isLater: !isSameSize(sizes, config) };
  } catch (error) {
    throw new UpError(`The control plane did not take the pool "default": ${errorText(error)}`);
  }
}
