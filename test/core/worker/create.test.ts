import { describe, expect, it } from "vitest";
import { CREATE_STRAGGLER_MS, LEASE_MARGIN_MS, UNLISTED_MS } from "../../../src/core/limits.ts";
import type { Instant } from "../../../src/core/machine.ts";
import type { CreateWorker, ProviderFailure, Sighting } from "../../../src/core/messages.ts";
import { Rows } from "../../../src/core/rows.ts";
import { type WorkerEventIn, workerMachine } from "../../../src/core/worker/machine.ts";
import {
  isLivePlacement,
  loadedWorker,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
  type WorkerState,
} from "../../../src/core/worker/state.ts";
import { MapDisk } from "../support/map-disk.ts";

const T0: Instant = Date.UTC(2026, 10, 21, 8, 30);
const SECOND = 1_000;
const MINUTE = 60_000;
const CONSISTENCY_MS = 10 * SECOND;

const INTENT: CreateWorker = {
  worker: "w1",
  pool: "default",
  instanceType: "small",
  type: { vcpus: 2, memory: "4GiB", disk: "20GiB", gpus: 0, price: 1 },
  provider: { kind: "http", url: "http://cloud.test", secret: "secret" },
  image: "",
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
  },
};

const rows = () => new Rows<PlacementRow>(new MapDisk(), isLivePlacement, TRACKED_OF_PLACEMENTS);

function asked(): WorkerState {
  return at(loadedWorker(null, rows()), T0, { type: "create", intent: INTENT });
}

function at(state: WorkerState, now: Instant, ...events: WorkerEventIn[]): WorkerState {
  return events.reduce((before, event) => workerMachine.apply(before, event, now), state);
}

function failed(failure: ProviderFailure): WorkerEventIn {
  return { type: "create_answered", answer: { kind: "failed", failure } };
}

const created: WorkerEventIn = {
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
function missing(beganAt: Instant, missingSince: Instant): WorkerEventIn {
  const { provider } = INTENT;
  const sighting: Sighting = { worker: "w1", provider, beganAt, missingSince };
  return { type: "sighting", sighting, consistencyMs: CONSISTENCY_MS };
}

/** Two listings without it, as far apart as they must be to prove anything. */
function missingTwice(state: WorkerState, from: Instant): WorkerState {
  const second = from + CONSISTENCY_MS;
  return at(at(state, from, missing(from, from)), second, missing(second, from));
}

const calls = (state: WorkerState, now: Instant) =>
  workerMachine.due(state, now).flatMap(({ kind, to }) => (to === "provider" ? [kind] : []));

describe("a create that the provider puts off is not repeated before its time", () => {
  const classes: ProviderFailure["class"][] = ["rate_limit", "temporary"];
  it.each(classes)("%s with a time: asked again at that time, and not before", (cls) => {
    const retryAfterMs = 40 * SECOND;
    const state = at(asked(), T0, failed({ class: cls, text: "slow down", retryAfterMs }));
    expect(calls(state, T0)).toEqual([]);
    expect(workerMachine.wakeAt(state)).toBe(T0 + retryAfterMs);
    const early = at(state, T0 + retryAfterMs - 1, { type: "tick" });
    expect(calls(early, T0 + retryAfterMs - 1)).toEqual([]);
    const then = at(early, T0 + retryAfterMs, { type: "tick" });
    expect(calls(then, T0 + retryAfterMs)).toEqual(["create"]);
    expect(workerMachine.wakeAt(then)).toBe(INTENT.notAfter);
  });

  it("survives a restart: the pause is stored", () => {
    const { record } = at(asked(), T0, failed({ class: "rate_limit", text: "", retryAfterMs: MINUTE }));
    const state = loadedWorker(record, rows());
    expect(calls(state, T0 + SECOND)).toEqual([]);
    expect(workerMachine.wakeAt(state)).toBe(T0 + MINUTE);
  });

  it.each(classes)("%s without a time is left to the back-off of messages (rule R7)", (cls) => {
    expect(calls(at(asked(), T0, failed({ class: cls, text: "" })), T0)).toEqual(["create"]);
  });

  it("a pause beyond the time for which the order holds ends the worker in time", () => {
    const state = at(asked(), T0, failed({ class: "rate_limit", text: "", retryAfterMs: 60 * MINUTE }));
    expect(workerMachine.wakeAt(state)).toBe(INTENT.notAfter);
    const then = at(state, INTENT.notAfter, { type: "tick" });
    expect(then.record?.phase).toBe("shutdown");
    expect(calls(then, INTENT.notAfter)).toEqual([]);
  });
});

describe("what a missing machine proves (rule R5, invariant 3, D4, arvados.md §2.7 row 2)", () => {
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

  it("not of one that was made a moment ago and has not joined: listings may be late (D4)", () => {
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
