// What happened in a pool within a time, as its rows tell (api.md#history-of-a-pool)?
import type { HistoryItem, PoolHistory } from "../../../schema/pool/history.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { ownerOf } from "../projects.ts";
import type { RunRow, WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";

/** The most items about runs, and the most about machines, of one answer. */
export const MAX_HISTORY_ITEMS = 5_000;

/** From `since` on, and before `until`. */
export interface Span {
  since: Instant;
  until: Instant;
}

/** The instants in rows of runs, as paths in JSON, and what happened then. */
export const RUN_INSTANTS = {
  "$.submittedAt": "run_queued",
  "$.openedAt": "run_placed",
  "$.startedAt": "run_started",
  "$.finishedAt": "run_ended",
} as const;

/** The instants in rows of workers, as paths in JSON, and what happened then. */
export const WORKER_INSTANTS = {
  "$.askedAt": "machine_requested",
  "$.readyAt": "machine_ready",
  "$.failure.at": "machine_failed",
  "$.endingAt": "machine_ending",
  "$.spentUntil": "machine_gone",
} as const;

/** A row, and the instant in it that lies within the span. */
export interface Found<Row, Path> {
  at: Instant;
  path: Path;
  row: Row;
}

export type FoundRun = Found<RunRow, keyof typeof RUN_INSTANTS>;
export type FoundWorker = Found<WorkerRow, keyof typeof WORKER_INSTANTS>;

/**
 * The items of one answer, oldest first. `runs` and `workers` are the first of the span, in order: if there
 * are more than `limit`, later ones are left to the next answer, which begins at the instant of the first
 * that is left out.
 */
export function poolHistory(
  { record }: ReadonlyConfigured,
  { until }: Span,
  { runs, workers, limit }: { runs: FoundRun[]; workers: FoundWorker[]; limit: number },
  now: Instant,
): PoolHistory {
  const ends = [runs, workers].map((found) => (found.length > limit ? (found.at(-1)?.at ?? until) : until));
  const end = Math.min(...ends);
  const all = [
    ...runs.map((found) => ({ at: found.at, item: itemOfRun(found) })),
    ...workers.map((found) => ({ at: found.at, item: itemOfWorker(found, record.config) })),
  ].sort((a, b) => a.at - b.at);
  const before = all.filter(({ at }) => at < end);
  // All that was found happened in one millisecond: then the answer has it, and the next begins after it.
  const isOne = before.length === 0 && end < until;
  const items = (isOne ? all.filter(({ at }) => at === end) : before).map(({ item }) => item);
  const completeSince = iso(now - durationMs(record.config.retention.runs));
  return { items, next: end < until ? iso(isOne ? end + 1 : end) : null, completeSince };
}

function itemOfRun({ at, path, row }: FoundRun): HistoryItem {
  const what = RUN_INSTANTS[path];
  const worker = what === "run_queued" ? null : row.worker;
  return { at: iso(at), what, run: row.run, worker, project: row.project, text: textOfRun(row, what) };
}

function textOfRun(
  { command, state, exitCode }: RunRow,
  what: (typeof RUN_INSTANTS)[keyof typeof RUN_INSTANTS],
): string {
  if (what === "run_queued") return command;
  if (what !== "run_ended") return "";
  return exitCode === null ? state : `${state}, exit code ${exitCode}`;
}

function itemOfWorker(
  { at, path, row }: FoundWorker,
  config: ReadonlyConfigured["record"]["config"],
): HistoryItem {
  const what = WORKER_INSTANTS[path];
  const texts = {
    machine_requested:
      row.kind === "cloud" ? row.instanceType : "a machine of your own, by an enrollment code",
    machine_ready: "",
    machine_failed: row.failure === null ? "" : `${row.failure.class}: ${row.failure.text}`,
    machine_ending: row.reason,
    machine_gone: row.reason,
  };
  return {
    at: iso(at),
    what,
    run: null,
    worker: row.worker,
    project: ownerOf(config, row),
    text: texts[what],
  };
}
