import type { Report } from "../../../schema/host.ts";
import { placementKey } from "../../../shared/attempt-id.ts";
import { LAST_BYTE_MS, MAX_KEPT_ASKED } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Observed, ObservedAnswer } from "../../messages.ts";
import type { Kept, ReadonlyLiving, WorkerMemo } from "../state.ts";

/**
 * What hosts keep of sticky runs whose placement is over. Each report says all of it, each run is asked
 * whether it may need it, and orders name what it never will: nothing is dropped because somebody does not
 * mention it (rule R5), and nothing of this need be stored, since the host repeats it.
 */

/**
 * What the host keeps by its latest report, with what is known of it: so much as is asked about at a time.
 * The rest stays where it is until there is room.
 */
export function keptNow(before: Record<string, Kept>, { kept = [] }: Report): Record<string, Kept> {
  const entries = kept.slice(0, MAX_KEPT_ASKED).map((key): [string, Kept] => {
    const [run = "", epoch = "0"] = key.split("/");
    return [key, before[key] ?? { run, epoch: Number(epoch) }];
  });
  return Object.fromEntries(entries);
}

/** The allocations that are to be asked. What may be needed now may not be later: they are asked again. */
export function questionsDue({ record, placements, memo }: ReadonlyLiving, now: Instant): Observed[] {
  return Object.values(memo.kept).flatMap(({ run, epoch, answered }) => {
    const again = answered?.needed !== false && now >= (answered?.at ?? 0) + LAST_BYTE_MS;
    if (!again || placements.get(placementKey(run, epoch))?.state === "live") return [];
    const { worker } = record.intent;
    return [{ run, epoch, worker, held: false, attempts: [], kept: true as const }];
  });
}

/** Folds in an allocation's answer. One that does not exist needs nothing. */
export function withAnswer(memo: WorkerMemo, key: string, answer: ObservedAnswer, now: Instant): WorkerMemo {
  const known = memo.kept[key];
  if (known === undefined) return memo;
  const needed = answer.kind === "order" && answer.keep === true;
  return { ...memo, kept: { ...memo.kept, [key]: { ...known, answered: { at: now, needed } } } };
}

/** The placements whose data the host may drop. */
export function unneeded({ memo }: ReadonlyLiving): string[] {
  return Object.keys(memo.kept).filter((key) => memo.kept[key]?.answered?.needed === false);
}
