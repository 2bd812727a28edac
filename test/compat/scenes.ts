// What does Drover store and say? Scenes that hold each kind of it, for a release to record
// (compat.md#recorded).
import { type AttemptJournal, journalOf, leaseOf } from "../../agent/core/journal.ts";
import type { LeaseJournal } from "../../agent/core/lease.ts";
import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import { upsertOf } from "../../src/core/allocation/summary.ts";
import type { PoolRecord, RunRow, WorkerRow } from "../../src/core/pool/record.ts";
import type { Configured } from "../../src/core/pool/state.ts";
import { registryMachine } from "../../src/core/registry/machine.ts";
import type { RegistryRecord } from "../../src/core/registry/pools.ts";
import { ordersFor } from "../../src/core/worker/host/report.ts";
import type { ExistingWorker, PlacementRow, WorkerRecord } from "../../src/core/worker/state.ts";
import { Container } from "../../src/schema/run/container.ts";
import { busyHost, EXIT, ID, idleHost, run as runOrder } from "../agent/core/drive.ts";
import * as runs from "../core/support/allocation.ts";
import { GroupStory, poststop, prestart, task } from "../core/support/group.ts";
import * as pools from "../core/support/pool.ts";
import { poolConfig } from "../core/support/pool-config.ts";
import { registryOf } from "../core/support/registry.ts";
import * as workers from "../core/support/worker.ts";

/** When every scene plays. */
export const NOW = runs.T0;

export interface StoredWorker {
  record: WorkerRecord;
  placements: PlacementRow[];
}

export interface StoredPool {
  record: PoolRecord;
  runs: RunRow[];
  workers: WorkerRow[];
}

export interface StoredHost {
  attempts: Record<string, AttemptJournal>;
  lease: LeaseJournal | undefined;
}

const MEANS = { kill: "cgroup" as const, limits: ["memory" as const], protocol: 1 };
const FAULT = "podman: nobody answers";
const ENGINE = { name: "podman", version: "4.3.1", api: "1.41", logs: "exact" as const };
const CONTAINING = { ...MEANS, protocol: 2, engine: { ...ENGINE, state: "down" as const, fault: FAULT } };
/** A container that says something in each field. */
const CONTAINER = {
  image: "node:24",
  auth: "registry",
  user: "task",
  hosts: { db: "10.0.0.2" },
  network: "host" as const,
  binds: [{ source: "/srv/data", target: "/data" }],
  tmpfs: { "/scratch": "1GiB" },
  ulimits: { nofile: { soft: 1_024, hard: 4_096 } },
  addCapabilities: ["NET_ADMIN"],
  devices: ["/dev/fuse"],
  privileged: true,
};

function runScenes(): Record<string, AllocationRecord> {
  const log = { stdout: { from: 0, size: 3, data: "YWJj", stamps: [3, 20] }, stderr: { from: 0, size: 0 } };
  const peaks = { memoryBytes: 9_000, cacheBytes: 1_000, cpuMs: 120, cpus: 0.5, diskBytes: 4_096 };
  const wrote = { ...runs.exited({ code: 3 }), log, peaks };
  const again = { restart: { attempts: 2, delay: "10s" } };
  const story = new GroupStory({
    tasks: [task("setup", prestart), task("m", again), task("n"), task("bye", poststop)],
    timeout: "1h",
    sticky: true,
  });
  story.ends("setup").ends("m", { code: 1 });
  const moved = runs.runAt(runs.started({ reschedule: { attempts: 1 } }), NOW, runs.ended("lost"));
  return {
    queued: runs.queued({ labels: { team: "x" }, queueTimeout: "1h" }).record,
    running: runs.started({ timeout: "1h", killTimeout: "7s" }).record,
    "wrote and ended": runs.runAt(runs.started(), NOW, runs.observed([wrote], { protocol: 1 })).record,
    group: story.run.record,
    kept: runs.runAt(runs.started({ keep: "1h" }), NOW, runs.observed([runs.exited({ code: 3 })])).record,
    "to be aborted": runs.runAt(runs.started(), NOW, runs.abort()).record,
    "lost its machine": moved.record,
    "in a container": runs.started({ container: CONTAINER }).record,
  };
}

const storedWorker = ({ record, placements }: ExistingWorker): StoredWorker => ({
  record,
  placements: [...placements.live()],
});

function workerScenes(): Record<string, StoredWorker> {
  const failure = { class: "capacity" as const, text: "none left" };
  const asked = workers.at(workers.nothing(), NOW, { type: "create", body: workers.intent() });
  const holding = workers.at(
    workers.holding(["a", "b"]),
    NOW,
    workers.report(2, { means: MEANS, clock: 1_000, attempts: [workers.runningOf("a")] }),
    { type: "join", id: "start-0123456789", signedAt: NOW, bootId: "boot-1" },
  );
  const ending = workers.at(holding, NOW, { type: "kill", reason: "enough", by: "ann" });
  return {
    asked: storedWorker(asked),
    "not made": storedWorker(
      workers.at(asked, NOW, { type: "create_answered", answer: { kind: "failed", failure } }),
    ),
    holding: storedWorker(holding),
    notice: storedWorker(
      workers.at(holding, NOW, workers.report(1, { incarnation: 2, draining: "it goes" })),
    ),
    ending: storedWorker(workers.at(ending, NOW, { type: "destroy_answered", answer: { kind: "asked" } })),
    own: storedWorker(workers.readyOwn(["a"])),
    "its engine is down": storedWorker(
      workers.at(workers.ready(), NOW, workers.report(2, { means: CONTAINING })),
    ),
  };
}

