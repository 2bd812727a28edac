// How does a worker end: from the decision to its observed end?
import type { BootOutcome } from "../../../probes/boot.ts";
import { hasEnded } from "../../../probes/report.ts";
import type { Report } from "../../../schema/host.ts";
import { CREATE_STRAGGLER_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { endPlacements } from "../placements.ts";
import {
  type ExistingWorker,
  isEnding,
  isSelfHosted,
  livePlacements,
  note,
  ordersRevision,
  type ReadonlyExistingWorker,
  type WorkerState,
  withBootOutcome,
} from "../state.ts";

/**
 * Begins the worker's end: from now on orders are refused, and the machine is destroyed. If the machine is
 * self-hosted, its agent is told to end instead. `outcome`: the boot's outcome, if the boot has none yet.
 */
export function shutDown(
  before: ExistingWorker,
  reason: string,
  now: Instant,
  outcome: BootOutcome = "aborted",
): WorkerState {
  if (isEnding(before.record)) return before;
  const state = { ...before, record: withBootOutcome(before.record, outcome) };
  if (isSelfHosted(state.record)) return letGo(state, reason, now);
  // A create call that is in flight or unanswered may still make the machine: no listing before `calledAt`
  // proves anything.
  const { calledAt: called, instance } = state.record;
  const calledAt = instance === null ? Math.max(called ?? 0, now + CREATE_STRAGGLER_MS) : (called ?? now);
  const calling = state.record.calling || (instance === null && !state.record.waits);
  const ending = { ...state.record, phase: "shutdown" as const, reason, calledAt, destroyAskedAt: null };
  return { ...state, record: note({ ...ending, calling, waits: true }, "Shutdown", reason, now) };
}

/**
 * Tells the agent of a self-hosted machine to end, since no provider can destroy the machine. The orders get
 * a new revision, so that a report can prove that the agent has seen them.
 */
function letGo(state: ExistingWorker, reason: string, now: Instant): WorkerState {
  if (state.record.secret === null)
    return goneNow({ ...state, record: { ...state.record, reason } }, reason, now);
  const revision = ordersRevision(state) + 1;
  // Its lease may be over already. Its end then counts from now on.
  const overdueSince = state.record.overdueSince ?? (state.record.leaseUntil <= now ? now : null);
  const ending = { ...state.record, phase: "shutdown" as const, reason, revision, overdueSince };
  return { ...state, record: note(ending, "Shutdown", reason, now) };
}

/**
 * Whether this is a self-hosted machine whose agent was told to end. The agent's final report or the end of
 * the lease then ends the worker, since no listing shows the machine.
 */
export function isLetGo({ record }: ReadonlyExistingWorker): boolean {
  return isSelfHosted(record) && record.phase === "shutdown";
}

/**
 * Whether this is the final report of a self-hosted machine: the agent knows that it must end, and no attempt
 * is alive.
 */
export function isFarewell(state: ReadonlyExistingWorker, report: Report): boolean {
  const { full, attempts, ordersSeen } = report;
  return isLetGo(state) && full && attempts.every(hasEnded) && ordersSeen >= state.record.revision;
}

/**
 * Ends a worker whose machine is gone (`proof`). Its live placements count as lost. If the worker's end was
 * decided before, the reason for this end stays. Otherwise the reason is that the machine ended by itself.
 * `unasked`: the boot's outcome, if it has none yet and nobody had asked for the end.
 */
export function goneNow(
  state: ExistingWorker,
  proof: string,
  now: Instant,
  unasked: BootOutcome = "disappeared",
): ExistingWorker {
  if (state.record.phase === "gone") return state;
  const ended = state.record.phase === "shutdown" || isSelfHosted(state.record);
  const reason = ended ? state.record.reason : `its machine ended by itself: ${proof}`;
  endPlacements(state, livePlacements(state), "lost", true, now);
  // If the end was decided before the boot had succeeded, the boot was aborted.
  const outcome = state.record.phase === "shutdown" ? "aborted" : unasked;
  const record = withBootOutcome(state.record, outcome);
  return { ...state, record: note({ ...record, phase: "gone", reason, goneAt: now }, "Gone", proof, now) };
}
