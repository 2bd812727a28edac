// How are the tries of a run put into words, and where should the next one not go?

import { money } from "../../../shared/cloud/money.ts";
import type { Instant } from "../../../shared/machine.ts";
import { CAUSE_WORDS } from "../../../shared/retry/causes.ts";
import { formatSize } from "../../../shared/size.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { AllocationRecord } from "../state.ts";
import { needsInTry } from "./needs.ts";

/** The present try in words, or the next one: `try 2 of 4 with 4GiB of memory`. */
export function triesText(record: AllocationRecord): string {
  const n = (record.retries ?? []).length + 1;
  const { resources, asks } = needsInTry(record, n);
  const of = (record.spec.retry?.max ?? 0) + 1;
  const own = record.spec.machine?.spot;
  const machine = asks?.spot === "never" && own !== "never" ? " on an on-demand machine" : "";
  return `try ${n} of ${of} with ${formatSize(resources.memoryBytes)} of memory${machine}`;
}

/**
 * What a run between two tries waits for, in words. `rate`: what an hour of the next one costs; undefined: it
 * is unknown. Undefined for a run that was not tried before.
 */
export function waitForTry(
  record: AllocationRecord,
  rate: number | undefined,
  at: Instant,
): string | undefined {
  const last = record.retries?.at(-1);
  if (last === undefined) return undefined;
  const price = rate === undefined ? "" : `, at ${money(rate)} per hour`;
  const [cause, text] = [CAUSE_WORDS[last.cause], `it ${last.text}`];
  const why = text.startsWith(cause) ? text : `${cause}: ${last.text}`;
  return `it waits until ${iso(at)} for ${triesText(record)}${price}, since ${why}`;
}

/** The workers that the next try avoids if it can: what failed there was not the fault of the command. */
export function workersToAvoid({ retries = [] }: AllocationRecord): string[] {
  const faults = retries.filter(({ cause }) => !["exit", "oom", "timeout"].includes(cause));
  return faults.map(({ worker }) => worker);
}
