// Why has a try of a run failed (retry.md#causes)?
import type { RetryCause } from "../../../shared/retry/causes.ts";
import type { AttemptRecord, Outcome } from "../state.ts";
import { shellCode } from "../tasks/exit-code.ts";
import { firstFailed } from "../tasks/group.ts";
import type { GroupView, Member } from "../tasks/tasks.ts";
import type { RetryReason } from "./record.ts";

/** Why a try failed, with the exit code of the task that failed first. Null: no process of it has ended. */
export interface Failed extends RetryReason {
  exitCode: number | null;
}

/**
 * The cause of an outcome, for which a run may be tried again (retry.md#causes). Undefined: the run has done
 * its work, somebody has ended it, or another try would not help.
 */
export function causeOf(view: GroupView, outcome: Outcome): Failed | undefined {
  const { state, failure } = outcome;
  const culprit = culpritOf(view);
  const exit = culprit?.attempt?.exit ?? null;
  const failed = (cause: RetryCause): Failed => ({ cause, exitCode: exit === null ? null : shellCode(exit) });
  if (state === "timedout") return failed("timeout");
  if (state === "aborted") return undefined;
  switch (failure?.code) {
    case undefined:
      if (exit === null || (exit.code === 0 && exit.signal === null)) return undefined;
      return ofExit(view, failed);
    case "task_failed":
      return ofExit(view, failed);
    case "machine_lost":
    case "status_lost":
    case "agent_ended":
      return failed(view.hostStop === "interruption" ? "interrupted" : "machine_lost");
    case "artifact_failed":
    case "snapshot_failed":
    case "secrets_failed":
    case "engine_failed":
    case "start_failed":
      return mayHelp(culprit?.attempt) ? failed("boot") : undefined;
    case "image_failed":
      return mayHelp(culprit?.attempt) ? failed("image") : undefined;
    case "image_missing":
    case "image_denied":
      return failed(failure?.code);
    default:
      return undefined;
  }
}

/** The task that is to blame. A command by itself counts as ended well to others, whatever its exit code. */
function culpritOf({ group, members }: GroupView): Member | undefined {
  return group.lone ? members[0] : firstFailed(members);
}

function ofExit({ group, members }: GroupView, failed: (cause: RetryCause) => Failed): Failed {
  const short = members.filter((one) => (group.lone || one.failed) && one.attempt?.exit?.oomKilled === true);
  if (short.length === 0) return failed("exit");
  return { ...failed("oom"), tasks: short.map(({ task }) => task.name) };
}

/** Whether the host says that another start may go better. */
function mayHelp(attempt: AttemptRecord | undefined): boolean {
  return attempt?.startError?.recoverable === true;
}
