// What is left of a run and its logs after their retention?
import { TOMBSTONE_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import type { ForgetAnswer, RunRef } from "../messages.ts";
import type { RunDraft } from "./draft.ts";
import { type AllocationState, EMPTY_MEMO } from "./state.ts";
import { answerPlace } from "./summary.ts";

/** Whether this submission of the run has ended, with nothing of it left, and may therefore be forgotten. */
export function mayForget({ record }: AllocationState, { submittedAt }: RunRef): boolean {
  return record?.ended === true && record.hold === undefined && record.submittedAt === submittedAt;
}

/**
 * Forgets a run: its spec, its history and its logs. The tombstone records that the run existed. Because of
 * the tombstone, users are told that the run was deleted. Other objects are told that there is no such run
 * (rule R6).
 */
export function foldForget(state: AllocationState, forget: RunRef, now: Instant): AllocationState {
  if (state.record === null || !mayForget(state, forget)) return state;
  const { id, submittedAt } = state.record;
  return { record: null, memo: EMPTY_MEMO, spill: [], tombstone: { id, submittedAt, forgotten: now } };
}

/** The answer to `forget`: the run if it still exists, else `forgotten` (rule R6). */
export function answerForget(state: AllocationState): ForgetAnswer {
  const answer = answerPlace(state);
  return answer.kind === "no_such" ? { kind: "forgotten" } : answer;
}

/**
 * When the logs of an ended run are deleted although the run is kept: `keepLogsMs` after its end became
 * known. `keepLogsMs` is not stored, since the pool's answers contain it. If this object restarts, the alarm
 * that it had set still fires. The run then reports to its pool again (`withQuestion`), and the pool's answer
 * contains `keepLogsMs`.
 */
export function logsUntil({ record, memo }: AllocationState): Instant | undefined {
  if (record === null || !record.ended || record.outcome === null) return undefined;
  if (memo.keepLogsMs === undefined || Object.keys(record.logs).length === 0) return undefined;
  const { at, heardAt = at } = record.outcome;
  return heardAt + memo.keepLogsMs;
}

/**
 * Makes the run report to its pool again once `askAt` has come: the time of an alarm that was set before this
 * object was loaded. The alarm may have been set for the deletion of the logs. The pool's answer says how
 * long the logs are kept.
 */
export function withQuestion(state: AllocationState, now: Instant): AllocationState {
  const { askAt } = state.memo;
  if (askAt === undefined || now < askAt) return state;
  return { ...state, memo: { ...state.memo, askAt: undefined, poolHas: 0 } };
}

/** Whether the logs are to be deleted now. */
export function areLogsOver(state: AllocationState, now: Instant): boolean {
  const until = logsUntil(state);
  return until !== undefined && now >= until;
}

/**
 * Removes the logs from the record once they are no longer kept. The log bytes must be deleted from storage
 * first, since the record says where they are stored.
 */
export function clearLogs(run: RunDraft): void {
  if (areLogsOver(run.state, run.now)) run.set({ logs: {}, logsGone: run.now });
}

/** Since when the logs of a run cannot be read; undefined if they can. */
export function logsGoneSince(state: AllocationState, now: Instant): Instant | undefined {
  return state.record?.logsGone ?? (areLogsOver(state, now) ? logsUntil(state) : undefined);
}

/** When the tombstone expires, so that the id can be used again. */
export function tombstoneUntil({ tombstone }: AllocationState): Instant | undefined {
  return tombstone === undefined ? undefined : tombstone.forgotten + TOMBSTONE_MS;
}

/** The state without a tombstone that has expired. */
export function withoutOld(state: AllocationState, now: Instant): AllocationState {
  const until = tombstoneUntil(state);
  if (until === undefined || now < until) return state;
  const { tombstone: _over, ...rest } = state;
  return rest;
}
