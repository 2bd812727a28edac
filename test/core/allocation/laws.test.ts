import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadedAllocation } from "../../../src/core/allocation/load.ts";
import { type AllocationEvent, allocationMachine } from "../../../src/core/allocation/machine.ts";
import { phaseOf, stateOf } from "../../../src/core/allocation/phase.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import { type AllocationState, openPlacement } from "../../../src/core/allocation/state.ts";
import type { PoolAnswer } from "../../../src/core/messages.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import { type RunSpecInput, RunStatus } from "../../../src/schema/run/run.ts";
import { parseAttemptId } from "../../../src/shared/attempt-id.ts";
import { isTerminal } from "../../../src/shared/run-state.ts";
import {
  acknowledged,
  EXIT,
  nothing,
  orderNow,
  owed,
  placedOn,
  pool,
  REF,
  RUN,
  specOf,
  submit,
  T0,
} from "../support/allocation.ts";
import { applied } from "../support/applied.ts";
import { lieOfRun } from "../support/truth-of-runs.ts";

// What fits the open placement is often drawn, or hardly a story would get beyond it.
const epoch = fc.constantFrom(1, 1, 1, 2, 2, 3);
const worker = fc.constantFrom("w1", "w1", "w1", "w2");
const how = fc.constantFrom("refused", "gone", "lost");

const id = fc
  .tuple(fc.constantFrom("main", "main", "db"), epoch, fc.constantFrom(1, 1, 2, 3))
  .map(([task, e, n]) => `${RUN}/${task}/${e}.${n}`);
const exit = fc.constantFrom(
  EXIT,
  { ...EXIT, code: 7 },
  { ...EXIT, code: 7 },
  { ...EXIT, code: null, signal: "SIGTERM" },
  { ...EXIT, code: null, signal: "SIGKILL", oomKilled: true },
);

/** A report as hosts send it, and one that says anything at all. */
const report: fc.Arbitrary<AttemptReport> = fc.oneof(
  fc.record({ id, state: fc.constant("exited" as const), exit }),
  fc.record({ id, state: fc.constantFrom("running" as const, "gone" as const), startedAgoMs: fc.nat(100) }),
  fc.record(
    {
      id,
      state: fc.constantFrom("preparing", "running", "stopping", "exited", "gone"),
      startedAgoMs: fc.nat(100_000),
      endedAgoMs: fc.nat(100_000),
      exit,
      startError: fc.record({
        code: fc.constant("start_failed" as const),
        text: fc.constant("no"),
        recoverable: fc.boolean(),
      }),
      timedOut: fc.boolean(),
      stopped: fc.constantFrom("lease", "agent"),
      log: fc.record({
        stdout: fc.record({ from: fc.nat(6), size: fc.nat(9), data: fc.constantFrom("", "YWJj") }),
      }),
    },
    { requiredKeys: ["id", "state"] },
  ),
);

const poolAnswer = fc.oneof(
  fc.record({ kind: fc.constant("placed" as const), worker, epoch }),
  fc.constantFrom<PoolAnswer>(
    { kind: "queued" },
    { kind: "queued", offeredRate: 0.5 },
    { kind: "queued", outOfReach: "no machine of its pool can hold that" },
  ),
  fc.record({ kind: fc.constant("none" as const), version: fc.nat(12) }),
  fc.constant({ kind: "refused" as const, code: "busy" as const, text: "full" }),
);

const orderAnswer = fc.oneof(
  fc.record({ kind: fc.constant("accepted" as const), revision: fc.nat(3) }),
  fc.record({ kind: fc.constant("ended" as const), how, held: fc.boolean() }),
  fc.constant({ kind: "no_such" as const }),
);

const order = fc.record({ epoch, revision: fc.integer({ min: 1, max: 3 }) }).map((one) => ({
  ...one,
  run: RUN,
  resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 },
  protocol: 0,
  attempts: [],
}));

