import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ObservedAnswer } from "../../../src/core/messages.ts";
import { ordersFor, verdictOn } from "../../../src/core/worker/host/report.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import { statusOf } from "../../../src/core/worker/read/status.ts";
import {
  type ExistingWorker,
  livePlacements,
  ordersRevision,
  undeliveredPlacements,
  type WorkerState,
} from "../../../src/core/worker/state.ts";
import { WorkerStatus } from "../../../src/schema/pool.ts";
import { placementKey } from "../../../src/shared/attempt-id.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import { lieOfWorker } from "../support/truth-of-workers.ts";
import {
  at,
  attemptOf,
  created,
  INSTANCE,
  intent,
  nothing,
  order,
  REF,
  reloaded,
  report,
  stopOf,
  T0,
  TASK,
} from "../support/worker.ts";

/** What each run needs: two of `b` fit, and `c` fits beside `a` alone. */
const VCPUS = { a: 1, b: 2, c: 3 };
const run = fc.constantFrom("a", "b", "c");
const small = intent({ settings: { ...intent().settings, leaseMs: 120_000, probeMs: 300_000, maxRuns: 2 } });

/** What the two sides of the worker say; answers are taken to whatever is due in that moment. */
type Step =
  | { kind: "event"; event: WorkerEvent }
  | { kind: "answer"; empty: boolean; consent: boolean }
  | { kind: "restart" };

const attempts = fc.uniqueArray(
  fc.record({ id: run.map((one) => attemptOf(one)), state: fc.constantFrom("running", "exited", "gone") }),
  { selector: (one) => one.id, maxLength: 3 },
);

const reports = fc
  .record({
    incarnation: fc.constantFrom(1, 1, 1, 2),
    seq: fc.integer({ min: 1, max: 60 }),
    full: fc.boolean(),
    ordersSeen: fc.nat(12),
    attempts,
    ok: fc.boolean(),
  })
  .map(({ seq, ok, ...more }) => report(seq, { ...more, boot: { ok, output: "" } }));

const sighting = fc
  .record({
    back: fc.nat(100_000),
    state: fc.constantFrom("omitted", "running", "terminated"),
    since: fc.nat(400_000),
  })
  .map(({ back, state, since }): ((now: number) => WorkerEvent) => {
    return (now) => ({
      type: "sighting",
      body: {
        worker: "default-s-1",
        provider: intent().provider,
        beganAt: now - back,
        ...(state === "omitted"
          ? { missingSince: now - back - since }
          : { instance: { ...INSTANCE, state: state as "running" | "terminated" } }),
        consistencyMs: 10_000,
      },
    });
  });

const event: fc.Arbitrary<(now: number) => Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        one: run,
        epoch: fc.constantFrom(1, 2),
        revision: fc.integer({ min: 1, max: 3 }),
        stop: fc.boolean(),
      })
      .map(({ one, epoch, revision, stop }) =>
        told(
          order(one, {
            epoch,
            revision,
            resources: { ...TASK.resources, vcpus: VCPUS[one] },
            ...(stop ? { attempts: stopOf(one) } : {}),
          }),
        ),
      ),
  },
  { weight: 4, arbitrary: reports.map(told) },
  {
    weight: 3,
    arbitrary: fc
      .record({ empty: fc.boolean(), consent: fc.boolean() })
      .map((one) => (): Step => ({ kind: "answer", ...one })),
  },
  fc
    .constantFrom<WorkerEvent[]>(
      [{ type: "tick" }],
      [{ type: "poke_worker", body: REF }],
      [{ type: "orders_sent" }],
      [{ type: "create", body: small }],
      [created],
      [{ type: "enroll", secret: "s", bootId: "boot-1" }],
      [{ type: "join", id: "j1", signedAt: T0, bootId: "boot-1" }],
      [{ type: "join", id: "j2", signedAt: T0, bootId: "boot-2" }],
      [{ type: "behavior", behavior: "drain", by: "ann" }],
      [{ type: "behavior", behavior: "run", by: "ann" }],
      [{ type: "destroy_answered", answer: { kind: "asked" } }],
    )
    .map(([one]) => told(one ?? { type: "tick" })),
  {
    weight: 2,
    arbitrary: sighting.map(
      (make) =>
        (now: number): Step => ({ kind: "event", event: make(now) }),
    ),
  },
  fc.constant((): Step => ({ kind: "restart" })),
);

function told(one: WorkerEvent): () => Step {
  return () => ({ kind: "event", event: one });
}

/** The answers to all that is due, as allocations and pools could give them. */
function answers(state: ExistingWorker, now: number, empty: boolean, consent: boolean): WorkerEvent[] {
  return workerMachine.due(state, now).flatMap((message): WorkerEvent[] => {
    if (message.kind === "worker")
      return [{ type: "worker_answered", sent: message.body, answer: { kind: "ok", consent } }];
    if (message.kind === "ended")
      return [{ type: "ended_answered", sent: message.body, answer: { kind: "noted" } }];
    if (message.kind !== "observed") return [];
    const wanted = empty ? [] : message.body.attempts.map(({ id }) => ({ id, want: "run" as const }));
    const answer: ObservedAnswer = { kind: "order", revision: 1, attempts: wanted, logs: {} };
    return [{ type: "observed_answered", sent: message.body, answer }];
  });
}

type Look = (before: ExistingWorker, after: ExistingWorker, step: Step, now: number) => void;

