import type { PoolConfig } from "../../../schema/pool.ts";
import { durationMs } from "../../../shared/duration.ts";
import { FORGET_BATCH, FORGET_LOOK_MS, FORGET_NEXT_MS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import type { ForgetAnswer, RunRef } from "../../messages.ts";
import { isOpen, type RunRow, runKey } from "../record.ts";
import type { Configured, PoolState, ReadonlyConfigured } from "../state.ts";

/** Of a configuration that an older version has stored. */
const DEFAULT_RETENTION_MS: Millis = 7 * 24 * 3_600_000;

function retentionMs({ retention }: Partial<Pick<PoolConfig, "retention">>): Millis {
  return retention === undefined ? DEFAULT_RETENTION_MS : durationMs(retention.runs);
}

/** For how long logs are kept after the end of their run, if for a shorter time than the run itself. */
export function keepLogsMs({ retention }: Partial<Pick<PoolConfig, "retention">>): Millis | undefined {
  if (retention?.logs === undefined) return undefined;
  const ms = durationMs(retention.logs);
  return ms < durationMs(retention.runs) ? ms : undefined;
}

/**
 * When an ended run is to be forgotten: its retention counts from when its end was heard here, which may be
 * long after it. Nobody could read of it before.
 */
export function expiresAt(row: RunRow, config: PoolConfig): Instant {
  return Math.max(row.finishedAt ?? 0, row.heardAt) + retentionMs(config);
}

/** Whether a run can be forgotten: it has ended, its pool knows, and its place is free (rule R3). */
export function isOver(row: RunRow): boolean {
  return isTerminal(row.state) && !isOpen(row);
}

/**
 * Looks for ended runs whose time is over, now and then: the first few in the order of their submission,
 * which is about that of their ends. What is found is only remembered, and would be found again.
 */
export function lookForExpired(state: Configured, now: Instant): Configured {
  const { lookAt = 0 } = state.memo;
  if (now < lookAt) return state;
  const rows = [...state.runs.ended(FORGET_BATCH)];
  const { config } = state.record;
  const expired = new Map(rows.filter(([, row]) => expiresAt(row, config) <= now));
  const full = expired.size === FORGET_BATCH;
  const earliest = Math.min(...rows.map(([, row]) => expiresAt(row, config)));
  // Without any, the next run that ends is looked at with the event that says so.
  const none = rows.length === 0 ? undefined : Math.max(now + FORGET_LOOK_MS, earliest);
  return { ...state, memo: { ...state.memo, expired, lookAt: full ? now + FORGET_NEXT_MS : none } };
}

/** What the owners of runs are told whose time is over, or that somebody wants deleted. */
export function dueForgets(state: ReadonlyConfigured): { key: string; body: RunRef }[] {
  const rows = new Map([...state.memo.index.unwanted].filter(([, row]) => isOver(row)));
  for (const [key, row] of state.memo.expired) rows.set(key, row);
  return [...rows].map(([key, { run, submittedAt }]) => ({ key, body: { run, submittedAt } }));
}

/** Somebody wants an ended run deleted now. One that has not ended here is left alone. */
export function foldUnwanted(state: PoolState, { run, submittedAt }: RunRef, now: Instant): PoolState {
  const key = runKey(submittedAt, run);
  const row = state.runs.get(key);
  if (row !== undefined && isOver(row) && row.forget !== true)
    state.runs.set(key, { ...row, forget: true }, now);
  return state;
}

/** Its owner has forgotten it, or has never been this submission: the row goes, too. */
export function foldForgotten(
  state: PoolState,
  { run, submittedAt }: RunRef,
  answer: ForgetAnswer,
  now: Instant,
): PoolState {
  const key = runKey(submittedAt, run);
  const row = state.runs.get(key);
  const another = answer.kind === "run" && runKey(answer.run.submittedAt, answer.run.run) !== key;
  if (row === undefined || !isOver(row) || (answer.kind === "run" && !another)) return state;
  state.memo.counting.forget(row);
  state.runs.delete(key);
  state.memo.expired.delete(key);
  state.memo.changes.deleted(row.run, now);
  return state;
}
