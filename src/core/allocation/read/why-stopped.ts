// Why is a run, or one of its tasks, being stopped, in words?
import type { Reaction, StopRequest } from "../state.ts";
import type { GroupView } from "../tasks/tasks.ts";

/** Says that a run is being stopped, and why, if a reason was given. */
export function beingStopped(view: GroupView): string {
  const why = whyStopped(view);
  return why === "" ? "it is being stopped" : `it is being stopped (${why})`;
}

/** Why the tasks of a run are being stopped, in words. */
export function whyStopped({ record: { stopRequest, kill }, hostStop }: GroupView): string {
  if (stopRequest !== null) return stopRequest.reason;
  if (hostStop !== undefined) return "its host stops everything";
  return kill === undefined ? "it is no longer wanted" : reactionText(kill);
}

/** How a group reacts to the end of one of its tasks, in words. */
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

/** Why a run is to stop. Names the requester if no reason was given. */
export function reasonOf({ reason, state, by }: StopRequest): string {
  return reason.trim() === "" ? `${state} by ${by}` : reason;
}
