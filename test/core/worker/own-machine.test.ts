import { describe, expect, test } from "vitest";
import type { IdleBehavior } from "../../../src/core/messages.ts";
import { ordersFor } from "../../../src/core/worker/host/report.ts";
import { behaviorOf } from "../../../src/core/worker/life/behavior.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { type ExistingWorker, livePlacements, ordersRevision } from "../../../src/core/worker/state.ts";
import type { AttemptReport, Report } from "../../../src/schema/host.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import {
  at,
  attemptOf,
  enrolledOwn,
  exitedOf,
  intent,
  invitation,
  LEASE,
  MINUTE,
  nothing,
  OWN_RESOURCES,
  order,
  owed,
  readyOwn,
  reloaded,
  report,
  runningOf,
  T0,
  TASK,
} from "../support/worker.ts";

// A self-hosted machine has no provider: listing, boot and idle time-outs do not apply to it. After the end
// of its lease it is `unknown` until its host joins again or an operator kills it
// (host-protocol.md#self-hosted-machines).

const DAY = 24 * 60 * MINUTE;
const invited = at(nothing(), T0, { type: "create", body: invitation() });
const tick: WorkerEvent = { type: "tick" };
const set = (behavior: IdleBehavior): WorkerEvent => ({ type: "behavior", behavior, by: "ann" });
const kill: WorkerEvent = { type: "kill", reason: "enough", by: "ann" };
const join = (id: string, bootId: string): WorkerEvent => ({ type: "join", id, signedAt: T0, bootId });

/** What the host says once it knows that it is to end. */
const farewell = (state: ExistingWorker, attempts: AttemptReport[] = []) =>
  report(9, { ordersSeen: ordersRevision(state), attempts });

describe("a self-hosted machine is born by an enrollment code", () => {
  test("nothing is asked of a provider, ever", () => {
    const states = [invited, enrolledOwn(), readyOwn(["a"]), at(readyOwn(["a"]), T0, kill)];
    for (const state of states) {
      expect(owed(state, T0, "create")).toEqual([]);
      expect(owed(state, T0, "destroy")).toEqual([]);
    }
  });

  test("it is shown booting, and waits as long as its code can be used", () => {
    expect(statusOf(invited, T0)).toMatchObject({ state: "booting", own: true, instanceType: "self-hosted" });
    expect(workerMachine.wakeAt(invited)).toBe(invitation().notAfter);
    expect(at(invited, invitation().notAfter - 1, tick).record.phase).toBe("booting");
  });

  test.each<[string, (state: ExistingWorker) => ExistingWorker]>([
    ["whose code expires unused", (state) => at(state, invitation().notAfter, tick)],
    ["whose code expires unused while it is held", (state) => at(at(state, T0, set("hold")), T0 + DAY, tick)],
    ["that is drained before anybody uses its code", (state) => at(state, T0, set("drain"))],
    ["that is killed before anybody uses its code", (state) => at(state, T0, kill)],
  ])("one %s is gone at once: there is nothing to wait for", (_what, end) => {
    expect(end(invited).record.phase).toBe("gone");
  });

  test("that comes too late is none", () => {
    const late = at(nothing(), T0, { type: "create", body: invitation({ notAfter: T0 }) });
    expect(late.record).toMatchObject({ phase: "gone", goneAt: T0 });
  });

  test("what it has is what its host has measured, in whole numbers", () => {
    expect(upsertOf(invited, T0).resources).toBeNull();
    const resources = { ...OWN_RESOURCES, vcpus: 7.9 };
    const state = at(invited, T0, { type: "enroll", secret: "s", bootId: "b", resources });
    expect(upsertOf(state, T0).resources).toEqual({ ...OWN_RESOURCES, vcpus: 7 });
    expect(state.record.version).toBeGreaterThan(invited.record.version);
  });

  test("a machine of a provider has what its type says, whatever its host measures", () => {
    const asked = at(nothing(), T0, { type: "create", body: intent() });
    const state = at(asked, T0, { type: "enroll", secret: "s", bootId: "b", resources: OWN_RESOURCES });
    expect(upsertOf(state, T0).resources).toBeNull();
    expect(statusOf(state, T0).resources.vcpus).toBe(4);
  });

  test("it is ready with its first report: nothing has to boot", () => {
    expect(enrolledOwn().record.phase).toBe("booting");
    expect(readyOwn().record).toMatchObject({ phase: "ready", readyAt: T0 });
  });

  test("once enrolled it has no boot time-out", () => {
    expect(at(enrolledOwn(), T0 + DAY, tick).record.phase).toBe("booting");
  });

  test.each([
    ["all that it has", OWN_RESOURCES.vcpus, "accepted"],
    ["more than it has", OWN_RESOURCES.vcpus + 1, "ended"],
  ])("a run that needs %s: %s", (_what, vcpus, kind) => {
    const wanted = order("a", { resources: { ...TASK.resources, vcpus } });
    expect(answerOrder(at(readyOwn(), T0, wanted), wanted.body).kind).toBe(kind);
  });
});

