import { describe, expect, it } from "vitest";
import type { CreateWorker } from "../../../src/core/messages.ts";
import type { ProviderFailure } from "../../../src/core/provider-answers.ts";
import { Rows } from "../../../src/core/rows.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import {
  isLivePlacement,
  loadedWorker,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
  type WorkerState,
} from "../../../src/core/worker/state.ts";
import { CREATE_STRAGGLER_MS, LEASE_MARGIN_MS, UNLISTED_MS } from "../../../src/shared/limits.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import { applied } from "../support/applied.ts";
import { MapDisk } from "../support/map-disk.ts";

const T0: Instant = Date.UTC(2026, 10, 21, 8, 30);
const SECOND = 1_000;
const MINUTE = 60_000;
const CONSISTENCY_MS = 10 * SECOND;

const INTENT: CreateWorker = {
  kind: "cloud",
  worker: "w1",
  pool: "default",
  instanceType: "small",
  type: { vcpus: 2, memory: "4GiB", disk: "20GiB", gpus: 0, price: 1 },
  zone: null,
  provider: { kind: "http", url: "http://cloud.test", secret: "secret" },
  image: "",
  tags: {},
  notAfter: T0 + 10 * MINUTE,
  settings: {
    probeIntervalMs: 10 * SECOND,
    bootCommand: "true",
    bootMs: 10 * MINUTE,
    probeMs: 10 * MINUTE,
    idleMs: MINUTE,
    shutdownMs: 10 * SECOND,
    leaseMs: 30 * MINUTE,
    maxRuns: 0,
    staleRunMs: 5 * SECOND,
    unlistedMs: 2 * MINUTE,
    maxKillMs: 60 * MINUTE,
  },
};

const rows = () => new Rows<PlacementRow>(new MapDisk(), isLivePlacement, TRACKED_OF_PLACEMENTS);

function asked(): WorkerState {
  return at(loadedWorker(null, rows()), T0, { type: "create", body: INTENT });
}

function at(state: WorkerState, now: Instant, ...events: WorkerEvent[]): WorkerState {
  return events.reduce((before, event) => applied(workerMachine, before, event, now), state);
}

function failed(failure: ProviderFailure): WorkerEvent {
  return { type: "create_answered", answer: { kind: "failed", failure } };
}

const created: WorkerEvent = {
  type: "create_answered",
  answer: {
    kind: "created",
    instance: {
      id: "i-1",
      name: "w1",
      address: null,
      state: "pending",
      instanceType: "small",
      tags: {},
      createdAt: "",
    },
  },
};

/** A complete listing without the machine. */
function missing(beganAt: Instant, missingSince: Instant): WorkerEvent {
  const { provider } = INTENT;
  const body = { worker: "w1", provider, beganAt, missingSince, consistencyMs: CONSISTENCY_MS };
  return { type: "sighting", body };
}

/** Two listings without it, as far apart as they must be to prove anything. */
function missingTwice(state: WorkerState, from: Instant): WorkerState {
  const second = from + CONSISTENCY_MS;
  return at(at(state, from, missing(from, from)), second, missing(second, from));
}

const calls = (state: WorkerState, now: Instant) =>
  workerMachine.due(state, now).flatMap(({ kind, to }) => (to === "provider" ? [kind] : []));

const told = (state: WorkerState, now: Instant) =>
  workerMachine.due(state, now).flatMap((message) => (message.kind === "worker" ? [message.body] : []));
const turnOf = (state: WorkerState): WorkerEvent => ({
  type: "turn",
  body: { worker: "w1", version: state.record?.version ?? 0 },
});

describe("P15: what has ended a worker stays its reason", () => {
  const classes: ProviderFailure["class"][] = ["temporary", "rate_limit", "invalid", "capacity"];

  it.each(classes)("also when the answer to its create comes after that: %s", (cls) => {
    const killed = at(asked(), T0, { type: "kill", reason: "not needed", by: "ann" });
    const late = at(killed, T0 + SECOND, failed({ class: cls, text: "503" }));
    expect(late.record).toMatchObject({ phase: "shutdown", reason: "killed by ann: not needed" });
    expect(late.record?.events.at(-1)).toMatchObject({ type: "Create Failed" });
  });

  it("and while it boots, the answer is its reason", () => {
    const state = at(asked(), T0, failed({ class: "temporary", text: "503" }));
    expect(state.record?.reason).toContain("503");
  });
});