/** Anything that can arrive, in any state; `restart` is an eviction of the object. */
const event: fc.Arbitrary<AllocationEvent | { type: "restart" }> = fc.oneof(
  fc.constantFrom(
    { type: "tick" as const },
    { type: "poke_run" as const, body: REF },
    { type: "restart" as const },
  ),
  fc.constant({
    type: "submitted" as const,
    id: RUN,
    spec: specOf({ argv: ["other"] }),
    hash: "other",
    by: "admin",
    project: "default",
    budget: null,
  }),
  fc.constant({ type: "abort" as const, reason: "enough", by: "ann" }),
  fc
    .record({
      run: fc.constant(RUN),
      worker,
      epoch,
      version: fc.nat(5),
      submittedAt: fc.constantFrom(T0, T0, T0, T0 - 1),
    })
    .map((one) => ({ type: "place" as const, body: one })),
  {
    weight: 6,
    arbitrary: fc
      .record({
        run: fc.constant(RUN),
        worker,
        epoch,
        held: fc.boolean(),
        protocol: fc.nat(1),
        attempts: fc.array(report, { maxLength: 2 }),
      })
      .map((one) => ({ type: "observed" as const, body: one })),
  },
  fc
    .record({ run: fc.constant(RUN), worker, epoch, how, held: fc.boolean(), at: fc.constant(T0) })
    .map((one) => ({ type: "ended" as const, body: one })),
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(5), poolAnswer).map(([version, answer]) => pool(version, answer)),
  },
  fc.record({ type: fc.constant("order_answered" as const), sent: order, answer: orderAnswer }),
);

const causes: NonNullable<RunSpecInput["retry"]>["on"] = ["exit", "oom", "machine_lost", "boot"];

const limits = fc
  .record(
    {
      timeout: fc.constantFrom("30s", "5m"),
      queueTimeout: fc.constantFrom("20s", "5m"),
      restart: fc.constant({ attempts: 2, delay: "10s", interval: "1m" }),
      reschedule: fc.constant({ attempts: 2, delay: "10s" }),
      retry: fc.record({
        on: fc.constant(causes),
        max: fc.integer({ min: 1, max: 2 }),
        escalate: fc.constantFrom(undefined, { oom: { memory: 2 } }),
        park: fc.constant(true),
      }),
    },
    { requiredKeys: [] },
  )
  .map(({ retry, reschedule, ...more }): Partial<RunSpecInput> => {
    if (retry === undefined) return { ...more, ...(reschedule === undefined ? {} : { reschedule }) };
    const on = more.timeout === undefined ? retry.on : [...retry.on, "timeout" as const];
    return { ...more, resources: { memory: "1GiB" }, retry: { ...retry, on } };
  });
const placed = pool(1, placedOn());
const pause = fc.oneof({ weight: 3, arbitrary: fc.nat(3_000) }, fc.nat(40_000));
const story = fc
  .tuple(fc.constantFrom(true, true, false), fc.array(fc.tuple(event, pause), { maxLength: 40 }))
  .map(([begun, rest]): typeof rest => (begun ? [[placed, 0], ...rest] : rest));

type Look = (before: AllocationState, after: AllocationState, now: number) => void;

function play(
  first: AllocationEvent,
  events: [AllocationEvent | { type: "restart" }, number][],
  look: Look,
): void {
  let state = applied(allocationMachine, nothing(), first, T0);
  let now = T0;
  for (const [told, ms] of events) {
    now += ms;
    const after =
      told.type === "restart"
        ? loadedAllocation(state.record, false)
        : applied(allocationMachine, state, told, now);
    look(state, after, now);
    state = after;
  }
}

function isOrdered({ record }: AllocationState, { id: which }: AttemptReport): boolean {
  const { task, n } = parseAttemptId(which) ?? { task: "", n: 0 };
  const known = record?.tasks.find(({ name }) => name === task);
  return known === undefined || n <= (known.n ?? 1);
}

const holds = (look: Look) =>
  fc.assert(
    fc.property(limits, story, (more, events) => play(submit(more), events, look)),
    { numRuns: 500 },
  );

