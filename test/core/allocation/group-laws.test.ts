import fc from "fast-check";
import { expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { orderOf } from "../../../src/core/allocation/orders.ts";
import { type AllocationState, openPlacement } from "../../../src/core/allocation/state.ts";
import { whyOf } from "../../../src/core/allocation/why.ts";
import { MAX_TASK_EVENTS } from "../../../src/core/limits.ts";
import { RunSpec, type RunSpecInput, RunStatus } from "../../../src/schema/run.ts";
import { GroupStory } from "../support/group.ts";

const restart = fc.constantFrom(
  { attempts: 0 },
  { attempts: 1, delay: "2s", interval: "20s" },
  { attempts: 3, delay: "0s", interval: "5s" },
  { attempts: 1, delay: "1s", interval: "10s", mode: "delay" as const },
);
const lifecycle = fc.constantFrom(
  undefined,
  undefined,
  { hook: "prestart" as const },
  { hook: "prestart" as const, sidecar: true },
  { hook: "poststart" as const },
  { hook: "poststart" as const, sidecar: true },
  { hook: "poststop" as const },
);
const delay = fc.constantFrom("0s", "0s", "3s");

const spec: fc.Arbitrary<RunSpecInput> = fc
  .record({
    rest: fc.array(fc.record({ lifecycle, restart, shutdownDelay: delay }), { maxLength: 4 }),
    main: fc.record({ restart, shutdownDelay: delay }),
    leader: fc.option(fc.nat(4)),
    type: fc.constantFrom("batch" as const, "service" as const),
    shutdownDelay: delay,
    timeout: fc.constantFrom(undefined, "40s"),
  })
  .map(({ rest, main, leader, ...run }) => ({
    ...run,
    reschedule: { attempts: 0, unlimited: false },
    tasks: [main, ...rest].map((one, i) => ({
      ...one,
      name: `t${i}`,
      argv: ["x"],
      leader: i === leader,
    })),
  }));

const which = fc.nat(9);
const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("ends" as const), which, code: fc.constantFrom(0, 0, 1) }),
  },
  fc.record({ kind: fc.constantFrom("lost" as const, "cannot" as const, "stubborn" as const), which }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("later" as const), ms: fc.nat(9_000) }) },
  fc.record({
    kind: fc.constantFrom("abort" as const, "reload" as const, "poke" as const, "doubled" as const),
  }),
  fc.record({ kind: fc.constantFrom("restart" as const, "signal" as const), which, all: fc.boolean() }),
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

function act(story: GroupStory, one: Action): void {
  const living = "which" in one ? story.living[one.which % story.living.length] : undefined;
  switch (one.kind) {
    case "ends":
      if (living !== undefined) story.ends(living, { code: one.code });
      return;
    case "lost":
      if (living !== undefined) story.isLost(living);
      return;
    case "cannot":
      if (living !== undefined) story.cannotStart(living);
      return;
    case "stubborn":
      if (living !== undefined) story.stubborn.add(living);
      return;
    case "restart":
      story.apply({
        type: "restart",
        wish: one.all ? { all: true, by: "ann" } : { task: living, by: "ann" },
      });
      story.obey();
      return;
    case "signal":
      story.apply({ type: "signal", wish: { task: living, signal: "SIGHUP", by: "ann" } }).obey();
      return;
    case "later":
      story.later(one.ms);
      return;
    case "abort":
      story.abort();
      return;
    case "reload":
      story.reload();
      return;
    case "poke":
      story.apply({ type: "poke" });
      return;
    case "doubled":
      story.obey();
  }
}

/** What must hold after every event. */
function holds(before: AllocationState, after: AllocationState, now: number): void {
  if (before.record?.ended) expect(after.record?.outcome).toEqual(before.record.outcome);
  const [old, next] = [orderOf(before, now), orderOf(after, now)];
  if (old !== null && next !== null && old.epoch === next.epoch && !after.record?.ended) {
    expect(next.revision).toBeGreaterThanOrEqual(old.revision);
    if (next.revision === old.revision) expect(next.attempts).toEqual(old.attempts);
  }
  const { record } = after;
  if (record === null) return;
  const wakeAt = allocationMachine.wakeAt(after) ?? Number.POSITIVE_INFINITY;
  expect(wakeAt, "it never wakes up in the past for ever").toBeGreaterThan(0);
  const soon = Math.min(wakeAt - 1, now + 100_000);
  if (soon > now) expect(allocationMachine.apply(after, { type: "tick" }, soon).record).toBe(record);
}

/** What must hold whenever host and allocation agree. */
function looksRight(story: GroupStory, tasks: NonNullable<RunSpecInput["tasks"]>): void {
  const { living, status, run } = story;
  expect(new Set(living).size, "one live attempt a task").toBe(living.length);
  const hookOf = (name: string) => tasks.find((one) => one.name === name)?.lifecycle?.hook ?? "main";
  const hooks = new Set(living.map(hookOf));
  if (hooks.has("poststop")) expect([...hooks], "poststop runs alone").toEqual(["poststop"]);
  const prepared = tasks.filter((one) => one.lifecycle?.hook === "prestart" && !one.lifecycle.sidecar);
  if (hooks.has("main") && run.record.stage !== "restarting") {
    const ended = prepared.every((one) => run.record.tasks.find(({ name }) => name === one.name)?.dead);
    expect(ended, "main runs after what prepares it").toBe(true);
  }
  for (const { events } of status.tasks) expect(events.length).toBeLessThanOrEqual(MAX_TASK_EVENTS);
  expect(RunStatus.safeParse(status).error).toBeUndefined();
  expect(whyOf(run, null, openPlacement(run)?.worker ?? null).reason.text).not.toBe("");
  if (run.record.ended) expect(living).toEqual([]);
}

test("whatever the tasks do, the rules of the group hold, and the run comes to one end", () => {
  fc.assert(
    fc.property(spec, fc.array(action, { maxLength: 30 }), (input, actions) => {
      fc.pre(RunSpec.safeParse(input).success);
      const story = new GroupStory(input, holds);
      const tasks = input.tasks ?? [];
      looksRight(story, tasks);
      for (const one of actions) {
        act(story, one);
        looksRight(story, tasks);
      }
      story.abort();
      for (let i = 0; i < 40 && !story.run.record.ended; i += 1) {
        const [living] = story.living;
        if (living === undefined) story.later(30_000);
        else story.ends(living);
        looksRight(story, tasks);
      }
      expect(story.run.record.ended).toBe(true);
      const { version } = story.run.record;
      story.apply({ type: "pool_answered", version, answer: { kind: "none", version } });
      expect(allocationMachine.due(story.state, story.now), "nothing is owed any more").toEqual([]);
    }),
    { numRuns: 400 },
  );
});
