// Does another try follow after this end of a run (retry.md#next-try)?
import type { AllocationRecord, Outcome } from "../state.ts";
import type { GroupView } from "../tasks/tasks.ts";
import { causeOf, type Failed } from "./cause.ts";
import { canGrow } from "./needs.ts";
import type { RetryReason } from "./record.ts";

/** Why another try follows this outcome. Undefined: none does. */
export function retryAfter(view: GroupView, outcome: Outcome): RetryReason | undefined {
  const failed = view.group.retry === undefined ? undefined : causeOf(view, outcome);
  return failed === undefined ? undefined : retryFor(view, failed);
}

/** Why another try follows a failure, by the policy of the run. Undefined: none does. */
export function retryFor(
  { record, group }: GroupView,
  { exitCode, ...reason }: Failed,
): RetryReason | undefined {
  const { retry } = group;
  if (retry === undefined || !retry.on.has(reason.cause)) return undefined;
  if (triesFailed(record) >= retry.max) return undefined;
  if (reason.cause === "exit" && exitCode !== null && !retry.retriesExit(exitCode)) return undefined;
  if (reason.cause === "oom" && retry.memory !== undefined && !canGrow(record, reason)) return undefined;
  return reason;
}

/** How many tries of a run have failed, and were followed by another. */
export function triesFailed({ retries = [] }: Pick<AllocationRecord, "retries">): number {
  return retries.length;
}

/**
 * Whether a request to stop the run for its time only ends this try, and another one follows
 * (retry.md#time-limit). A request of somebody else takes its place.
 */
export function endsTryOnly(view: GroupView): boolean {
  const { stopRequest } = view.record;
  return (
    stopRequest?.state === "timedout" && retryFor(view, { cause: "timeout", exitCode: null }) !== undefined
  );
}
