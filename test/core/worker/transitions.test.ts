import { describe, expect, test } from "vitest";
import type { IdleBehavior } from "../../../src/core/messages.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { statusOf } from "../../../src/core/worker/read/status.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import {
  at,
  attemptOf,
  BOOTED,
  CONSISTENCY,
  created,
  exitedOf,
  holding,
  INSTANCE,
  intent,
  LEASE,
  MINUTE,
  nothing,
  observedAnswer,
  order,
  orderIs,
  owed,
  REF,
  ready,
  report,
  runningOf,
  T0,
} from "../support/worker.ts";

// The transition table of workers.md#transitions, row by row.
// Hosts push: a "failed probe" is a report that did not come, judged by when the last one arrived.

const BOOT = 10 * MINUTE;
const PROBE = 10 * MINUTE;
const SHUTDOWN = 10_000;

const tick: WorkerEvent = { type: "tick" };
const kill: WorkerEvent = { type: "kill", reason: "it smokes", by: "ann" };
const set = (behavior: IdleBehavior): WorkerEvent => ({ type: "behavior", behavior, by: "ann" });
const listing = (beganAt: number, instance?: Partial<Instance>): WorkerEvent => ({
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt,
    ...(instance === undefined ? {} : { instance: { ...INSTANCE, ...instance } }),
    consistencyMs: CONSISTENCY,
  },
});
const unkillable = (run: string): AttemptReport => ({
  id: attemptOf(run),
  state: "stopping",
  kill: { tries: 5, error: "process 7 does not go", treeGone: false, by: "processes" },
});
const failedBoot = { boot: { ok: false, output: "starting" } };

const asked = at(nothing(), T0, { type: "create", body: intent() });
const enrolled = at(asked, T0, created, { type: "enroll", secret: "whsec_1", bootId: "boot-1" });
const booting = at(enrolled, T0, report(1, failedBoot));
const orphan = at(nothing(), T0, {
  type: "create",
  body: intent({ adopt: { id: "i-9", address: null } }),
});
const idle = ready();
const running = holding(["a"]);
const exited = at(running, T0, report(2, { attempts: [exitedOf("a")] }));
const shownAs = (state: ExistingWorker, now = T0) => statusOf(state, now).state;

/** Silent since `T0`: that is seen when it is over, and acted on a margin later. */
const silentUntil = (state: ExistingWorker, over: number) =>
  at(at(state, over, tick), over + LEASE_MARGIN_MS, tick);

