import { readIfThere } from "../posix/files.ts";
import type { Instant } from "../src/shared/machine.ts";
import { LOOK_AWAKE_MS, STOOD_STILL_MS } from "./core/bounds.ts";

/** A time in which this agent and its control plane have stood still. */
export interface Sleep {
  /** When the agent last looked before. */
  since: Instant;
  /** When the control plane woke: from then on it may judge. */
  wokeAt: Instant;
}

/** Tells of a sleep that has just ended; undefined if there was none, or the control plane was awake. */
export type Awake = (now: Instant) => Sleep | undefined;

/**
 * Watches for sleeps of a machine that is its own control plane's, too: `drover up` writes each second to
 * `file` when it last looked at the clock that agents go by, and from when until when it last stood still
 * (`local/beat.ts`). If it did from the moment on at which the agent did, no lease was judged until it
 * woke. If its last look is from that moment, it has not woken yet. An agent that stood still alone, or
 * whose control plane is elsewhere, has no such excuse (rule R4). `look` is called again and again, so
 * that a sleep is soon noticed.
 */
export function watchSleep(file: string | undefined, now: () => Instant, look: () => void): Awake {
  if (file === undefined) return () => undefined;
  let seenAt = now();
  setInterval(look, LOOK_AWAKE_MS).unref();
  return (at) => {
    const since = seenAt;
    seenAt = at;
    if (at - since <= STOOD_STILL_MS) return undefined;
    const beat = parseBeat(textOf(file));
    if (beat === undefined) return undefined;
    if (Math.abs(beat.at - since) <= STOOD_STILL_MS) return { since, wokeAt: at };
    const within = since + STOOD_STILL_MS;
    return beat.sleptFrom <= within && within <= beat.wokeAt ? { since, wokeAt: beat.wokeAt } : undefined;
  };
}

/** Where no file can be opened nobody says anything, which is no excuse. */
function textOf(file: string): string | undefined {
  try {
    return readIfThere(file);
  } catch {
    return undefined;
  }
}

/** What `drover up` has noted; undefined if that is nothing, or cannot be read. */
function parseBeat(text = ""): { at: Instant; sleptFrom: Instant; wokeAt: Instant } | undefined {
  const match = /^(\d+) (\d+) (\d+)$/.exec(text);
  if (match === null) return undefined;
  const [at = 0, sleptFrom = 0, wokeAt = 0] = match.slice(1).map(Number);
  return { at, sleptFrom, wokeAt };
}
