// Which data of sticky runs does a host retain, and which may it drop? Each report lists the data, the
// allocations are asked whether they need it, and orders name the data to drop. The host never drops data
// just because orders do not mention it (rule R5). None of this is stored.
import type { Report } from "../../../schema/host.ts";
import { placementKey } from "../../../shared/attempt-id.ts";
import { LAST_BYTE_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Observed, ObservedAnswer } from "../../messages.ts";
import type { ReadonlyExistingWorker, RetainedData, WorkerMemo } from "../state.ts";

/** The most placements with retained data to ask allocations about at a time. */
export const MAX_KEPT_ASKED = 32;

/**
 * The data that the host retains, with the answers so far. Allocations are asked only about the first
 * `MAX_KEPT_ASKED` entries. The other entries follow when there is room.
 */
export function retainedNow(
  before: Record<string, RetainedData>,
  { kept = [] }: Report,
): Record<string, RetainedData> {
  const entries = kept.slice(0, MAX_KEPT_ASKED).map((key): [string, RetainedData] => {
    const [run = "", epoch = "0"] = key.split("/");
    return [key, before[key] ?? { run, epoch: Number(epoch) }];
  });
  return Object.fromEntries(entries);
}

/** The questions to allocations. If the data is needed, the question is repeated, since the need may end. */
export function questionsDue({ record, placements, memo }: ReadonlyExistingWorker, now: Instant): Observed[] {
  return Object.values(memo.retained).flatMap(({ run, epoch, answered }) => {
    const again = answered?.needed !== false && now >= (answered?.at ?? 0) + LAST_BYTE_MS;
    if (!again || placements.get(placementKey(run, epoch))?.state === "live") return [];
    const { intent, protocol } = record;
    return [{ run, epoch, worker: intent.worker, held: false, attempts: [], protocol, kept: true as const }];
  });
}

/** Applies an allocation's answer. An allocation that does not exist needs no data. */
export function withAnswer(memo: WorkerMemo, key: string, answer: ObservedAnswer, now: Instant): WorkerMemo {
  const known = memo.retained[key];
  if (known === undefined) return memo;
  const needed = answer.kind === "order" && answer.keep === true;
  return { ...memo, retained: { ...memo.retained, [key]: { ...known, answered: { at: now, needed } } } };
}

/** Placements whose data the host may drop. */
export function unneeded({ memo }: ReadonlyExistingWorker): string[] {
  return Object.keys(memo.retained).filter((key) => memo.retained[key]?.answered?.needed === false);
}
