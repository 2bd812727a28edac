// How long does planning take in a Pool with a thousand workers and ten thousand queued runs?
import type { AuditRow } from "../../src/core/audit/entry.ts";
import { nothingExported } from "../../src/core/audit/export.ts";
import { AuditTable } from "../../src/core/audit/table.ts";
import { loadedPool } from "../../src/core/pool/load.ts";
import { type PoolEvent, poolMachine } from "../../src/core/pool/machine.ts";
import type { HourRow } from "../../src/core/pool/past/hour-record.ts";
import { plan } from "../../src/core/pool/plan/plan.ts";
import {
  isLiveRun,
  isLiveWorker,
  NO_TALLY,
  NOTHING_SAID,
  type RunRow,
  runKey,
  settingsOf,
  type WorkerRow,
} from "../../src/core/pool/record.ts";
import type { Configured, PoolState } from "../../src/core/pool/state.ts";
import { type RowDisk, Rows } from "../../src/core/rows.ts";
import { PoolConfig } from "../../src/schema/pool.ts";
import { percentile, type Row } from "../table.ts";

const T0 = Date.UTC(2026, 0, 1);
const WORKERS = 1_000;
const QUEUED = 10_000;
const GIB = 2 ** 30;
const TYPE = { vcpus: 8, memory: "16GiB", disk: "0", gpus: 0, price: 1 };
const SAID = {
  labels: {},
  command: "true",
  hostPaths: false,
  fakes: false,
  restarts: 0,
  oomKills: 0,
  taskFailures: {},
  startFailures: 0,
  prefer: null,
  exitCode: null,
  finishedAt: null,
} as const;

/** A pool of 1,000 machines of 8 vCPUs and 16 GiB, each with `onEach` runs of 3 vCPUs, and a queue. */
function poolOf(config: PoolConfig, onEach: number, queued: number, make = waiting): Configured {
  const runs: RunRow[] = [];
  for (let n = 0; n < WORKERS * onEach; n += 1) runs.push(placed(n, `w${n % WORKERS}`));
  for (let n = 0; n < queued; n += 1) runs.push(make(n));
  const workers = Array.from({ length: WORKERS }, (_, n) => machine(`w${n}`, config));
  const fresh = { nextWorker: 1, holds: [], tally: NO_TALLY, exported: nothingExported(T0), followers: {} };
  const record = { name: "p", revision: 1, config, seed: "s", ...fresh };
  const audit = new AuditTable(
    new Rows(
      diskOf<AuditRow>([], () => ""),
      () => false,
    ),
  );
  const rows = {
    runs: new Rows(
      diskOf(runs, (row) => runKey(row.submittedAt, row.run)),
      isLiveRun,
    ),
    workers: new Rows(
      diskOf(workers, (row) => row.worker),
      isLiveWorker,
    ),
  };
  const hours = new Rows(
    diskOf<HourRow>([], () => ""),
    () => false,
  );
  return { ...loadedPool(record, rows.runs, rows.workers, audit, hours), record };
}

/**
 * A run with 1 to 8 vCPUs, 1 to 3 GiB in steps of a MiB, and a priority of 1 to 20: nearly all runs differ.
 */
function waiting(n: number): RunRow {
  const resources = {
    vcpus: 1 + (n % 8),
    memoryBytes: GIB + ((n * 7_919) % 2_048) * 2 ** 20,
    diskBytes: 0,
    gpus: 0,
  };
  const priority = 1 + ((n * 31) % 20);
  return { ...rowOf(`q${n}`, n), resources, priority };
}

/** One of a thousand runs of an array. */
function inArray(n: number): RunRow {
  const index = n % 1_000;
  return { ...waiting(n), array: { id: `a${Math.floor(n / 1_000)}`, index, size: 1_000, maxParallel: 3 } };
}

function placed(n: number, worker: string): RunRow {
  const resources = { vcpus: 3, memoryBytes: 4 * GIB, diskBytes: 0, gpus: 0 };
  return { ...rowOf(`p${n}`, 0), state: "running", resources, worker, opened: 1, epoch: 1 };
}

function rowOf(run: string, later: number): RunRow {
  const said = {
    ...SAID,
    run,
    submittedAt: T0 + later,
    version: 1,
    state: "pending",
    startedAt: null,
  } as const;
  const need = { vcpus: 1, memoryBytes: GIB, diskBytes: 0, gpus: 0 };
  const wants = { wants: "place", priority: 10, resources: need, protocol: 0, epoch: 0, ended: 0 } as const;
  return {
    ...said,
    ...wants,
    by: "admin",
    project: "default",
    budget: null,
    storedBytes: 0,
    avoid: [],
    opened: 0,
    worker: null,
    heardAt: T0,
  };
}

