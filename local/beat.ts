// How do hosts on this machine learn that it has slept?
import { unlinkSync } from "node:fs";
import { uptime } from "node:os";
import { replaceFile } from "../disk/atomic.ts";
import { pathIn } from "./state/names.ts";

/** How often the file is written, and the gap between two writes that counts as a sleep. */
const BEAT_MS = 1_000;
const STOOD_STILL_MS = 5_000;

/**
 * Writes a heartbeat file each second: `<now> <start of the last sleep> <end of the last sleep>`, in
 * milliseconds since the boot of the machine, as hosts count time. A host whose lease expired during a sleep
 * can see that its control plane slept too, and renews the lease instead of stopping its runs
 * (`agent/awake.ts`). If the file cannot be written, it is removed: an old file would claim that this process
 * is asleep. Calls `onWake` after each sleep. Returns a function that stops the heartbeat.
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
    // A full disk, for example. A host without this file gets no extension of its lease.
    remove(file);
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file); // not `rmSync`, which opens a file, and there may be no file descriptor left
  } catch {
    // There is no file, or the disk is read-only: then the control plane cannot change anything either.
  }
}