describe("it stays", () => {
  test("however long it is idle", () => {
    const state = at(readyOwn(), T0 + DAY, report(2), tick);
    expect(upsertOf(state, T0 + DAY)).toMatchObject({ phase: "ready", wantsStop: false });
  });

  test.each<[string, ExistingWorker, string]>([
    ["that is waited for", invited, "enrolls with its code"],
    ["that has enrolled", enrolledOwn(), "first report"],
    ["that is let go", at(readyOwn(), T0, kill), "until it does or its lease is over"],
  ])("of one %s it is said what happens next (invariant 5)", (_what, state, text) => {
    expect(whyOf(state, T0).next.action).toContain(text);
  });

  test("however long it is silent: it is unknown, and ready again when it reports", () => {
    const silent = at(readyOwn(), T0 + DAY, tick);
    expect(statusOf(silent, T0 + DAY).state).toBe("unknown");
    expect(whyOf(silent, T0 + DAY).next.action).toContain("report again");
    const back = at(silent, T0 + DAY, report(2));
    expect(statusOf(back, T0 + DAY).state).toBe("idle");
  });

  test("the pool hears of the silence, though nothing else happens (invariant 5)", () => {
    const wake = workerMachine.wakeAt(readyOwn()) ?? 0;
    const state = at(reloaded(readyOwn()), wake, tick);
    expect(owed(state, wake, "worker")).toMatchObject([{ phase: "unknown" }]);
  });

  test("its runs are lost after its lease and the margin (R4), not before, and it is unknown", () => {
    const over = T0 + LEASE;
    const seen = at(readyOwn(["a"]), over, tick);
    expect(livePlacements(at(seen, over + LEASE_MARGIN_MS - 1, tick))).toHaveLength(1);
    const lost = at(seen, over + LEASE_MARGIN_MS, tick);
    expect(owed(lost, over + LEASE_MARGIN_MS, "ended")).toMatchObject([{ run: "a", how: "lost" }]);
    expect(statusOf(lost, over + LEASE_MARGIN_MS).state).toBe("unknown");
  });

  test("after a reboot its host joins again, its runs are lost, and it is ready with the next report", () => {
    const state = at(readyOwn(["a"]), T0 + MINUTE, join("j", "boot-2"), report(1, { incarnation: 2 }));
    expect(statusOf(state, T0 + MINUTE)).toMatchObject({ state: "idle", incarnation: 2 });
    expect(owed(state, T0 + MINUTE, "ended")).toMatchObject([{ run: "a", how: "lost" }]);
  });

  test("an enrollment of an earlier boot that comes after its first report ends nothing (rule R2)", () => {
    const late: WorkerEvent = { type: "enroll", secret: "whsec_1", bootId: "boot-0" };
    const state = at(readyOwn(["a"]), T0 + MINUTE, late);
    expect(statusOf(state, T0 + MINUTE)).toMatchObject({ incarnation: 1 });
    expect(livePlacements(state)).toHaveLength(1);
  });

  test("no listing says anything of it", () => {
    const sighting = { worker: "default-s-1", beganAt: T0 + DAY, provider: intent().provider };
    const state = readyOwn();
    const event: WorkerEvent = { type: "sighting", body: { ...sighting, consistencyMs: 0 } };
    expect(at(state, T0, event, event).record.phase).toBe("ready");
  });
});