describe("A4, P18: a create that failed is repeated when its pool says that it is this worker's turn", () => {
  const classes: ProviderFailure["class"][] = ["rate_limit", "temporary"];
  const pauses = classes.flatMap((cls) => [undefined, 40 * SECOND].map((ms) => [cls, ms] as const));

  it.each(pauses)("%s, with a pause of %s ms: not before, whatever time it is", (cls, retryAfterMs) => {
    const pause = retryAfterMs === undefined ? {} : { retryAfterMs };
    const state = at(asked(), T0, failed({ class: cls, text: "slow down", ...pause }));
    expect(calls(state, T0)).toEqual([]);
    const later = at(state, T0 + 5 * MINUTE, { type: "tick" });
    expect(calls(later, T0 + 5 * MINUTE)).toEqual([]);
    expect(calls(at(later, T0 + 5 * MINUTE, turnOf(later)), T0 + 5 * MINUTE)).toEqual(["create"]);
  });

  it("its pool is told that it waits, and of each call anew", () => {
    const first = at(asked(), T0, failed({ class: "temporary", text: "" }));
    expect(told(first, T0)).toMatchObject([{ waits: "create" }]);
    const called = at(first, T0 + SECOND, turnOf(first));
    expect(told(called, T0 + SECOND)).toMatchObject([{ waits: null }]);
    const again = at(called, T0 + 2 * SECOND, failed({ class: "temporary", text: "" }));
    expect(told(again, T0 + 2 * SECOND)).toMatchObject([{ waits: "create" }]);
    expect(told(again, T0)[0]?.version).toBeGreaterThan(told(first, T0)[0]?.version ?? 0);
  });

  it("a turn that comes late or twice lets nobody call again", () => {
    const first = at(asked(), T0, failed({ class: "temporary", text: "" }));
    const again = at(first, T0, turnOf(first), failed({ class: "temporary", text: "" }), turnOf(first));
    expect(calls(again, T0)).toEqual([]);
  });

  it("survives a restart: that it waits is stored, and said again", () => {
    const { record } = at(asked(), T0, failed({ class: "rate_limit", text: "", retryAfterMs: MINUTE }));
    const state = loadedWorker(record, rows());
    expect(calls(state, T0 + SECOND)).toEqual([]);
    expect(workerMachine.wakeAt(state)).toBe(T0 + MINUTE);
    expect(told(state, T0)).toMatchObject([{ waits: "create" }]);
  });

  it.each([
    ["create", asked()],
    ["destroy", at(asked(), T0, created, { type: "kill", reason: "enough", by: "ann" })],
  ])(
    "after a restart a %s whose answer is lost waits for another turn, in line with the others",
    (call, before) => {
      expect(calls(before, T0)).toEqual([call]);
      const state = at(loadedWorker(before.record, rows()), T0 + SECOND, { type: "tick" });
      expect([calls(state, T0 + SECOND), told(state, T0 + SECOND)[0]?.waits]).toEqual([[], call]);
      const late = at(state, T0 + SECOND, turnOf(before));
      expect(calls(late, T0 + SECOND)).toEqual([]);
      const again = at(state, T0 + SECOND, turnOf(state), { type: "tick" });
      expect(calls(again, T0 + SECOND)).toEqual([call]);
    },
  );

  it("an operator's word that changes nothing is no entry of the log, also right after a restart", () => {
    const run: WorkerEvent = { type: "behavior", behavior: "run", by: "ann" };
    expect(at(loadedWorker(asked().record, rows()), T0, run).record?.audit).toBeUndefined();
  });

  it("a pool that does not know it gives it no turn: it calls", () => {
    const state = at(asked(), T0, failed({ class: "temporary", text: "" }));
    const [sent] = told(state, T0);
    if (sent === undefined) throw new Error("nothing is told to the pool");
    const alone = at(state, T0, { type: "worker_answered", sent, answer: { kind: "no_such" } });
    expect(calls(alone, T0)).toEqual(["create"]);
  });

  it("one that waits for no turn calls without one", () => {
    const ended = at(asked(), T0, created, { type: "behavior", behavior: "drain", by: "ann" });
    if (ended.record === null) throw new Error("there is no worker");
    expect(calls({ ...ended, record: { ...ended.record, waits: false } }, T0)).toEqual(["destroy"]);
  });

  it("a destroy waits for its turn as well; one that its owner asked for by name does not", () => {
    const kill: WorkerEvent = { type: "kill", reason: "enough", by: "ann" };
    const ended = at(asked(), T0, created, { type: "behavior", behavior: "drain", by: "ann" });
    expect([calls(ended, T0), told(ended, T0)[0]?.waits]).toEqual([[], "destroy"]);
    expect(calls(at(ended, T0, turnOf(ended)), T0)).toEqual(["destroy"]);
    expect(calls(at(ended, T0, kill), T0)).toEqual(["destroy"]);
    expect(calls(at(asked(), T0, created, kill), T0)).toEqual(["destroy"]);
  });

  it("a pause beyond the time for which the order holds ends the worker in time", () => {
    const state = at(asked(), T0, failed({ class: "rate_limit", text: "", retryAfterMs: 60 * MINUTE }));
    expect(workerMachine.wakeAt(state)).toBe(INTENT.notAfter);
    const then = at(state, INTENT.notAfter, { type: "tick" });
    expect(then.record?.phase).toBe("shutdown");
    expect(calls(then, INTENT.notAfter)).toEqual([]);
  });
});

