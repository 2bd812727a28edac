import type { CreateWorker, Order, SelfHosted } from "../../../src/core/messages.ts";
import { settingsOf } from "../../../src/core/pool/record.ts";
import { Rows } from "../../../src/core/rows.ts";
import { type WorkerEvent, type WorkerMessage, workerMachine } from "../../../src/core/worker/machine.ts";
import {
  type ExistingWorker,
  isLivePlacement,
  loadedWorker,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
  type WorkerState,
} from "../../../src/core/worker/state.ts";
import type { AttemptOrder, AttemptReport, Report } from "../../../src/schema/host.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { applied } from "./applied.ts";
import { MapDisk } from "./map-disk.ts";
import { poolConfig } from "./pool-config.ts";

/** When the worker of every story here is requested. */
export const T0 = Date.UTC(2026, 10, 21, 8, 30);
export const MINUTE = 60_000;
/** The lease of the stories' pool. */
export const LEASE = 30 * MINUTE;
/** A listing of the stories' cloud is at most this old. */
export const CONSISTENCY = 10_000;

export const TASK = {
  name: "main",
  argv: ["true"],
  env: {},
  meta: {},
  resources: { vcpus: 1, memoryBytes: 1_000, diskBytes: 0, gpus: 0 },
  killTimeoutMs: 5_000,
  killSignal: "SIGTERM" as const,
};

export function intent(more: Partial<CreateWorker> = {}): CreateWorker {
  const config = poolConfig();
  return {
    kind: "cloud",
    worker: "default-s-1",
    pool: "default",
    instanceType: "small",
    type: { vcpus: 4, memory: "1GiB", disk: "0", gpus: 0, price: 1 },
    zone: null,
    provider: config.provider,
    image: "",
    tags: {},
    notAfter: T0 + 10 * MINUTE,
    settings: settingsOf(config),
    ...more,
  };
}

/** An invitation for a self-hosted machine, valid for an hour. */
export function invitation(more: Partial<SelfHosted> = {}): SelfHosted {
  const settings = { ...settingsOf(poolConfig()), bootCommand: "true" };
  const notAfter = T0 + 60 * MINUTE;
  return { worker: "default-s-1", pool: "default", kind: "self-hosted", notAfter, settings, ...more };
}

/** The resources of the self-hosted machine that joins in these stories. */
export const OWN_RESOURCES = { vcpus: 8, memoryBytes: 2 ** 34, diskBytes: 2 ** 36, gpus: 1 };

/** A self-hosted machine that has enrolled, all at `now`. It has not reported. */
export function enrolledOwn(now = T0): ExistingWorker {
  const host: WorkerEvent = {
    type: "enroll",
    secret: "whsec_1",
    bootId: "boot-1",
    resources: OWN_RESOURCES,
  };
  return at(nothing(), now, { type: "create", body: invitation() }, host);
}

/** A self-hosted machine that is ready, and holds these runs. */
export function readyOwn(runs: string[] = [], now = T0): ExistingWorker {
  return at(enrolledOwn(now), now, report(1), ...runs.map((run) => order(run)), { type: "orders_sent" });
}

/** Folds events in, all at one moment, and commits each. Works on a copy of the table. */
export function at(state: WorkerState, now: number, ...events: WorkerEvent[]): ExistingWorker {
  return living(
    events.reduce(
      (before, event) => {
        const after = applied(workerMachine, before, event, now);
        after.placements.flush();
        return after;
      },
      { ...state, placements: copyOf(state) },
    ),
  );
}

/** The disk below each table, so that a copy also has the rows that are not kept in memory. */
const disks = new WeakMap<Rows<PlacementRow>, MapDisk<PlacementRow>>();

function tableOn(disk: MapDisk<PlacementRow>): Rows<PlacementRow> {
  const rows = new Rows(disk, isLivePlacement, TRACKED_OF_PLACEMENTS);
  disks.set(rows, disk);
  return rows;
}

function copyOf(state: WorkerState): Rows<PlacementRow> {
  const disk = new MapDisk<PlacementRow>();
  for (const [key, { row, live }] of disks.get(state.placements)?.rows ?? [])
    disk.rows.set(key, { row, live });
  return tableOn(disk);
}