function machine(worker: string, config: PoolConfig): WorkerRow {
  const times = { askedAt: T0, notAfter: T0, stopUntil: 0, missingSince: null, pausedUntil: 0, heardAt: T0 };
  const said = { version: 1, phase: "ready", idleBehavior: "run", address: null, reason: "" } as const;
  const boot = { instance: `i-${worker}`, readyAt: T0, bootOutcome: "success", endingAt: null } as const;
  const spoken = { protocol: 1, refusals: 0, project: null };
  return {
    worker,
    kind: "cloud",
    ...said,
    ...NOTHING_SAID,
    ...boot,
    ...spoken,
    ...times,
    instanceType: "m",
    type: TYPE,
    zone: null,
    settings: settingsOf(config),
  };
}

/** A disk that has these rows and stores nothing, so that only decisions are measured. */
function diskOf<One>(rows: One[], keyOf: (row: One) => string): RowDisk<One> {
  return {
    read: () => undefined,
    readLive: () => rows.map((row) => [keyOf(row), row] as [string, One]),
    readEnded: () => [],
    readAbove: () => [],
    readLatestEnded: () => [],
    readEndedWith: () => [],
    endedSpans: () => new Map(),
    write: () => {},
    remove: () => {},
    highest: () => 0,
    lowest: () => undefined,
    sums: () => new Map(),
    forget: () => {},
    hasForgettable: () => false,
    hasMoreThan: () => false,
    hasFrom: () => false,
    beyond: () => ({ rows: "", bytes: "" }),
    count: () => 0,
    removeUpTo: () => {},
    keepEnded: () => {},
  };
}

function timed(what: string, n: number, budget: string, act: (n: number) => void): Row {
  const took: number[] = [];
  for (let i = 0; i < n; i += 1) {
    const from = performance.now();
    act(i);
    took.push(performance.now() - from);
  }
  const ms = (value: number) => `${value.toFixed(3)} ms`;
  return {
    what,
    n,
    p50: ms(percentile(took, 0.5)),
    p95: ms(percentile(took, 0.95)),
    max: ms(Math.max(...took)),
    budget,
  };
}

/** Everything that an object does for one event, except the commit. */
function decide(state: PoolState, event: PoolEvent, now: number): PoolState {
  const next = poolMachine.apply(state, event, now);
  poolMachine.due(next, now);
  poolMachine.wakeAt(next);
  return next;
}

/** How long decisions of a large pool take (budgets.md#budgets). Pure: no server is needed. */
export function measurePlanning(): Row[] {
  const config = PoolConfig.parse({
    provider: { kind: "http", url: "http://x", secret: "s" },
    instanceTypes: { m: TYPE },
    maxInstances: WORKERS,
    maxQueue: 1_000_000,
  });
  const now = T0 + QUEUED + 1;
  const full = poolOf(config, 2, QUEUED);
  const empty = poolOf(config, 0, QUEUED);
  const arrays = poolOf(config, 2, QUEUED, inArray);
  const rows = [
    timed("full plan, 1,000 machines nearly full", 50, "20 ms", () => plan(full, now)),
    timed("full plan, 1,000 empty machines", 50, "20 ms", () => plan(empty, now)),
    timed("full plan, ten arrays that may run three at once", 50, "20 ms", () => plan(arrays, now)),
  ];
  let state = decide(full, { type: "tick" }, now);
  // All placements are acknowledged first, so that only the decision about one more run is measured.
  for (const row of [...state.runs.live()]) {
    if (row.worker === null) continue;
    const { opened: _opened, worker: _worker, heardAt: _heardAt, ...upsert } = row;
    state = poolMachine.apply(state, { type: "run", body: { ...upsert, epoch: row.opened } }, now);
  }
  const more = (n: number): PoolEvent => {
    const { opened: _opened, worker: _worker, heardAt: _heardAt, ...upsert } = waiting(QUEUED + n);
    return { type: "run", body: upsert };
  };
  rows.push(
    timed("one more run, the whole decision", 1_000, "0.1 ms", (n) => {
      state = decide(state, more(n), now);
    }),
  );
  return rows;
}