const storedPool = ({ record, ...tables }: Configured): StoredPool => ({
  record,
  runs: [...tables.runs.live()],
  workers: [...tables.workers.live()],
});

function poolScenes(): Record<string, StoredPool> {
  const failure = { class: "quota" as const, text: "no more", at: NOW };
  const state = pools.at(
    pools.configured({ maxInstances: 3 }, [], [pools.workerRow("w1"), pools.workerRow("w2", "booting")]),
    NOW,
    pools.run("a", { labels: { team: "x" } }),
    pools.run("b", { resources: { ...pools.NEED, vcpus: 4 } }),
    pools.workerSays("w2", { phase: "gone", instance: null, bootOutcome: null, readyAt: null, failure }),
    pools.workerSays("w1", { version: 3, phase: "shutdown" }),
  );
  const allowContainers = { binds: ["/srv"], hostNetwork: true };
  const contained = pools.at(
    pools.configured({ allowContainers }, [], [pools.workerRow("w1", "booting")]),
    NOW,
    pools.run("a", { containers: { binds: ["/srv/data"], hostNetwork: true }, protocol: 2 }),
    pools.workerSays("w1", { noEngine: { why: FAULT, lasts: true } }),
  );
  return {
    containers: storedPool(contained),
    busy: storedPool(state),
    empty: storedPool(pools.configured()),
  };
}

function hostScenes(): Record<string, StoredHost> {
  const scene = ({ state }: ReturnType<typeof idleHost>): StoredHost => ({
    attempts: Object.fromEntries(Object.entries(state.attempts).map(([id, one]) => [id, journalOf(one)])),
    lease: leaseOf(state),
  });
  return {
    idle: scene(idleHost()),
    busy: scene(busyHost({ timeoutMs: 60_000 })),
    keeping: scene(
      busyHost({ task: { keep: true } })
        .tell({ type: "exited", id: ID, exit: { ...EXIT, code: 3 } })
        .tell({ type: "tree_gone", id: ID, killed: false }),
    ),
    containing: scene(busyHost({ task: { container: Container.parse(CONTAINER) } })),
    preparing: scene(
      idleHost().order([runOrder("build-17/main/1.1", { task: { snapshot: "a".repeat(64) } })]),
    ),
  };
}

function registryScene(): RegistryRecord | null {
  const put = { type: "put" as const, pool: "default", config: poolConfig(), seed: "s", by: "admin" };
  const provider = { ...put.config.provider, secret: { secret: "cloud", project: "default" } };
  const named = { ...put, pool: "named", config: { ...put.config, provider } };
  return [put, named].reduce((state, event) => registryMachine.apply(state, event, NOW), registryOf(null))
    .record;
}

/** What objects store, and a host's journal. */
export function storedNow() {
  return {
    runs: runScenes(),
    workers: workerScenes(),
    pools: poolScenes(),
    hosts: hostScenes(),
    registry: registryScene(),
  };
}

/** What hosts and objects say to each other. */
export function saidNow() {
  const holding = workers.at(
    workers.holding([runs.RUN]),
    NOW,
    workers.report(2, { means: MEANS, attempts: [{ ...workers.runningOf(runs.RUN), startedAgoMs: 0 }] }),
  );
  const start = { id: "start-0123456789", signedAt: NOW };
  const lost = workers.at(holding, NOW, { type: "join", ...start, bootId: "boot-2" });
  const placed = runs.runAt(runs.nothing(), NOW, runs.submit(), runs.pool(1, runs.placedOn()));
  const { setup } = idleHost().state;
  return {
    run: upsertOf(runs.queued()),
    contained: upsertOf(runs.queued({ container: CONTAINER })),
    order: runs.owed(placed, NOW).order,
    observed: workers.owed(holding, NOW, "observed")[0],
    ended: workers.owed(lost, NOW, "ended")[0],
    worker: workers.owed(holding, NOW, "worker")[0],
    create: pools.owed(pools.at(pools.configured(), NOW, pools.run("a")), NOW, "create")[0]?.body,
    report: { ...busyHost().pass(60_000).send().report, means: CONTAINING },
    orders: ordersFor(holding, 2, NOW),
    setup,
    enroll: {
      salt: `${"A".repeat(43)}=`,
      agent: { version: "0.1.0", os: "linux", arch: "x64" },
      bootId: "boot-1",
      resources: workers.OWN_RESOURCES,
    },
    join: { start: "start-0123456789", bootId: "boot-1" },
  };
}