describe("it is let go", () => {
  const draining = at(readyOwn(), T0, set("drain"));

  test("by a drain, when its last run has ended: its agent is told to end", () => {
    expect(at(readyOwn(["a"]), T0, set("drain")).record.phase).toBe("ready");
    expect(draining.record).toMatchObject({ phase: "shutdown", reason: "set to drain by ann" });
    expect(ordersFor(draining, 1, T0)).toMatchObject({ powerOff: true, leaseMs: 0 });
  });

  test("the orders that say so are newer than all before, so a held answer comes at once", () => {
    expect(ordersRevision(draining)).toBeGreaterThan(ordersRevision(readyOwn()));
  });

  test("it is gone when its agent says that it knows, and that nothing is left", () => {
    expect(at(draining, T0, farewell(draining)).record).toMatchObject({ phase: "gone", goneAt: T0 });
  });

  test.each<[string, (state: ExistingWorker) => WorkerEvent]>([
    ["that does not know it yet", () => report(9)],
    ["that still runs something", (state) => farewell(state, [runningOf("a")])],
    ["that says nothing of its attempts", (state) => ({ ...farewell(state), ...delta(state) })],
  ])("it is not gone by the word of one %s", (_what, word) => {
    expect(at(draining, T0, word(draining)).record.phase).toBe("shutdown");
  });

  test("at once, when its last run is lost with the end of its lease", () => {
    const silent = at(readyOwn(["a"]), T0, set("drain"));
    const over = T0 + LEASE + LEASE_MARGIN_MS;
    expect(at(silent, over - 1, tick).record.phase).toBe("ready");
    expect(at(at(silent, T0 + LEASE, tick), over, tick).record).toMatchObject({
      phase: "gone",
      goneAt: over,
    });
  });

  test("else when its lease and the margin are over, whatever it says then", () => {
    const over = T0 + LEASE;
    const seen = at(draining, over, tick);
    const busy = farewell(seen, [runningOf("a")]);
    expect(at(seen, over + LEASE_MARGIN_MS - 1, busy).record.phase).toBe("shutdown");
    expect(at(seen, over + LEASE_MARGIN_MS, busy).record.phase).toBe("gone");
  });

  test("at once by a kill, if it has been silent beyond its lease", () => {
    const silent = at(at(readyOwn(), T0 + LEASE, tick), T0 + LEASE + LEASE_MARGIN_MS, tick);
    expect(at(silent, T0 + LEASE + LEASE_MARGIN_MS, kill).record.phase).toBe("gone");
  });

  test("its runs are lost by a kill, whatever they still do: nobody takes their death for an exit", () => {
    const killed = at(readyOwn(["a"]), T0, kill);
    const dying = at(killed, T0, farewell(killed, [{ id: attemptOf("a"), state: "stopping" }]));
    const dead = at(dying, T0, report(10, { ordersSeen: ordersRevision(killed), attempts: [exitedOf("a")] }));
    expect(owed(dying, T0, "observed")).toEqual([]);
    expect(dead.record.phase).toBe("gone");
    expect(owed(dead, T0, "ended")).toMatchObject([{ run: "a", how: "lost", held: true }]);
  });

  test("an agent that is started again hears it still", () => {
    const again = at(draining, T0, join("j", "boot-1"));
    expect(again.record).toMatchObject({ phase: "shutdown", incarnation: 2 });
    expect(ordersFor(again, 1, T0).powerOff).toBe(true);
  });

  test("when it is gone, no start of its agent counts", () => {
    const gone = at(draining, T0, farewell(draining));
    expect(at(gone, T0, join("j", "boot-2")).record).toBe(gone.record);
  });
});

function delta(state: ExistingWorker) {
  return report(9, { ordersSeen: ordersRevision(state), full: false });
}

describe("a self-hosted machine that is not fit (workers.md#unfit-hosts)", () => {
  const unfit = at(readyOwn(), T0, report(2, { broken: "the disk is full", full: true }));

  test("gets no runs, and neither ends nor is drained for good", () => {
    expect(unfit.record).toMatchObject({
      phase: "ready",
      idleBehavior: "run",
      reason: "its host drains: the disk is full",
    });
    expect(behaviorOf(unfit.record)).toBe("drain");
    expect(ordersFor(unfit, 2, T0).powerOff).not.toBe(true);
  });

  test.each<[string, Partial<Report>, "drain" | "run"]>([
    ["a full report without the fault", { full: true }, "run"],
    ["a delta, which does not mention it", { full: false }, "drain"],
    ["a full report with the fault", { full: true, broken: "the disk is full" }, "drain"],
  ])("after %s it is set to %s", (_what, said, behavior) => {
    expect(behaviorOf(at(unfit, T0 + 1, report(3, said)).record)).toBe(behavior);
  });

  test("says when it is fit again", () => {
    const { record } = at(unfit, T0 + 1, report(3, { full: true }));
    expect(record.events.map(({ type }) => type).slice(-2)).toEqual(["Broken", "Fit Again"]);
    expect(record.reason).toBe("ready");
  });
});
