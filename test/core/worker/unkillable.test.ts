import { describe, expect, test } from "vitest";
import type { CreateWorker } from "../../../src/core/messages.ts";
import { Rows } from "../../../src/core/rows.ts";
import { type WorkerEventIn, workerMachine } from "../../../src/core/worker/machine.ts";
import { loadedWorker, type PlacementRow, type WorkerState } from "../../../src/core/worker/state.ts";
import type { AttemptReport, Report } from "../../../src/schema/host.ts";
import { MapDisk } from "../support/map-disk.ts";

const T0 = 1_700_000_000_000;
const RESOURCES = { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 };
const INTENT: CreateWorker = {
  worker: "w1",
  pool: "default",
  instanceType: "small",
  type: {
    providerType: "small",
    vcpus: 4,
    memory: 1_024,
    disk: 0,
    gpus: 0,
    price: 0,
  },
  provider: { kind: "http", url: "http://127.0.0.1:1", secret: "x" },
  image: "",
  notAfter: T0 + 60_000,
  settings: {
    probeIntervalMs: 10_000,
    bootCommand: "true",
    bootMs: 600_000,
    probeMs: 600_000,
    idleMs: 60_000,
    shutdownMs: 10_000,
    leaseMs: 1_800_000,
    maxRuns: 0,
  },
};

const CREATED: WorkerEventIn = {
  type: "create_answered",
  answer: {
    kind: "created",
    instance: {
      id: "i-1",
      name: "w1",
      address: null,
      state: "running",
      instanceType: "small",
      tags: {},
      createdAt: new Date(T0).toISOString(),
    },
  },
};

function tell(state: WorkerState, ...events: WorkerEventIn[]): WorkerState {
  return events.reduce((now, event) => workerMachine.apply(now, event, T0), state);
}

function report(seq: number, attempts: AttemptReport[]): WorkerEventIn {
  const body: Report = {
    incarnation: 1,
    seq,
    full: true,
    ordersSeen: 0,
    boot: { ok: true, output: "" },
    attempts,
  };
  return { type: "report", report: body };
}

function order(run: string): WorkerEventIn {
  const attempts = [{ id: `${run}/main/1.1`, want: "run" as const }];
  return { type: "order", order: { run, epoch: 1, revision: 1, attempts, resources: RESOURCES } };
}

/** A ready worker with these runs on it. */
function busy(...runs: string[]): WorkerState {
  const placements = new Rows<PlacementRow>(new MapDisk(), () => true);
  return tell(
    loadedWorker(null, placements, T0),
    { type: "create", intent: INTENT },
    CREATED,
    { type: "enroll", secret: "s", bootId: "b" },
    report(1, []),
    ...runs.map(order),
  );
}

const stuck = (error: string | null = "pid 7 lives"): AttemptReport => ({
  id: "stuck/main/1.1",
  state: "stopping",
  kill: { tries: 5, error, treeGone: false, by: "cgroup" },
});
const running: AttemptReport = { id: "other/main/1.1", state: "running" };

describe("a host that cannot kill (nomad.md §4.6, decisions.md: giving up drains the worker)", () => {
  test("makes its worker drain, which says why", () => {
    const { record } = tell(busy("stuck", "other"), report(2, [stuck(), running]));
    expect(record).toMatchObject({ idleBehavior: "drain", phase: "ready" });
    expect(record?.reason).toBe("unkillable: stuck/main/1.1: pid 7 lives");
    expect(record?.events.at(-1)?.type).toBe("Unkillable");
  });

  test("is not believed to before its fifth try", () => {
    expect(tell(busy("stuck"), report(2, [stuck(null)])).record?.idleBehavior).toBe("run");
  });

  test("takes no further run", () => {
    const state = tell(busy("stuck", "other"), report(2, [stuck(), running]), order("late"));
    expect(state.placements.get("late/1")?.end?.how).toBe("refused");
  });

  test("is destroyed when nothing else runs there: only that ends what it cannot kill", () => {
    const waiting = tell(busy("stuck", "other"), report(2, [stuck(), running]));
    expect(waiting.record?.phase).toBe("ready");
    const over = tell(waiting, report(3, [stuck(), { ...running, state: "exited" }]), {
      type: "observed_answered",
      sent: { run: "other", epoch: 1, worker: "w1", attempts: [] },
      answer: { kind: "no_such" },
    });
    expect(over.record?.phase).toBe("shutdown");
  });

  test("leaves an operator's hold as it is", () => {
    const held = tell(busy("stuck"), { type: "behavior", behavior: "hold", by: "me" });
    expect(tell(held, report(2, [stuck()])).record?.idleBehavior).toBe("hold");
  });
});
