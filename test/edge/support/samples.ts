import type { WebhookRef } from "../../../src/objects/registry/webhook-calls.ts";
import type { HostSetup } from "../../../src/schema/host.ts";
import type { WorkerConsole } from "../../../src/schema/pool/console.ts";
import { ListedWorker, type PoolView, type WorkerStatus, WorkerSummary } from "../../../src/schema/pool.ts";
import { type RunEvent, RunSpec, RunStatus, type RunSummary } from "../../../src/schema/run/run.ts";
import type { Delivery, Webhook } from "../../../src/schema/webhook/webhook.ts";
import { poolConfig } from "../../core/support/pool-config.ts";
import { httpOf } from "../../support/provider.ts";

const AT = "2026-11-21T08:30:00.000Z";
const SPEC = RunSpec.parse({ argv: ["true"] });
const CONFIG = poolConfig();

/** A run that was just submitted to the pool `default`. */
export function statusOf(id: string): RunStatus {
  return {
    id,
    state: "pending",
    allocStatus: "pending",
    specIndex: 1,
    version: 1,
    spec: SPEC,
    project: "default",
    pool: "default",
    labels: {},
    exitCode: null,
    signal: null,
    failure: null,
    abort: null,
    description: "",
    stdoutRef: null,
    stderrRef: null,
    submittedAt: AT,
    placedAt: null,
    startedAt: null,
    finishedAt: null,
    placements: [],
    tasks: [],
  };
}

/** A test's changes to a run: any field, whatever its state. */
export type RunPatch = { [Field in keyof RunStatus]?: RunStatus[Field] };

interface Checks {
  safeParse(value: unknown): { success: boolean };
}

/** The fields that a state must have, where a test does not care about their values. */
const USUAL: RunPatch = {
  startedAt: AT,
  finishedAt: AT,
  failure: { class: "infrastructure", code: "machine_lost", text: "it is gone" },
  abort: { reason: "", by: "test" },
};

/**
 * A run after a change. A field that the change does not name stays, if the new state can have it; else it
 * gets the usual value of that state. A field that the new state cannot have is a mistake of the test.
 */
export function changed(run: RunStatus, patch: RunPatch): RunStatus {
  const { state } = { ...run, ...patch };
  const shape = RunStatus.options.find((option) => option.shape.state.value === state)?.shape ?? {};
  const fields = Object.entries<Checks>(shape).map(([name, field]) => {
    const fits = (value: unknown) => field.safeParse(value).success;
    const [said, before, usual] = [patch, run, USUAL].map((source): unknown => Reflect.get(source, name));
    if (said === undefined) return [name, [before, usual, null].find(fits)];
    if (fits(said)) return [name, said];
    throw new Error(`A run that is ${state} cannot have this ${name}: ${JSON.stringify(said)}`);
  });
  return RunStatus.parse(Object.fromEntries(fields));
}

/** A run as it appears in a pool's list. */
export function summaryOf(status: RunStatus): RunSummary {
  const { id, state, version, project, pool, labels, exitCode, submittedAt, startedAt, finishedAt } = status;
  const { array } = status.spec;
  const rest = { priority: 50, command: "true", worker: null, ...(array === undefined ? {} : { array }) };
  return { id, state, version, project, pool, labels, exitCode, submittedAt, startedAt, finishedAt, ...rest };
}

export function eventOf(seq: number): RunEvent {
  return { seq, type: "Received", at: AT, task: "main", message: `event ${seq}`, details: {} };
}

export function poolViewOf(name: string): PoolView {
  return {
    name,
    config: { ...CONFIG, provider: { kind: "http", url: httpOf(CONFIG).url } },
    queue: { depth: 0, oldestAgeMs: null },
    runs: { pending: 0, running: 0 },
    workers: {},
    holdOffs: [],
    cloudError: null,
  };
}

export function workerOf(id: string, pool: string): WorkerStatus {
  return {
    id,
    pool,
    state: "idle",
    idleBehavior: "run",
    instanceType: "small",
    providerType: "cx22",
    own: false,
    instance: "i-1",
    address: null,
    price: 0,
    resources: { vcpus: 4, memoryBytes: 1, diskBytes: 1, gpus: 0 },
    runs: [],
    askedAt: AT,
    readyAt: AT,
    idleSince: AT,
    lastRun: { run: "r-1", endedAt: AT },
    reason: "it has nothing to do",
    version: 1,
    bootOutcome: "success",
    notice: null,
    stale: [],
    prices: [],
    bootProbe: null,
    createdAt: AT,
    joinedAt: AT,
    lastReportAt: AT,
    leaseUntil: AT,
    incarnation: 1,
    ordersRevision: 1,
    orders: [],
    events: [],
  };
}

/** The console of a worker's machine. */
export function consoleOf(worker: string): WorkerConsole {
  return { worker, readAt: AT, updatedAt: null, truncated: false, text: `console of ${worker}\n` };
}

/** A worker as it appears in the events of its pool. */
export function workerSummaryOf(id: string, pool: string): WorkerSummary {
  return WorkerSummary.parse({ ...workerOf(id, pool), project: "default" });
}

/** A worker as it appears in a pool's list. */
export function listedWorkerOf(id: string, pool: string): ListedWorker {
  return ListedWorker.parse({ ...workerOf(id, pool), project: "default" });
}

export function setupOf(worker: string): HostSetup {
  return {
    worker,
    incarnation: 1,
    reportUrl: `http://127.0.0.1:1/v1/hosts/${worker}/reports`,
    probe: { intervalMs: 10_000, boot: "true" },
    leaseMs: 1_800_000,
    agent: { version: "1", sha256: "" },
  };
}

/** The smallest valid configuration of a pool. */
export const POOL_CONFIG = {
  provider: { kind: "http", url: "http://127.0.0.1:1", secret: "shh" },
  instanceTypes: { small: { vcpus: 2, memory: "2GiB" } },
};

/** The request with which a host enrolls. */
export const ENROLL_REQUEST = {
  salt: Buffer.alloc(32, 7).toString("base64"),
  agent: { version: "1", os: "linux", arch: "x64" },
  bootId: "boot-1",
  resources: { vcpus: 4, memoryBytes: 1, diskBytes: 1, gpus: 0 },
};

/** An endpoint that nothing was sent to. */
export function webhookSample({ id, name, project, fields }: WebhookRef): Webhook {
  return {
    id,
    name,
    project,
    ...fields,
    pools: fields.pools ?? null,
    state: "active",
    disabled: null,
    failing: null,
    unsigned: null,
    unknown: null,
    pausedUntil: null,
    waiting: 0,
    behind: [],
    gap: null,
    createdAt: AT,
    createdBy: "admin",
    oldSecretUntil: null,
  };
}

/** A delivery of a test event. */
export function deliverySample(id: string): Delivery {
  const last = { at: AT, status: 200, durationMs: 12, problem: null, answer: null };
  return {
    id: `msg_${id}_1`,
    type: "webhook.test",
    run: null,
    pool: null,
    state: "delivered",
    tries: 1,
    createdAt: AT,
    nextAt: null,
    last,
  };
}
