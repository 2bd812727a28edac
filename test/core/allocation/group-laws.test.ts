import fc from "fast-check";
import { expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { orderOf } from "../../../src/core/allocation/placements/orders.ts";
import type { AllocationRecord, AllocationState } from "../../../src/core/allocation/state.ts";
import { isWithHost } from "../../../src/core/allocation/tasks/tasks.ts";
import { RunSpec, type RunSpecInput, RunStatus } from "../../../src/schema/run/run.ts";
import { MAX_TASK_EVENTS } from "../../../src/shared/limits.ts";
import { acknowledged, pool, REF } from "../support/allocation.ts";
import { GroupStory } from "../support/group.ts";
import { lieOfRun } from "../support/truth-of-runs.ts";

const restart = fc.constantFrom(
  { attempts: 0 },
  { attempts: 9, delay: "1s" },
  { attempts: 9, delay: "0s" },
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
    timeout: fc.constantFrom(undefined, undefined, "8s", "40s"),
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
const recoverable = fc.boolean();
// What ends a story, or nearly, is seldom: so that stories get far.
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("ends" as const), which, code: fc.constantFrom(0, 0, 1) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("lost" as const, "stubborn" as const), which }),
  },
  fc.record({ kind: fc.constant("cannot" as const), which, recoverable }),
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("later" as const), ms: fc.nat(9_000) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom("reload" as const, "poke" as const, "doubled" as const) }),
  },
  // Its host's agent is another one from now on.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("agent" as const) }) },
  fc.record({ kind: fc.constant("abort" as const) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("restart" as const, "restart" as const, "signal" as const),
      which,
      all: fc.boolean(),
    }),
  },
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
      if (living !== undefined) story.cannotStart(living, one.recoverable);
      return;
    case "stubborn":
      if (living !== undefined) story.stubborn.add(living);
      return;
    case "agent":
      story.waits = !story.waits;
      return;
    case "restart":
      story.apply({
        type: "restart",
        request: one.all ? { all: true, by: "ann" } : { task: living, by: "ann" },
      });
      story.obey();
      return;
    case "signal":
      story.apply({ type: "signal", request: { task: living, signal: "SIGHUP", by: "ann" } }).obey();
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
      story.apply({ type: "poke_run", body: REF });
      return;
    case "doubled":
      story.obey();
  }
}

/** What must hold after every event. */
function holds(before: AllocationState, after: AllocationState, now: number): void {
  if (before.record !== null && after.record !== null) tasksHold(before.record, after.record);
  const told = acknowledged(after, now);
  expect(allocationMachine.due(told, now), "nothing is owed that was acknowledged").toEqual([]);
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

/** What a task keeps within a placement: its death and its failure, and the sum of its restarts. */
function tasksHold(before: AllocationRecord, after: AllocationRecord): void {
  const seen = before.events.at(-1)?.seq ?? 0;
  const fresh = after.events.filter(({ seq }) => seq > seen);
  for (const [i, { name, dead, restarts = 0, lastRestart }] of after.tasks.entries()) {
    const was = before.tasks[i]?.dead;
    const asked = fresh.some((event) => event.task === name && event.type === "Restart Signaled");
    if (was !== undefined && !asked) expect(dead, "dead is final").toEqual(was);
    const again = after.events.filter((event) => event.task === name && event.type === "Restarting");
    expect(restarts, "each restart is an event").toBe(again.length);
    expect(lastRestart && new Date(lastRestart).toISOString()).toBe(again.at(-1)?.at);
    const failed = after.events.some((event) => event.task === name && event.details.fails_task === "true");
    if (failed) expect(dead?.how, "failed is for good").toMatch(/^(failed|lost)$/);
  }
  for (const { message } of after.events) expect(message, "each event has a text").not.toBe("");
}

/** What must hold whenever host and allocation agree. */
function looksRight(story: GroupStory, tasks: NonNullable<RunSpecInput["tasks"]>): void {
  const { living, status, run } = story;
  for (const [what, here] of Object.entries(situationsOf(story, tasks)))
    reached[what] = (reached[what] ?? 0) + Number(here);
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
  // One of eight: it lets all time pass that is left to it.
  looks += 1;
  if (looks % 8 === 0) expect(lieOfRun(run, null, story.now), "N7: what it says happens").toBeUndefined();
  if (run.record.ended) expect(living).toEqual([]);
}

/** How often the stories have come to what is worth a look: laws over dull stories prove little. */
let looks = 0;
const reached: Record<string, number> = {};

function situationsOf(
  { living, status, run }: GroupStory,
  tasks: NonNullable<RunSpecInput["tasks"]>,
): Record<string, boolean> {
  const { events, stopRequest: wish, kill, stage, ended } = run.record;
  const phases = status.tasks.map(({ phase }) => phase);
  const poststop = tasks.filter((one) => one.lifecycle?.hook === "poststop").map(({ name }) => name);
  const full = status.tasks.some(
    (one) => events.filter(({ task }) => task === one.name).length > MAX_TASK_EVENTS,
  );
  const found: Record<string, boolean> = {
    poststop: living.some((name) => poststop.includes(name)),
    backoff: phases.includes("backoff"),
    stopping: phases.includes("stopping"),
    "a full ring": full,
    "a failed task": status.tasks.some(({ failed }) => failed),
    "a kill from inside": kill !== undefined,
    "an abort": wish?.state === "aborted" && !ended,
    "a time-out": wish?.state === "timedout",
    "all begin anew": stage === "restarting",
    "a host that waits": phases.includes("backoff") && run.record.tasks.some(isWithHost),
    "a loss": events.some(({ type }) => type === "Failed Restoring Task"),
  };
  for (const type of ["Sibling Task Failed", "Leader Task Dead", "Main Tasks Dead"])
    found[type] = kill?.type === type;
  return found;
}

// tasks.md#state-2, tasks.md#state-3, tasks.md#state-4, tasks.md#dead-is-final, tasks.md#history-2,
// tasks.md#history-3, tasks.md#history-4
test("whatever the tasks do, the rules of the group hold, and the run comes to one end", () => {
  fc.assert(
    fc.property(spec, fc.boolean(), fc.array(action, { maxLength: 30 }), (input, waits, actions) => {
      fc.pre(RunSpec.safeParse(input).success);
      const story = new GroupStory(input, holds);
      story.waits = waits;
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
      story.apply(pool(version, { kind: "none", version }));
      expect(allocationMachine.due(story.state, story.now), "nothing is owed any more").toEqual([]);
    }),
    { numRuns: 500 },
  );
  for (const [what, times] of Object.entries(reached)) expect(times, what).toBeGreaterThan(0);
});
