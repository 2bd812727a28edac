import { unlinkSync } from "node:fs";
import { uptime } from "node:os";
import { replaceFile } from "../posix/files.ts";
import { pathIn } from "./state/names.ts";

/** How often the file is written, and after which silence of our own we have stood still. */
const BEAT_MS = 1_000;
const STOOD_STILL_MS = 5_000;

/**
 * Writes each second that this process is awake: `<now> <when its last sleep began> <when that ended>`, in
 * milliseconds since the boot of the machine, which is how hosts count. So a host that finds its lease over
 * after a sleep knows whether its control plane has slept as long, and renews instead of stopping its runs
 * (`agent/awake.ts`). What cannot be written is removed: an old text would say that this process sleeps.
 * `onWake` hears of each sleep. Returns what ends that.
 */
export function beat(
  stateDir: string,
  onWake: (sleptMs: number) => void,
  now: () => number = () => Math.round(uptime() * 1_000),
): () => void {
  const file = pathIn(stateDir, "awake");
  let seenAt = now();
  let sleptFrom = 0;
  let wokeAt = 0;
  const look = () => {
    const at = now();
    const sleptMs = at - seenAt;
    if (sleptMs > STOOD_STILL_MS) [sleptFrom, wokeAt] = [seenAt, at];
    seenAt = at;
    note(file, `${at} ${sleptFrom} ${wokeAt}`);
    if (sleptMs > STOOD_STILL_MS) onWake(sleptMs);
  };
  look();
  const timer = setInterval(look, BEAT_MS).unref();
  return () => {
    clearInterval(timer);
    remove(file);
  };
}

function note(file: string, text: string): void {
  try {
    replaceFile(file, text);
  } catch {
    // A full disk, for example. A host that sees nothing keeps to its lease.
    remove(file);
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file); // `rmSync` would have to open something, and perhaps nothing can be opened
  } catch {
    // It is not there, or on a disk that nobody may write to: nothing of a control plane can change either.
  }
}
