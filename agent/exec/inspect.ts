// What makes this machine unfit to be a host (workers.md#unfit-hosts)?
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { formatDuration } from "../../src/shared/duration.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { formatSize } from "../../src/shared/size.ts";
import { errorText } from "../../src/shared/words.ts";

/** With less room than this, tasks and their output fail. */
const LEAST_FREE_BYTES = 32 * 1024 * 1024;
/** A file system that does not answer within this time is dead, such as that of a server that is away. */
const DEAD_AFTER_MS: Millis = 10_000;
/** With a larger error of the clock, certificates and tokens of others seem to be invalid. */
const MAX_CLOCK_ERROR_MS: Millis = 5 * 60_000;

const PROBE_FILE = "inspected";

/** The latest look at each directory: one that hangs is not repeated, since it takes a thread. */
const looks = new Map<string, Promise<string | null>>();

/**
 * Why this machine is not fit to be a host, or null. `clockErrorMs`: how much later the control plane's clock
 * is than that of this machine, as far as known.
 */
export async function inspectMachine(stateDir: string, clockErrorMs: Millis): Promise<string | null> {
  return (await diskFault(stateDir)) ?? clockFault(clockErrorMs);
}

async function diskFault(stateDir: string): Promise<string | null> {
  const look = looks.get(stateDir) ?? faultOfDir(stateDir).finally(() => looks.delete(stateDir));
  looks.set(stateDir, look);
  const late = new AbortController();
  const dead = sleep(DEAD_AFTER_MS, undefined, { signal: late.signal, ref: false }).then(
    () => `the file system of ${stateDir} has not answered for ${formatDuration(DEAD_AFTER_MS)}`,
    () => null,
  );
  try {
    return await Promise.race([look, dead]);
  } finally {
    late.abort();
  }
}

/** Why nothing can be written there, or null. */
async function faultOfDir(stateDir: string): Promise<string | null> {
  try {
    const { bavail, bsize } = await statfs(stateDir);
    const freeBytes = bavail * bsize;
    if (freeBytes < LEAST_FREE_BYTES) {
      const least = formatSize(LEAST_FREE_BYTES);
      return `the disk of ${stateDir} is full: ${formatSize(freeBytes)} are free, of at least ${least}`;
    }
    const path = join(stateDir, PROBE_FILE);
    const file = await open(path, "w", 0o600);
    try {
      await file.write("1");
    } finally {
      await file.close();
    }
    await rm(path);
    return null;
  } catch (error) {
    return `${stateDir} cannot be written: ${errorText(error)}`;
  }
}

function clockFault(errorMs: Millis): string | null {
  if (Math.abs(errorMs) <= MAX_CLOCK_ERROR_MS) return null;
  const way = errorMs > 0 ? "behind" : "ahead of";
  const far = formatDuration(Math.round(Math.abs(errorMs) / 1_000) * 1_000);
  return `its clock is ${far} ${way} that of the control plane, so certificates may seem invalid; set it`;
}
