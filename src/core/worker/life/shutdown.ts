import type { BootOutcome } from "../../../probes/boot.ts";
import { hasEnded } from "../../../probes/report.ts";
import type { Report } from "../../../schema/host.ts";
import { CREATE_STRAGGLER_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { loseAll } from "../placements.ts";
import {
  isSelfHosted,
  type Living,
  note,
  ordersRevision,
  type ReadonlyLiving,
  type WorkerState,
} from "../state.ts";
import { withBootOutcome } from "./boot.ts";

/**
 * Begins the end: from this step on orders are refused and the machine is to be destroyed, or let go.
 * `outcome`: what that makes of its boot, if nothing else has come of it before.
 */
export function shutDown(
  before: Living,
  reason: string,
  now: Instant,
  outcome: BootOutcome = "aborted",
): WorkerState {
  if (before.record.phase === "shutdown" || before.record.phase === "gone") return before;
  const state = { ...before, record: withBootOutcome(before.record, outcome) };
  if (isSelfHosted(state.record)) return letGo(state, reason, now);
  // A call that is under way, or never had an answer, may still make it: until then no listing proves
  // anything.
  const { calledAt: called, instance } = state.record;
  const calledAt = instance === null ? Math.max(called ?? 0, now + CREATE_STRAGGLER_MS) : (called ?? now);
  const ending = { ...state.record, phase: "shutdown" as const, reason, calledAt, destroyAskedAt: null };
  if (instance === null && state.record.waits !== true) ending.calling = true;
  return { ...state, record: note({ ...ending, waits: true }, "Shutdown", reason, now) };
}

/**
 * Nobody destroys a self-hosted machine: its agent is told to end. The orders get a revision of their own
 * for that, so that a report which has seen it proves that the agent knows.
 */
function letGo(state: Living, reason: string, now: Instant): WorkerState {
  if (state.record.secret === null)
    return goneNow({ ...state, record: { ...state.record, reason } }, reason, now);
  const revision = ordersRevision(state) + 1;
  const ending = { ...state.record, phase: "shutdown" as const, reason, revision };
  return { ...state, record: note(ending, "Shutdown", reason, now) };
}

/**
 * Whether it is a self-hosted machine whose agent is told to end. Its word that it has ended ends it, or the
 * end of its lease, whatever it says then: no listing will.
 */
export function isLetGo({ record }: ReadonlyLiving): boolean {
  return isSelfHosted(record) && record.phase === "shutdown";
}

/**
 * The last word of a self-hosted machine: its agent knows that it is to end, and nothing lives there any
 * more.
 */
export function foldFarewell(state: Living, report: Report, now: Instant): WorkerState {
  const { record } = state;
  if (!isLetGo(state)) return state;
  const lives = !report.attempts.every(hasEnded);
  if (!report.full || lives || report.ordersSeen < record.revision) return state;
  return goneNow(state, "its agent has ended", now);
}

/**
 * The machine is gone, by observation (`proof`): what was on it is lost. Why it was ended stays its reason;
 * if nobody had ended it, it has ended by itself.
 */
export function goneNow(state: Living, proof: string, now: Instant): WorkerState {
  if (state.record.phase === "gone") return state;
  const ended = state.record.phase === "shutdown" || isSelfHosted(state.record);
  const reason = ended ? state.record.reason : `its machine ended by itself: ${proof}`;
  loseAll(state, "all", now);
  // Where the end was decided before the machine was seen, that has aborted its boot.
  const unasked = state.record.phase === "shutdown" ? "aborted" : "disappeared";
  const record = withBootOutcome(state.record, unasked);
  return { ...state, record: note({ ...record, phase: "gone", reason, goneAt: now }, "Gone", proof, now) };
}
