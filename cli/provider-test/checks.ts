// Which promises does a provider make, and does a transcript show that the provider keeps them?
import type { Check, Finding } from "./finding.ts";
import { MACHINE_CHECKS } from "./machine-checks.ts";
import { READ_ONLY_CHECKS } from "./read-only-checks.ts";
import { callsOf, listingsOf, madeMachine, type Transcript } from "./transcript.ts";

/** All promises of a provider (host-protocol.md#provider-contract; pool.md#provider-promises). */
export const CHECKS: readonly Check[] = [...READ_ONLY_CHECKS, ...MACHINE_CHECKS];

/** A check with its finding. */
export type Judged = Pick<Check, "name" | "rule" | "promise"> & Finding;

/** Runs every check that applies to the transcript, in order. */
export function judge(transcript: Transcript): Judged[] {
  const { wanted } = transcript;
  const applying = wanted === null ? READ_ONLY_CHECKS : CHECKS;
  return applying.map(({ name, rule, promise, judge }) => ({ name, rule, promise, ...judge(transcript) }));
}

/** Measured times in milliseconds. A time is undefined if the transcript does not show it. */
export interface Measures {
  /** The duration of the longest listing. */
  listMs: number | undefined;
  /** The duration of the create call. */
  createMs: number | undefined;
  /** From the create call's answer to the first listing that showed the machine (`listConsistencyMs`). */
  listConsistencyMs: number | undefined;
  /** From the create call's answer to the first listing that showed the machine `running`. */
  bootMs: number | undefined;
}

/** Measures a provider from outside. Times that end with a listing are upper bounds. */
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
