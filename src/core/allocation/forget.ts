import type { RunSpec } from "../../schema/run/run.ts";
import { TOMBSTONE_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import type { ForgetAnswer, RunRef } from "../messages.ts";
import { type AllocationRecord, type AllocationState, EMPTY_MEMO } from "./state.ts";
import { answerPlace } from "./summary.ts";

/** Whether a run may be forgotten: it has ended, and is the one that is meant. */
export function mayForget({ record }: AllocationState, { submittedAt }: RunRef): boolean {
  return record?.ended === true && record.submittedAt === submittedAt;
}

/**
 * Forgets a run: its spec, its history and its logs. What is left says that there was one, and in which state
 * it ended; for everybody who asks there is no run (rule R6), but for whoever would submit another under its
 * id.
 */
export function foldForget(state: AllocationState, forget: RunRef, now: Instant): AllocationState {
  if (state.record === null || !mayForget(state, forget)) return state;
  return { record: null, memo: EMPTY_MEMO, spill: [], tombstone: tombstoneOf(state.record, now) };
}

/** What `forget` is answered: the run as it is now, if it is not gone (rule R6). */
export function answerForget(state: AllocationState): ForgetAnswer {
  const answer = answerPlace(state);
  return answer.kind === "no_such" ? { kind: "forgotten" } : answer;
}

/**
 * A record like any other, of a run that has ended, so that a version that knows of no tombstones reads an
 * empty run.
 */
function tombstoneOf(record: AllocationRecord, now: Instant): AllocationRecord {
  const { id, hash, version, submittedAt, waitingSince, endedEpoch, spec, outcome } = record;
  const { pool, type, priority, killTimeout, killSignal, resources } = spec;
  const nothing = { argv: ["-"], env: {}, meta: {}, labels: {} };
  return {
    ...{ id, hash, version, submittedAt, waitingSince, endedEpoch },
    spec: { ...nothing, pool, type, priority, killTimeout, killSignal, resources } as RunSpec, // all it needs
    firstPlacedAt: null,
    placements: [],
    revision: 1,
    wish: null,
    outcome: outcome && { ...outcome, exitCode: null, signal: null, failure: null },
    ended: true,
    tasks: [],
    events: [],
    eventsDropped: 0,
    logs: {},
    forgotten: now,
  };
}

/**
 * When the logs of an ended run go before the run itself: `keepLogsMs` after its end was heard. The pool says
 * `keepLogsMs` with each answer, and it is not stored. After a restart of the object the alarm that was armed
 * still fires: the run then reports its state to its pool again (`withQuestion`), and the answer has it.
 */
export function logsUntil({ record, memo }: AllocationState): Instant | undefined {
  if (record === null || !record.ended || record.outcome === null) return undefined;
  if (memo.keepLogsMs === undefined || Object.keys(record.logs).length === 0) return undefined;
  const { at, heardAt = at } = record.outcome;
  return heardAt + memo.keepLogsMs;
}

/**
 * Lets the run report its state to its pool again, if the alarm has fired that was armed before the object
 * was loaded: it may be for the logs, and the pool answers how long they are kept.
 */
export function withQuestion(state: AllocationState, now: Instant): AllocationState {
  const { askAt } = state.memo;
  if (askAt === undefined || now < askAt) return state;
  return { ...state, memo: { ...state.memo, askAt: undefined, poolHas: 0 } };
}

/** Whether nothing of the logs is to be kept, and something still is. */
export function areLogsOver(state: AllocationState, now: Instant): boolean {
  const until = logsUntil(state);
  return until !== undefined && now >= until;
}

/** The run without its logs: the record is the last place that they go from, since it leads to the others. */
export function withoutLogs(state: AllocationState, now: Instant): AllocationState {
  if (state.record === null || !areLogsOver(state, now)) return state;
  return { ...state, record: { ...state.record, logs: {}, logsGone: now } };
}

/** Since when the logs of a run cannot be read any more; undefined if they can. */
export function logsGoneSince(state: AllocationState, now: Instant): Instant | undefined {
  return state.record?.logsGone ?? (areLogsOver(state, now) ? logsUntil(state) : undefined);
}

/** When the last that is left of a run goes, too: then its id can be used again. */
export function tombstoneUntil({ tombstone }: AllocationState): Instant | undefined {
  return tombstone?.forgotten === undefined ? undefined : tombstone.forgotten + TOMBSTONE_MS;
}

/** The state without a tombstone that is older than it must be. */
export function withoutOld(state: AllocationState, now: Instant): AllocationState {
  const until = tombstoneUntil(state);
  if (until === undefined || now < until) return state;
  const { tombstone: _over, ...rest } = state;
  return rest;
}