describe("the transition table (workers.md#transitions)", () => {
  test.each<[string, ExistingWorker, number, string, string | null]>([
    // rule, what it leads to, at, state shown, boot outcome
    [
      "workers.md#t1: booting, its boot probe succeeds",
      at(booting, T0, report(2, BOOTED)),
      0,
      "idle",
      "success",
    ],
    [
      "workers.md#t2: booting, the same, and it reports an attempt that no order knows",
      at(booting, T0, report(2, { ...BOOTED, attempts: [runningOf("x", 3)] })),
      0,
      "idle",
      "success",
    ],
    [
      "workers.md#t3: unknown, and a report says that its boot probe fails, but that runs are there",
      at(running, T0 + MINUTE, report(2, { ...failedBoot, attempts: [runningOf("a")] })),
      MINUTE,
      "running",
      "success",
    ],
    ["workers.md#t5: unknown, and nobody ever heard of its host", orphan, BOOT, "unknown", null],
    ["workers.md#t6: booting, its boot probe fails", booting, 0, "booting", null],
    [
      "workers.md#t7: booting, and it reports without a word on its boot",
      at(enrolled, T0, report(1)),
      0,
      "booting",
      null,
    ],
    ["workers.md#t8: booting for too long", at(booting, T0 + BOOT, tick), BOOT, "shutdown", "failure"],
    ["workers.md#t8: one moment less", at(booting, T0 + BOOT - 1, tick), BOOT - 1, "booting", null],
    ["workers.md#t8: held", at(at(booting, T0, set("hold")), T0 + BOOT, tick), BOOT, "booting", null],
    [
      "workers.md#t9: idle and silent",
      silentUntil(idle, T0 + PROBE),
      PROBE + LEASE_MARGIN_MS,
      "shutdown",
      "success",
    ],
    [
      "workers.md#t9: running and silent: not before the lease is over",
      silentUntil(running, T0 + PROBE),
      PROBE + LEASE_MARGIN_MS,
      "unknown",
      "success",
    ],
    [
      "workers.md#t9: running and silent, when it is",
      silentUntil(running, T0 + LEASE),
      LEASE + LEASE_MARGIN_MS,
      "shutdown",
      "success",
    ],
    [
      "workers.md#t9: held",
      silentUntil(at(idle, T0, set("hold")), T0 + PROBE),
      2 * PROBE,
      "unknown",
      "success",
    ],
    ["workers.md#t10: idle, a run is accepted", at(idle, T0, order("a")), 0, "running", "success"],
    [
      "workers.md#t12: running, its last run has ended",
      at(exited, T0, observedAnswer(exited, "a", T0, orderIs(1, []))),
      0,
      "idle",
      "success",
    ],
    ["workers.md#t13: idle, drained", at(idle, T0, set("drain")), 0, "shutdown", "success"],
    ["workers.md#t14: booting, drained", at(booting, T0, set("drain")), 0, "shutdown", "aborted"],
    [
      "workers.md#t15: running, drained, and its host has given up killing",
      at(running, T0, set("drain"), report(2, { attempts: [unkillable("a")] })),
      0,
      "shutdown",
      "success",
    ],
    ["workers.md#t15: running, drained", at(running, T0, set("drain")), 0, "running", "success"],
    [
      "workers.md#t16: unknown, when no lease of its host can be left",
      at(orphan, T0 + LEASE + LEASE_MARGIN_MS, tick),
      LEASE + LEASE_MARGIN_MS,
      "shutdown",
      "aborted",
    ],
    [
      "workers.md#t16: held",
      at(at(orphan, T0, set("hold")), T0 + LEASE + LEASE_MARGIN_MS, tick),
      LEASE + LEASE_MARGIN_MS,
      "unknown",
      null,
    ],
    [
      "workers.md#t17: booting, its pool has no use for it",
      at(booting, T0, { type: "drain_worker", body: REF }),
      0,
      "shutdown",
      "aborted",
    ],
    [
      "workers.md#t17: idle, its pool has no use for it",
      at(idle, T0, { type: "drain_worker", body: REF }),
      0,
      "shutdown",
      "success",
    ],
    ["workers.md#t18: booting, killed", at(booting, T0, kill), 0, "shutdown", "aborted"],
    ["workers.md#t18: unknown, killed", at(orphan, T0, kill), 0, "shutdown", "aborted"],
    [
      "workers.md#t18: running, held and killed",
      at(running, T0, set("hold"), kill),
      0,
      "shutdown",
      "success",
    ],
    [
      "workers.md#t20: booting, seen terminated",
      at(booting, T0, listing(T0, { state: "terminated" })),
      0,
      "gone",
      "disappeared",
    ],
    [
      "workers.md#t20: running, seen terminated",
      at(running, T0, listing(T0, { state: "terminated" })),
      0,
      "gone",
      "success",
    ],
    [
      "workers.md#t20: shutdown, seen terminated",
      at(booting, T0, kill, listing(T0, { state: "terminated" })),
      0,
      "gone",
      "aborted",
    ],
  ])("%s", (_rule, state, after, shown, outcome) => {
    expect([shownAs(state, T0 + after), statusOf(state, T0 + after).bootOutcome]).toEqual([shown, outcome]);
  });

  // workers.md#t2, workers.md#t11, workers.md#report-3
  test("a run that no order knows is shown to its allocation, which may take it up", () => {
    const reported = at(idle, T0, report(2, { attempts: [runningOf("x", 3)] }));
    expect(owed(reported, T0, "observed")).toMatchObject([{ run: "x", epoch: 3, held: false }]);
    expect(shownAs(at(reported, T0, order("x", { epoch: 3 })))).toBe("running");
  });

  // workers.md#t4, workers.md#report-4
  test("a report without the run that it was ordered to run says that it is gone", () => {
    const seen = at(running, T0, report(2, { attempts: [runningOf("a")] }));
    const missing = at(seen, T0 + MINUTE, report(3, { ...failedBoot, ordersSeen: 99 }));
    expect(owed(missing, T0 + MINUTE, "observed")).toMatchObject([
      { run: "a", attempts: [{ state: "gone" }] },
    ]);
  });

  test("workers.md#t13: after the idle time-out, with the pool's consent", () => {
    const late = T0 + MINUTE;
    const heard = at(idle, late, report(2));
    const [sent] = owed(heard, late, "worker");
    if (sent === undefined) throw new Error("it proposes nothing");
    const answer = { kind: "ok" as const, consent: true };
    expect(at(heard, late, { type: "worker_answered", sent, answer }).record.phase).toBe("shutdown");
  });

  test.each([
    ["one moment less: not yet", SHUTDOWN - 1, 0],
    ["it is asked again", SHUTDOWN, 1],
  ])("workers.md#t19: still listed so long after the destroy, %s", (_what, afterMs, calls) => {
    const asking = at(idle, T0, kill, { type: "destroy_answered", answer: { kind: "asked" } });
    const listed = at(asking, T0 + afterMs, listing(T0 + afterMs, {}));
    expect(owed(listed, T0 + afterMs, "destroy")).toHaveLength(calls);
    expect(listed.record.phase).toBe("shutdown");
  });

  test("workers.md#t9, workers.md#t20: what was on it is lost, and told, when that is certain (R2)", () => {
    const lost = silentUntil(running, T0 + LEASE);
    expect(livePlacements(lost)).toEqual([]);
    expect(owed(lost, T0 + 2 * LEASE, "ended")).toMatchObject([{ run: "a", how: "lost" }]);
  });
});
