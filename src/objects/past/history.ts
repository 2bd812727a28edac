// Which rows tell what happened in a pool within a time?
import {
  MAX_HISTORY_ITEMS,
  poolHistory,
  RUN_INSTANTS,
  type Span,
  WORKER_INSTANTS,
} from "../../core/pool/past/history.ts";
import { type RunRow, runKey, type WorkerRow } from "../../core/pool/record.ts";
import type { Configured } from "../../core/pool/state.ts";
import type { PoolHistory } from "../../schema/pool/history.ts";
import type { Instant } from "../../shared/machine.ts";
import { TOP } from "../reads/nameless.ts";
import type { SqlRowDisk } from "../store.ts";

/** What happened in a pool within a span (api.md#history-of-a-pool). */
export function historyOf(
  state: Configured,
  runs: SqlRowDisk<RunRow>,
  workers: SqlRowDisk<WorkerRow>,
  now: Instant,
  span: Span,
): PoolHistory {
  // Nothing happens to a run before it is submitted, and keys begin with that time.
  const before = runKey(span.until, "");
  const found = {
    runs: runs.readWithin(pathsOf(RUN_INSTANTS), span, before, MAX_HISTORY_ITEMS + 1),
    workers: workers.readWithin(pathsOf(WORKER_INSTANTS), span, TOP, MAX_HISTORY_ITEMS + 1),
    limit: MAX_HISTORY_ITEMS,
  };
  return poolHistory(state, span, found, now);
}

function pathsOf<Path extends string>(instants: Record<Path, string>): Path[] {
  return Object.keys(instants) as Path[]; // the keys of a constant
}
