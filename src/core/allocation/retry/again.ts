// What changes when a run that has failed begins to wait for its next try (retry.md#next-try)?
import { formatDuration } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { CAUSE_WORDS } from "../../../shared/retry/causes.ts";
import { waitBefore } from "../../../shared/retry/policy.ts";
import { jittered } from "../../jitter.ts";
import type { RunDraft } from "../draft.ts";
import { resetTasks } from "../placements/reschedule.ts";
import type { PlacementRecord } from "../state.ts";
import type { FailedTry, RetryReason } from "./record.ts";
import { triesText } from "./tries.ts";

/** How many characters are stored of how a try failed. */
const MAX_TRY_TEXT_CHARS = 300;

/**
 * Prepares a run for its next try, after the proof that its placement is over (rule R2). `failedAt`: when the
 * try failed, from which its wait counts. `text`: how it failed.
 */
export function tryAgain(
  run: RunDraft,
  { epoch, worker, rate }: Pick<PlacementRecord, "epoch" | "worker" | "rate">,
  failedAt: Instant,
  reason: RetryReason,
  text: string,
): void {
  const { record, now, view } = run;
  const { retry } = view.group;
  if (retry === undefined) return; // only a policy gives a reason
  const before = record.retries ?? [];
  const n = before.length + 1;
  const delayMs = jittered(waitBefore(retry, n), `${record.id}/${n}`, retry.jitter);
  const priced = rate === undefined ? {} : { rate };
  const said = text.slice(0, MAX_TRY_TEXT_CHARS);
  const failed: FailedTry = { ...reason, epoch, worker, at: failedAt, delayMs, text: said, ...priced };
  run.set({
    outcome: null,
    stopRequest: null,
    poststopOver: undefined,
    retries: [...before, failed],
    ...(failedAt + delayMs > now ? { placeAt: failedAt + delayMs } : { waitingSince: now }),
  });
  resetTasks(run);
  run.remember({ offeredRate: undefined });
  const next = triesText(run.record);
  const delay = formatDuration(delayMs);
  const message = `try ${n} has failed: ${CAUSE_WORDS[reason.cause]}; in ${delay} follows ${next}`;
  const details = { cause: reason.cause, try: String(n), worker, delay };
  run.note("Retrying", failedAt, message, { details });
}
