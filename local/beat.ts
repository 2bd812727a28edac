import { rmSync } from "node:fs";
import { uptime } from "node:os";
import { writeWhole } from "./files.ts";
import { pathIn } from "./names.ts";

/** How often the file is written, and after which silence of our own we have stood still. */
const BEAT_MS = 1_000;
const STOOD_STILL_MS = 5_000;

/**
 * Writes each second that this process is awake: `<now> <when it last woke>`, in milliseconds since the boot
 * of the machine, which is how hosts count. So a host that finds its lease over after a sleep knows whether
 * its control plane has slept as long, and renews instead of stopping its runs (`agent/awake.ts`). `onWake`
 * hears of each sleep. Returns what ends that.
 */
export function beat(stateDir: string, onWake: (sleptMs: number) => void): () => void {
  const file = pathIn(stateDir, "awake");
  const now = () => Math.round(uptime() * 1_000);
  let seenAt = now();
  let wokeAt = 0;
  const look = () => {
    const at = now();
    const sleptMs = at - seenAt;
    seenAt = at;
    if (sleptMs > STOOD_STILL_MS) wokeAt = at;
    try {
      writeWhole(file, `${at} ${wokeAt}`, { flush: false });
    } catch {
      // A full disk, for example. A host that cannot see this keeps to its lease.
    }
    if (sleptMs > STOOD_STILL_MS) onWake(sleptMs);
  };
  look();
  const timer = setInterval(look, BEAT_MS).unref();
  return () => {
    clearInterval(timer);
    rmSync(file, { force: true });
  };
}
