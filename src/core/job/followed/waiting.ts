// What does a tick wait for whose run is to follow that of another job, and until when (jobs.md#following)?
import { ASK_AGAIN_MS } from "../../../shared/jobs/to-follow.ts";
import type { Instant } from "../../../shared/machine.ts";
import { givenUpAt, withoutOwed } from "../look.ts";
import type { ExistingJob, OwedTick, TickWait } from "../record.ts";
import { withSkips } from "../skips/stored.ts";

/** What an owed tick waits for. Undefined: nothing that is known. */
export function waitOf({ memo }: Pick<ExistingJob, "memo">, { tick }: OwedTick): TickWait | undefined {
  return memo.waits?.[tick.at];
}

/** From when on the run of an owed tick is submitted. */
export function submitsAt(job: ExistingJob, owed: OwedTick): Instant {
  return Math.max(owed.startAt, waitOf(job, owed)?.askAt ?? 0);
}

/**
 * Notes that a tick waits for the run of another job. Once it could not be submitted any more it is skipped,
 * and says for what it has waited: so nothing waits for good (jobs.md#not-submitted).
 */
export function foldWait(job: ExistingJob, owed: OwedTick, text: string, now: Instant): ExistingJob {
  const left = withoutOwed(job, owed);
  if (left === job) return job;
  if (now > givenUpAt(job, owed)) {
    const { at } = owed.tick;
    const gone = `it was to follow another job and could not until \`catchUp\` was over: ${text}`;
    return withSkips(left, [{ from: at, to: at, count: 1, reason: "not_submitted", text: gone, at: now }]);
  }
  const open = new Set(job.record.owed.map(({ tick }) => String(tick.at)));
  const known = Object.entries(job.memo.waits ?? {}).filter(([at]) => open.has(at));
  const waits = { ...Object.fromEntries(known), [owed.tick.at]: { text, askAt: now + ASK_AGAIN_MS } };
  return { ...job, memo: { ...job.memo, waits } };
}
