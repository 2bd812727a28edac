// How does a job deliver its messages? The simulator delivers them by the same code.
import type { JobEvent } from "../../core/job/events.ts";
import type { JobMessage } from "../../core/job/machine.ts";
import { type JobState, jobOf, type OwedTick, versionOf } from "../../core/job/record.ts";
import type { JobListing } from "../../core/job/summary.ts";
import { unknownJob } from "../../shared/jobs/unknown.ts";
import { type CalledForRuns, submitTick } from "./submit-tick.ts";

/** Whom a job calls. */
interface Called extends CalledForRuns {
  registry(): { noteJob(listing: JobListing): Promise<void> };
}

/**
 * Delivers a message, and turns its reply into an event. Rejects if it may succeed later. `read`: the state
 * as it is by then.
 */
export async function sendOfJob(peers: Called, read: () => JobState, message: JobMessage): Promise<JobEvent> {
  if (message.kind === "list") {
    await peers.registry().noteJob(message.listing);
    return { type: "listed", sent: message.listing };
  }
  const { owed, notAfter } = message;
  const job = jobOf(read());
  if (job === undefined) throw unknownJob(message.to);
  const isWanted = () => isOpen(read(), owed);
  const how = { notAfter, isWanted };
  const outcome = await submitTick(peers, job.record, versionOf(job, owed.version), owed, how);
  return { type: "submitted", sent: owed, outcome };
}

/** Whether the job still owes or holds this tick. */
function isOpen(state: JobState, { tick: { at } }: OwedTick): boolean {
  const held = state.memo.held?.owed;
  const owed = jobOf(state)?.record.owed ?? [];
  return [...owed, ...(held === undefined ? [] : [held])].some(({ tick }) => tick.at === at);
}