export function living(state: WorkerState): ExistingWorker {
  if (state.record === null) throw new Error("there is no worker");
  return { ...state, record: state.record };
}

export function nothing(): WorkerState {
  return loadedWorker(null, tableOn(new MapDisk<PlacementRow>()));
}

/** What is left of a worker when its object is evicted and loaded again. */
export function reloaded(state: WorkerState): ExistingWorker {
  return living(loadedWorker(state.record, copyOf(state)));
}

/** As messages of the pool name it. */
export const REF = { worker: "default-s-1" };

export const INSTANCE: Instance = {
  id: "i-1",
  name: "default-s-1",
  address: "10.0.0.1",
  state: "running",
  instanceType: "small",
  tags: {},
  createdAt: "",
};

export const created: WorkerEvent = {
  type: "create_answered",
  answer: { kind: "created", instance: INSTANCE },
};

export function report(seq: number, more: Partial<Report> = {}): WorkerEvent {
  return {
    type: "report",
    report: { incarnation: 1, seq, full: true, ordersSeen: 0, attempts: [], ...more },
  };
}

export const BOOTED = { boot: { ok: true, output: "running" } };

export const attemptOf = (run: string, epoch = 1) => `${run}/main/${epoch}.1`;

export function order(run: string, more: Partial<Order> = {}): Extract<WorkerEvent, { type: "order" }> {
  const epoch = more.epoch ?? 1;
  const attempts: AttemptOrder[] = [{ id: attemptOf(run, epoch), want: "run", task: TASK }];
  return {
    type: "order",
    body: { run, epoch, revision: 1, resources: TASK.resources, protocol: 0, attempts, ...more },
  };
}

export const stopOf = (run: string): AttemptOrder[] => [
  { id: attemptOf(run), want: "stop", signal: "SIGTERM", timeoutMs: 5_000, reason: "enough" },
];

export const runningOf = (run: string, epoch = 1): AttemptReport => ({
  id: attemptOf(run, epoch),
  state: "running",
});
export const exitedOf = (run: string): AttemptReport => ({
  id: attemptOf(run),
  state: "exited",
  exit: { code: 0, signal: null, oomKilled: false, message: "" },
});

/** The allocation's answer to the due observation of this placement. */
export function observedAnswer(
  state: ExistingWorker,
  run: string,
  now: number,
  answer: Extract<WorkerEvent, { type: "observed_answered" }>["answer"],
): WorkerEvent {
  const sent = owed(state, now, "observed").find((one) => one.run === run);
  if (sent === undefined) throw new Error(`nothing of ${run} is to be told`);
  return { type: "observed_answered", sent, answer };
}

/** An order as an allocation answers it; empty if there are no attempts. */
export function orderIs(
  revision: number,
  attempts: AttemptOrder[],
): Extract<WorkerEvent, { type: "observed_answered" }>["answer"] {
  return { kind: "order", revision, attempts, logs: {} };
}

/** A worker whose machine was created, has enrolled and has passed its boot probe, all at `now`. */
export function ready(now = T0, more: Partial<CreateWorker> = {}): ExistingWorker {
  const host: WorkerEvent = { type: "enroll", secret: "whsec_1", bootId: "boot-1" };
  return at(nothing(), now, { type: "create", body: intent(more) }, created, host, report(1, BOOTED));
}

/** A ready worker that has taken these runs and sent its host the orders. */
export function holding(runs: string[], now = T0): ExistingWorker {
  return at(ready(now), now, ...runs.map((run) => order(run)), { type: "orders_sent" });
}

type Body<Kind extends WorkerMessage["kind"]> = Extract<WorkerMessage, { kind: Kind }>["body"];

/** The bodies of the messages of one kind that are due. */
export function owed<Kind extends WorkerMessage["kind"]>(
  state: WorkerState,
  now: number,
  kind: Kind,
): Body<Kind>[] {
  const calls = kind === "create" || kind === "destroy";
  const { record } = state;
  const then =
    calls && record !== null
      ? at(state, now, { type: "turn", body: { ...REF, version: record.version } })
      : state;
  const found = workerMachine.due(then, now).filter((message) => message.kind === kind);
  return found.map((message) => message.body as Body<Kind>); // the filter says which kind it is
}
