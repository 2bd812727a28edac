import type { AllocationRecord, Reaction, Wish } from "../state.ts";
import { groupView } from "../tasks/tasks.ts";

/** That a run is being stopped, and why, if anybody has said so. */
export function beingStopped(record: AllocationRecord): string {
  const why = whyStopped(record);
  return why === "" ? "it is being stopped" : `it is being stopped (${why})`;
}

/** Why the tasks of a run are being stopped, in words. */
export function whyStopped(record: AllocationRecord): string {
  const { wish, kill } = record;
  if (wish !== null) return wish.reason;
  if (groupView(record).hostStop !== undefined) return "its host stops everything";
  return kill === undefined ? "it is no longer wanted" : reactionText(kill);
}

/** What a group makes of the end of one of its tasks, in words. */
export function reactionText({ type, task }: Reaction): string {
  switch (type) {
    case "Sibling Task Failed":
      return `task "${task}" of its group has failed`;
    case "Leader Task Dead":
      return `the leader of its group, "${task}", has ended`;
    case "Main Tasks Dead":
      return "the main tasks of its group have ended";
  }
}

/** Why a run is to end, in words, also where nobody has given a reason. */
export function reasonOf({ reason, state, by }: Wish): string {
  return reason.trim() === "" ? `${state} by ${by}` : reason;
}
