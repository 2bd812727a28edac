// When is an ended run forgotten, and who tells its allocation?
import type { PoolConfig } from "../../../schema/pool.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import { iso } from "../../../shared/time/instant.ts";
import { type Caused, viaField } from "../../audit/via.ts";
import type { RunRef } from "../../messages.ts";
import { isOpen, type RunRow, runKey } from "../record.ts";
import type { Configured, PoolState, ReadonlyConfigured } from "../state.ts";

/** The most ended runs that a pool forgets at a time. */
export const FORGET_BATCH = 32;
/** The shortest time between two searches for ended runs whose retention is over. */
export const FORGET_LOOK_MS = 60_000;
/** The time between two searches while rows must stay whose retention is over. */
const FORGET_NEEDED_MS = 3_600_000;
/** The time between two searches while more expired runs are left than fit into one batch. */
export const FORGET_NEXT_MS = 1_000;

/** How long a parked run is kept at least, whatever the retention of its pool. */
export const PARKED_KEPT_MS: Millis = 30 * 24 * 3_600_000;

/** How long logs are kept after the end of their run; undefined: as long as the run itself. */
export function keepLogsMs({ retention }: Pick<PoolConfig, "retention">): Millis | undefined {
  if (retention.logs === undefined) return undefined;
  const ms = durationMs(retention.logs);
  return ms < durationMs(retention.runs) ? ms : undefined;
}

/**
 * When an ended run is to be forgotten. Its retention begins when the pool learns of its end, since nobody
 * could read about the end before. A parked run waits for somebody, so it is kept for 30 days in any case
 * (retry.md#parked).
 */
export function expiresAt(row: RunRow, config: PoolConfig): Instant {
  const usual = Math.max(row.finishedAt ?? 0, row.heardAt) + durationMs(config.retention.runs);
  const { parked = null } = row;
  return parked === null ? usual : Math.max(usual, parked.since + PARKED_KEPT_MS);
}

/** Whether a run can be forgotten: it has ended and uses no capacity (rule R3). */
export function isOver(row: RunRow): boolean {
  return isTerminal(row.state) && !isOpen(row);
}

/**
 * Looks for ended runs whose retention is over, if the next search is due. Runs are examined in order of
 * submission. The result is kept only in memory: a restart searches again. Runs of an array on which
 * something depends stay (pool.md#array-ends).
 */
export function lookForExpired(state: Configured, now: Instant): Configured {
  const { lookAt = 0 } = state.memo;
  if (now < lookAt) return state;
  // Parked runs that are to be kept are passed over, so that they do not hide the others.
  const except = { field: "parked.since", above: now - PARKED_KEPT_MS };
  const { config } = state.record;
  const { arrays } = state.memo.index;
  const rows: [string, RunRow][] = [];
  let needed = Number.POSITIVE_INFINITY;
  let none = true;
  for (const [key, row] of state.runs.ended(Number.POSITIVE_INFINITY, except)) {
    none = false;
    if (arrays.needs(row)) needed = now + FORGET_NEEDED_MS;
    else if (rows.push([key, row]) === FORGET_BATCH) break;
  }
  const expired = new Map(rows.filter(([, row]) => expiresAt(row, config) <= now));
  const full = expired.size === FORGET_BATCH;
  const earliest = Math.min(needed, ...rows.map(([, row]) => expiresAt(row, config)));
  // If there are no ended runs, the next event searches again.
  const next = none ? undefined : Math.max(now + FORGET_LOOK_MS, earliest);
  return { ...state, memo: { ...state.memo, expired, lookAt: full ? now + FORGET_NEXT_MS : next } };
}

/** The runs whose allocations must forget them: their retention is over, or a user deletes them. */
export function dueForgets(state: ReadonlyConfigured): { key: string; body: RunRef }[] {
  const rows = new Map([...state.memo.index.unwanted].filter(([, row]) => isOver(row)));
  const { arrays } = state.memo.index;
  for (const [key, row] of state.memo.expired) if (!arrays.needs(row)) rows.set(key, row);
  return [...rows].map(([key, { run, submittedAt }]) => ({ key, body: { run, submittedAt } }));
}

/**
 * Marks a run that a user deletes. A run that has not ended, as far as this pool knows, is not marked. The
 * entry of the audit log says who had submitted the run, since the row that says so is about to go.
 */
export function foldUnwanted(
  state: Configured,
  { run: { run, submittedAt }, by, via }: { run: RunRef; by: string } & Caused,
  now: Instant,
): PoolState {
  const key = runKey(submittedAt, run);
  const row = state.runs.get(key);
  if (row === undefined || !isOver(row) || row.forget === true) return state;
  state.runs.set(key, { ...row, forget: true }, now);
  const target = { kind: "run", id: run } as const;
  const about = { target, pool: state.record.name, run, project: row.project };
  const reason = `it was submitted by ${row.by} at ${iso(submittedAt)}`;
  const entry = { at: now, by, action: "run.delete", ...about, result: "ok", reason } as const;
  state.audit.add({ ...entry, ...viaField({ via }) }, now);
  return state;
}

/** Removes the row of a run that its allocation has forgotten, or never had. */
export function dropRow({ runs, memo }: PoolState, key: string, row: RunRow, now: Instant): void {
  memo.counting.forget(row);
  memo.storedBytes.forgets(row);
  memo.index.arrays.forget(key, row);
  runs.delete(key);
  memo.expired.delete(key);
  memo.changes.deleted(row.run, now);
}
