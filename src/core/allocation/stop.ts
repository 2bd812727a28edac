// How is a run stopped before it ends by itself: by a user, by the deletion of its pool, or by a time limit?
import { formatDuration } from "../../shared/duration.ts";
import type { EndRun } from "../messages.ts";
import type { RunDraft } from "./draft.ts";
import { outcomeOfStop } from "./outcome.ts";
import { foldRelease } from "./placements/hold.ts";
import { killTimeoutOf } from "./placements/placement.ts";
import { reasonOf } from "./read/why-stopped.ts";
import { endsTryOnly } from "./retry/decide.ts";
import type { StopRequest } from "./state.ts";

/** Who aborts a run, and why. `force`: kill everything at once. */
export interface Abort {
  reason: string;
  by: string;
  force?: boolean;
}

/** Requests the end of the run (rule R3). */
export function foldAbort(run: RunDraft, { reason, by, force = false }: Abort): void {
  requestStop(run, { state: "aborted", at: run.now, reason, by, failure: null });
  if (!run.record.ended && run.record.spec.keep !== undefined) run.set({ unkept: true });
  if (force) forceKill(run, by);
}

/**
 * Ends the run because its pool is being deleted by force, or because another run replaces it. Ignored if
 * another run now has the id.
 */
export function foldEndRun(run: RunDraft, { submittedAt, reason, by, graceful = false }: EndRun): void {
  if (run.record.submittedAt !== submittedAt) return;
  foldAbort(run, { reason, by, force: !graceful });
  foldRelease(run, { reason, by });
}

/**
 * Stores a request to stop the run, unless another request or a final outcome was stored first. A request
 * that only ends a try gives way (retry.md#time-limit). `placement`:
 * the placement in which the run stops. The longest kill timeout of this placement applies.
 */
export function requestStop(run: RunDraft, request: StopRequest, placement = run.placement): void {
  const { stopRequest, outcome } = run.record;
  const isTaken = stopRequest !== null && (request.state === "timedout" || !endsTryOnly(run.view));
  if (isTaken || (outcome !== null && !outcome.again)) return;
  const { at, by, reason } = request;
  const { tasks, lone } = run.view.group;
  // In a group each task gets its own event when its stop begins.
  const timeouts = lone
    ? tasks.map((task) => ({ kill_timeout: formatDuration(killTimeoutOf(task, placement)) }))
    : [];
  run.set({ stopRequest: request, outcome: outcome && outcomeOfStop(request, at) });
  const details = { by, kill_reason: reason, ...timeouts[0] };
  run.note("Killing", at, reasonOf(request), { details });
}

/**
 * After an abort with `force`, kills every living task at once, even poststop tasks. The end of the run then
 * does not wait for its logs.
 */
function forceKill(run: RunDraft, by: string): void {
  const { ended, stopRequest, outcome, forced } = run.record;
  if (forced !== undefined || ended || (stopRequest === null && outcome === null)) return;
  const text = `${by} asked to kill everything at once`;
  run.set({ forced: { at: run.now, by } });
  run.note("Killing", run.now, text, { details: { by, kill_timeout: "0s", kill_reason: text } });
}