describe("whatever happens, in whatever order", () => {
  // tasks.md#status-3
  test("terminal is final: state, outcome and placements never change (invariant 1)", () => {
    holds(({ record: before }, { record: after }) => {
      if (before === null || !before.ended) return;
      expect(after).not.toBeNull();
      for (const key of ["ended", "outcome", "placements", "tasks", "endedEpoch"] as const) {
        expect(after?.[key]).toEqual(before[key]);
      }
    });
  });

  test("terminal means no open epoch, no order and no wish for a place (R3)", () => {
    holds((_before, after, now) => {
      if (after.record === null) return;
      if (!isTerminal(stateOf(phaseOf({ ...after, record: after.record })))) return;
      expect(openPlacement(after)).toBeNull();
      const due = allocationMachine.due(after, now);
      expect(due.filter(({ kind }) => kind === "order")).toEqual([]);
      for (const message of due) if (message.kind === "run") expect(message.body.wants).toBe("nothing");
      for (const e of [1, 2, 3]) expect(orderNow(after, e, now)).toMatchObject({ attempts: [] });
    });
  });

  test("nothing is owed any more once all of it was acknowledged (shell.md#machine)", () => {
    holds((_before, after, now) => {
      const told = acknowledged(after, now);
      expect(allocationMachine.due(told, now)).toEqual([]);
    });
  });

  test("and the stories get to where these laws say something", () => {
    const places = { open: 0, ended: 0, wished: 0, rescheduled: 0, retried: 0 };
    const reached = { ...places, backoff: 0, restarted: 0, owing: 0 };
    holds((_before, after, now) => {
      const { record } = after;
      if (record === null) return;
      const [main] = record.tasks;
      reached.open += Number(openPlacement(after) !== null);
      reached.ended += Number(record.ended);
      reached.wished += Number(record.stopRequest !== null && !record.ended);
      reached.rescheduled += Number(record.reschedules !== undefined);
      reached.retried += Number(record.retries !== undefined);
      reached.backoff += Number(openPlacement(after) !== null && (main?.startAt ?? 0) > now);
      reached.restarted += Number((main?.restarts ?? 0) > 0);
      reached.owing += Number(allocationMachine.due(after, now).length > 0);
    });
    for (const [what, times] of Object.entries(reached)) expect(times, what).toBeGreaterThan(3);
  });

  test("versions, epochs and event numbers only grow, and a version is one state (R1)", () => {
    holds(({ record: before }, { record: after }) => {
      if (before === null || after === null) return;
      expect(after.version).toBeGreaterThanOrEqual(before.version);
      expect(after.version).toBeLessThanOrEqual(before.version + 1);
      expect(after.endedEpoch).toBeGreaterThanOrEqual(before.endedEpoch);
      expect(after.events.at(-1)?.seq).toBeGreaterThanOrEqual(before.events.at(-1)?.seq ?? 0);
      const seen = ({ logs: _logs, version: _version, ...rest }: typeof before) => rest;
      if (after.version === before.version) expect(seen(after)).toEqual(seen(before));
    });
  });

  // tasks.md#placement-5
  test("an open epoch is always the one after the last that ended, and at most one is open (R2)", () => {
    holds((_before, after) => {
      const open = after.record?.placements.filter((one) => one.to === null) ?? [];
      expect(open.length).toBeLessThanOrEqual(1);
      const placement = openPlacement(after);
      if (placement !== null) expect(placement.epoch).toBe((after.record?.endedEpoch ?? 0) + 1);
    });
  });

  test("within an epoch an order says another thing only with a higher revision", () => {
    holds((before, after, now) => {
      const [one, two] = [before, after].map(
        (state) => owed({ ...state, memo: { ...state.memo, workerHas: "" } }, now).order,
      );
      if (one === undefined || two === undefined) return;
      if (one.epoch !== two.epoch) return;
      expect(two.revision).toBeGreaterThanOrEqual(one.revision);
      if (two.revision === one.revision) expect(two.attempts).toEqual(one.attempts);
    });
  });

  test("its status is one that the API can show, and it can say why (invariant 5)", () => {
    holds((_before, after, now) => {
      if (after.record === null) return;
      const run = { ...after, record: after.record };
      expect(RunStatus.safeParse(statusOf(run)).error).toBeUndefined();
      expect(whyOf(run, null, openPlacement(after)?.worker ?? null, now).reason.text).not.toBe("");
      expect(lieOfRun(run, null, now), "N7: what it says happens").toBeUndefined();
    });
  });

  test("the same events again change nothing more: all messages are idempotent (messages.md)", () => {
    fc.assert(
      fc.property(limits, story, event, (more, events, last) => {
        if (last.type === "restart") return;
        play(submit(more), events, (_before, after, now) => {
          // Time has done its part before, and a host does not name what it was never ordered.
          const state = allocationMachine.apply(after, { type: "tick" }, now);
          if (last.type === "observed" && !last.body.attempts.every((one) => isOrdered(state, one))) return;
          const once = allocationMachine.apply(state, last, now);
          const twice = allocationMachine.apply(once, last, now);
          expect(twice.record).toEqual(once.record);
        });
      }),
    );
  });
});

test("until it wakes, time alone changes nothing: a tick is not missed (shell.md#machine, wakeAt)", () => {
  fc.assert(
    fc.property(limits, story, fc.nat(600_000), (more, events, ms) => {
      play(submit(more), events, (_before, state, now) => {
        const then = now + ms;
        const wakeAt = allocationMachine.wakeAt(state) ?? Number.POSITIVE_INFINITY;
        if (then >= wakeAt) return;
        expect(allocationMachine.apply(state, { type: "tick" }, then).record).toBe(state.record);
        const kinds = (at: number) => allocationMachine.due(state, at).map(({ kind, to }) => `${kind} ${to}`);
        expect(kinds(then)).toEqual(kinds(now));
      });
    }),
  );
});