function play(steps: [(now: number) => Step, number][], look: Look): void {
  const first: WorkerEvent[] = [
    { type: "create", body: small },
    created,
    { type: "enroll", secret: "s", bootId: "boot-1" },
  ];
  let state = at(nothing(), T0, ...first, report(1, { boot: { ok: true, output: "" } }));
  let now = T0;
  for (const [make, ms] of steps) {
    now += ms;
    const step = make(now);
    const after = next(state, step, now);
    look(state, after, step, now);
    state = after;
  }
}

function next(state: ExistingWorker, step: Step, now: number): ExistingWorker {
  if (step.kind === "restart") return reloaded(state);
  if (step.kind === "event") return at(state, now, step.event);
  return at(state, now, ...answers(state, now, step.empty, step.consent));
}

const holds = (look: Look) =>
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.nat(40_000)), { maxLength: 40 }), (steps) => play(steps, look)),
    { numRuns: 300 },
  );

const live = (state: WorkerState) => livePlacements(state).map((row) => `${row.run}/${row.epoch}`);

describe("whatever happens, in whatever order", () => {
  test("an ended placement never lives again (R2)", () => {
    const ended = new Set<string>();
    let before: ExistingWorker | undefined;
    holds((state, after) => {
      if (state !== before) ended.clear();
      for (const key of live(state)) if (!live(after).includes(key)) ended.add(key);
      for (const key of live(after)) expect(ended.has(key)).toBe(false);
      before = after;
    });
  });

  test("the revision of the orders only grows, and the same one never says something else (R1)", () => {
    holds((before, after, _step, now) => {
      expect(ordersRevision(after)).toBeGreaterThanOrEqual(ordersRevision(before));
      if (ordersRevision(after) !== ordersRevision(before)) return;
      // What is merely kept until its allocation was asked is no order of ours.
      const orders = (state: ExistingWorker) =>
        ordersFor({ ...state, memo: { ...state.memo, reported: {} } }, 1, now).attempts;
      expect(orders(after)).toEqual(orders(before));
    });
  });

  test("the lease only grows, and only by a fresh report (R4)", () => {
    holds((before, after, step, now) => {
      const { leaseUntil } = before.record;
      expect(after.record.leaseUntil).toBeGreaterThanOrEqual(leaseUntil);
      if (after.record.leaseUntil === leaseUntil) return;
      expect(
        step.kind === "event" && step.event.type === "report" && verdictOn(before, step.event.report),
      ).toBe("fresh");
      expect(after.record.leaseUntil).toBe(now + small.settings.leaseMs);
    });
  });

  test("nothing is lost by time within the lease, or within a minute of seeing that it is over (R4)", () => {
    holds((before, after, step, now) => {
      const byTime =
        step.kind === "event" && (step.event.type === "tick" || step.event.type === "poke_worker");
      const seen = before.record.overdueSince ?? Number.POSITIVE_INFINITY;
      const mayLive = Math.max(before.record.leaseUntil, seen) + LEASE_MARGIN_MS;
      // What the host was never told is not there: it may go as soon as the host is silent.
      const untold = new Set(undeliveredPlacements(before).map((row) => placementKey(row.run, row.epoch)));
      const told = (of: ExistingWorker) => live(of).filter((key) => !untold.has(key));
      if (byTime && now < mayLive) expect(told(after)).toEqual(told(before));
    });
  });

  test("a worker does not stop by itself while a live lease says that a run is on it (invariant 4)", () => {
    holds((before, after, step, now) => {
      const stops = before.record.phase === "ready" && after.record.phase === "shutdown";
      if (!stops || step.kind === "restart") return;
      expect(live(after)).toEqual([]);
      if (live(before).length > 0 && step.kind === "event" && step.event.type === "tick") {
        expect(now).toBeGreaterThanOrEqual(before.record.leaseUntil + LEASE_MARGIN_MS);
      }
    });
  });

  test("it leaves the ledger only by observation, and comes back only to be destroyed (invariant 3)", () => {
    holds((before, after, step) => {
      const [was, is] = [before.record.phase, after.record.phase];
      if (was === "gone") expect(["gone", "shutdown"]).toContain(is);
      if (is !== "gone" || was === "gone") return;
      expect(step.kind === "event" && step.event.type).toBe("sighting");
    });
  });

  test("what is on it always fits, and is never more than it may have (invariant 9)", () => {
    holds((_before, after) => {
      const rows = livePlacements(after);
      expect(rows.length).toBeLessThanOrEqual(small.settings.maxRuns);
      const vcpus = rows.reduce((sum, row) => sum + (row.order?.resources.vcpus ?? 0), 0);
      expect(vcpus).toBeLessThanOrEqual(small.type.vcpus);
    });
  });

  test("an order's answer is what the worker holds, and the same order again changes nothing (R6)", () => {
    holds((_before, after, _step, now) => {
      const one = order("a", { epoch: 1 });
      const once = at(after, now, one);
      expect(["accepted", "ended"]).toContain(answerOrder(once, one.body).kind);
      expect(live(at(once, now, one))).toEqual(live(once));
      expect(ordersRevision(at(once, now, one))).toBe(ordersRevision(once));
    });
  });

  test("it can show itself and say why it waits (invariant 5)", () => {
    holds((_before, after, _step, now) => {
      expect(WorkerStatus.safeParse(statusOf(after, now)).error).toBeUndefined();
      expect(
        lieOfWorker(after, (one) => at(one, now), now),
        "A6: what it says happens",
      ).toBeUndefined();
    });
  });
});
