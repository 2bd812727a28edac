import type { Instant } from "../src/core/machine.ts";
import { LOOK_AWAKE_MS, STOOD_STILL_MS } from "./core/bounds.ts";
import { readIfThere } from "./files.ts";

/**
 * Tells since when this agent and its control plane have stood still together; undefined if they have not.
 */
export type Awake = (now: Instant) => Instant | undefined;

/**
 * Watches for sleeps of a machine that is its own control plane's, too: `drover up` writes each second to
 * `file` when it last looked at the clock that agents go by, and when it last stood still (`local/beat.ts`).
 * If both stood still, no lease was judged in that time. An agent that stood still alone, or whose control
 * plane is elsewhere, has no such excuse (rule R4). `look` is called again and again, so that a sleep is soon
 * noticed.
 */
export function watchSleep(file: string | undefined, now: () => Instant, look: () => void): Awake {
  if (file === undefined) return () => undefined;
  let seenAt = now();
  setInterval(look, LOOK_AWAKE_MS).unref();
  return (at) => {
    const since = seenAt;
    seenAt = at;
    if (at - since <= STOOD_STILL_MS) return undefined;
    const beat = parseBeat(readIfThere(file));
    if (beat === undefined) return undefined;
    const together = beat.at <= since + STOOD_STILL_MS || beat.wokeAt > since;
    return together ? since : undefined;
  };
}

function parseBeat(text: string | undefined): { at: Instant; wokeAt: Instant } | undefined {
  const [at, wokeAt] = (text ?? "").split(" ").map(Number);
  if (at === undefined || wokeAt === undefined || Number.isNaN(at + wokeAt)) return undefined;
  return { at, wokeAt };
}
