import type { Check, Finding } from "./finding.ts";
import { LIFE_CHECKS } from "./life-checks.ts";
import { LOOK_CHECKS } from "./look-checks.ts";
import { callsOf, listingsOf, madeMachine, type Transcript } from "./transcript.ts";

/**
 * What any provider promises (host-protocol.md#provider-contract; pool.md#provider-promises).
 */
export const CHECKS: readonly Check[] = [...LOOK_CHECKS, ...LIFE_CHECKS];

/** A check with what it has found. */
export type Judged = Pick<Check, "name" | "rule" | "promise"> & Finding;

/** Judges what a provider has answered: every check that applies, in order. */
export function judge(transcript: Transcript): Judged[] {
  const { wanted } = transcript;
  const applying = wanted === null ? LOOK_CHECKS : CHECKS;
  return applying.map(({ name, rule, promise, judge }) => ({ name, rule, promise, ...judge(transcript) }));
}

/** What a provider turned out to be like, in milliseconds; undefined: it was not seen. */
export interface Measures {
  /** How long the longest listing took. */
  listMs: number | undefined;
  /** How long it took to answer the create call. */
  createMs: number | undefined;
  /** From that answer to the first listing that showed the machine (`listConsistencyMs`). */
  listConsistencyMs: number | undefined;
  /** From that answer to the first listing that showed it `running`. */
  bootMs: number | undefined;
}

/** Measures what can be seen from outside. Each is an upper bound: nobody looks all the time. */
export function measure(transcript: Transcript): Measures {
  const made = madeMachine(transcript);
  const listings = listingsOf(transcript);
  const since = (runs: boolean) => {
    const first = listings.find(({ answer }) =>
      answer.items.some(({ id, state }) => id === made?.instance.id && (!runs || state === "running")),
    );
    return made === undefined || first === undefined ? undefined : Math.max(0, first.beganAt - made.at);
  };
  const create = callsOf(transcript, "create").find(({ answer }) => answer.kind === "created");
  return {
    listMs: listings.length === 0 ? undefined : Math.max(...listings.map(lengthOf)),
    createMs: create === undefined ? undefined : lengthOf(create),
    listConsistencyMs: since(false),
    bootMs: since(true),
  };
}

function lengthOf({ beganAt, endedAt }: { beganAt: number; endedAt: number }): number {
  return endedAt - beganAt;
}