// decisions/workers.md#d4
describe("what a missing machine proves (rule R5, invariant 3, pool.md#sweep-row-2)", () => {
  const refused = failed({ class: "capacity", text: "none left" });

  it("after a plain refusal of the only call there was, two listings give the permit back", () => {
    const state = missingTwice(at(asked(), T0, refused), T0 + CONSISTENCY_MS);
    expect(state.record?.phase).toBe("gone");
  });

  it("a listing begun within the consistency window after the refusal does not count", () => {
    const state = missingTwice(at(asked(), T0, refused), T0 + CONSISTENCY_MS - 1);
    expect(state.record?.phase).toBe("shutdown");
  });

  it("not while a call without an answer may take effect", () => {
    const lost = failed({ class: "temporary", text: "connection reset" });
    const state = at(asked(), T0, lost, refused);
    expect(missingTwice(state, T0 + CREATE_STRAGGLER_MS).record?.phase).toBe("shutdown");
    expect(missingTwice(state, T0 + CREATE_STRAGGLER_MS + CONSISTENCY_MS).record?.phase).toBe("gone");
  });

  it("not while the call is under way during which the worker was killed", () => {
    const state = at(asked(), T0, { type: "kill", reason: "enough", by: "ann" });
    expect(missingTwice(state, T0 + CREATE_STRAGGLER_MS).record?.phase).toBe("shutdown");
    expect(missingTwice(state, T0 + CREATE_STRAGGLER_MS + CONSISTENCY_MS).record?.phase).toBe("gone");
  });

  it("not while a call of an earlier process may take effect", () => {
    const { record } = asked();
    const state = at(loadedWorker(record, rows()), T0, refused);
    expect(missingTwice(state, T0 + CONSISTENCY_MS).record?.phase).toBe("shutdown");
    expect(missingTwice(state, T0 + CREATE_STRAGGLER_MS + CONSISTENCY_MS).record?.phase).toBe("gone");
  });

  // decisions/workers.md#d4
  it("not of one that was made a moment ago and has not joined: listings may be late", () => {
    const state = at(asked(), T0, created);
    const before = missingTwice(state, T0 + UNLISTED_MS - CONSISTENCY_MS - 1);
    expect(before.record?.phase).toBe("booting");
    expect(missingTwice(before, T0 + UNLISTED_MS).record?.phase).toBe("gone");
  });

  it("not of one whose host holds a lease, however late the listing", () => {
    const state = at(asked(), T0, created, { type: "enroll", secret: "whsec_x", bootId: "b" });
    const record = state.record === null ? null : { ...state.record, leaseUntil: T0 + 30 * MINUTE };
    const leased = { ...state, record };
    const end = T0 + 30 * MINUTE + LEASE_MARGIN_MS;
    expect(missingTwice(leased, end - CONSISTENCY_MS - 1).record?.phase).not.toBe("gone");
    expect(missingTwice(leased, end).record?.phase).toBe("gone");
  });
});
