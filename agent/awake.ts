// Has this machine slept together with its control plane?
import { tryReadText } from "../posix/files.ts";
import type { Instant, Millis } from "../src/shared/machine.ts";
import { STOOD_STILL_MS } from "./core/bounds.ts";

/** How often an agent checks whether it has slept, if its control plane runs on the same machine. */
const LOOK_AWAKE_MS: Millis = 1_000;

/** A sleep of this agent together with its control plane. */
export interface Sleep {
  /** The agent's last look at its clock before the sleep. */
  since: Instant;
  /** When the control plane woke: from then on it judges leases again. */
  wokeAt: Instant;
}

/**
 * Returns the sleep that has just ended; undefined if there was none, or if the control plane stayed awake.
 */
export type Awake = (now: Instant) => Sleep | undefined;

/**
 * Watches for sleeps of a machine that also runs the control plane. Each second `drover up` writes three
 * instants to `file`: when it last looked at the agents' clock, and the start and the end of its latest sleep
 * (`local/beat.ts`). If that sleep began together with the agent's sleep, the control plane judged no lease
 * until it woke. If `drover up` last looked when the agent's sleep began, the control plane has not woken
 * yet. An agent gets no extension (rule R4) if it slept alone, or if its control plane runs elsewhere. `look`
 * is called every second, so that a sleep is noticed soon.
 */
export function watchSleep(file: string | undefined, now: () => Instant, look: () => void): Awake {
  if (file === undefined) return () => undefined;
  let seenAt = now();
  setInterval(look, LOOK_AWAKE_MS).unref();
  return (at) => {
    const since = seenAt;
    seenAt = at;
    if (at - since <= STOOD_STILL_MS) return undefined;
    const beat = parseBeat(tryReadText(file));
    if (beat === undefined) return undefined;
    if (Math.abs(beat.at - since) <= STOOD_STILL_MS) return { since, wokeAt: at };
    const within = since + STOOD_STILL_MS;
    return beat.sleptFrom <= within && within <= beat.wokeAt ? { since, wokeAt: beat.wokeAt } : undefined;
  };
}

/** Parses the file of `drover up`; undefined if it is not valid. */
function parseBeat(text = ""): { at: Instant; sleptFrom: Instant; wokeAt: Instant } | undefined {
  const match = /^(\d+) (\d+) (\d+)$/.exec(text);
  if (match === null) return undefined;
  const [at = 0, sleptFrom = 0, wokeAt = 0] = match.slice(1).map(Number);
  return { at, sleptFrom, wokeAt };
}
