// What does a pool tell of a machine that is gone (api.md#past-of-a-pool)?
import type { GoneWorker, GoneWorkers } from "../../../schema/pool/past.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso, isoOrNull } from "../../../shared/time/instant.ts";
import { exactCost, rounded } from "../../run/money.ts";
import { priceOfRow } from "../read/money.ts";
import { workerSummary } from "../read/views.ts";
import type { WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";

/** How long workers that are gone are listed. */
export const GONE_LISTED_MS = 7 * 24 * 3_600_000;

/**
 * When a worker was gone, as paths in JSON: of a machine of a provider, when its cost ended; of another one,
 * when it was heard of last.
 */
export const GONE_INSTANTS = ["$.spentUntil", "$.heardAt"] as const;

/** A worker that is gone. `at`: the first of `GONE_INSTANTS` that it has. */
export interface FoundGone {
  at: Instant;
  row: WorkerRow;
}

/**
 * One answer, the latest first. `found`: one more than `limit`, if there are so many. An answer ends between
 * two milliseconds, so that `next`, the `until` of the rest, needs no name. `within`: all of one millisecond,
 * for the case that they are more than `limit`.
 */
export function pageOfGone(
  state: ReadonlyConfigured,
  found: readonly FoundGone[],
  limit: number,
  within: (at: Instant) => readonly FoundGone[],
): GoneWorkers {
  const beyond = found[limit];
  const whole = beyond === undefined ? found : found.filter(({ at }) => at > beyond.at);
  const page = beyond !== undefined && whole.length === 0 ? within(beyond.at) : whole;
  const last = beyond === undefined ? undefined : page.at(-1);
  return { items: page.map((one) => shown(state, one)), next: isoOrNull(last?.at ?? null) };
}

function shown({ record }: ReadonlyConfigured, { row, at }: FoundGone): GoneWorker {
  const { runs: _none, kept: __, used: ___, ...summary } = workerSummary(row, [], record);
  const price = priceOfRow(row);
  const paid = exactCost(row.paid?.from ?? row.askedAt, row.paid?.until ?? at, price ?? 0);
  const cost = price === null ? null : rounded(paid);
  return { ...summary, endingAt: isoOrNull(row.endingAt), goneAt: iso(at), cost };
}
