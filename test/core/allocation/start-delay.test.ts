import { describe, expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { orderOf } from "../../../src/core/allocation/placements/orders.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { RunSpecInput } from "../../../src/schema/run/run.ts";
import { orderNow } from "../support/allocation.ts";
import { GroupStory, group, poststop, prestart, task } from "../support/group.ts";

const DELAY_MS = 10_000;
const AGAIN = { restart: { attempts: 2, delay: "10s", interval: "1h" } };

/** A run whose task m has ended and is to be started again, on a host that waits by itself or does not. */
function resting(
  waits: boolean,
  spec: RunSpecInput = group(task("m", AGAIN)),
  first: (story: GroupStory) => unknown = () => undefined,
): GroupStory {
  const story = new GroupStory(spec);
  story.waits = waits;
  first(story);
  return story.ends("m", { code: 1 });
}

const ordersOf = (story: GroupStory) =>
  story.orders.map(({ id, want, startAt }) => `${id} ${want}${startAt === undefined ? "" : " later"}`);
const types = (story: GroupStory) => story.run.record.events.map(({ type }) => type);
const why = (story: GroupStory) => whyOf(story.run, null, "w1", story.now);

describe("a restart delay that the host waits for by itself", () => {
  test("the next attempt is ordered at once, with when it may start (restart.md#the-decision)", () => {
    const story = resting(true);
    expect(ordersOf(story)).toEqual(["build-17/m/1.2 run later"]);
    const [{ startAt = 0 } = {}] = story.orders;
    expect(startAt - story.now).toBeGreaterThanOrEqual(DELAY_MS);
    expect(startAt - story.now).toBeLessThan(1.25 * DELAY_MS);
  });

  test("needs no alarm, and no other order when it is over", () => {
    const story = resting(true);
    expect(allocationMachine.wakeAt(story.state)).toBeUndefined();
    const before = orderOf(story.run, story.now);
    expect(orderOf(story.run, story.now + 2 * DELAY_MS)).toEqual(before);
    expect(orderNow(story.run, 1, story.now)).not.toHaveProperty("askAgain");
    story.later(2 * DELAY_MS);
    expect(story.log).toEqual(["start m", "end m", "start m"]);
    expect(orderOf(story.run, story.now)).toEqual(before);
  });

  test("is shown while it lasts, and when it ends (invariant 5)", () => {
    const story = resting(true);
    const [shown] = story.status.tasks;
    expect(shown).toMatchObject({ state: "pending", phase: "backoff" });
    expect(why(story)).toMatchObject({ reason: { code: "backoff" }, next: { at: shown?.nextStart } });
    expect(story.reload().later(2 * DELAY_MS).status.tasks[0]).toMatchObject({ phase: "running" });
  });

  test("survives an eviction without a word", () => {
    const story = resting(true).reload();
    expect(ordersOf(story)).toEqual(["build-17/m/1.2 run later"]);
    expect(allocationMachine.wakeAt(story.state)).toBeUndefined();
  });
});

test("an agent that does not say that it waits is ordered nothing before the time", () => {
  const story = resting(false);
  expect(ordersOf(story)).toEqual(["build-17/m/1.1 run"]);
  expect(orderNow(story.run, 1, story.now)).toMatchObject({ askAgain: true });
  const wakeAt = allocationMachine.wakeAt(story.state) ?? 0;
  expect(wakeAt - story.now).toBeGreaterThanOrEqual(DELAY_MS);
  story.later(wakeAt - story.now);
  expect(ordersOf(story)).toEqual(["build-17/m/1.2 run"]);
});

test("a delay that is over stays over if the clock goes back: what was ordered may run (rules.md#r1)", () => {
  const story = resting(false, group(task("m", AGAIN), task("post", poststop)));
  story.now = allocationMachine.wakeAt(story.state) ?? 0;
  story.apply({ type: "tick" });
  expect(ordersOf(story)).toContain("build-17/m/1.2 run");
  // Its host has the order, and its word on the start is still under way.
  story.now -= 5_000;
  story.apply({ type: "tick" });
  expect(ordersOf(story)).toContain("build-17/m/1.2 run");
  expect(why(story).reason.code).not.toBe("backoff");
  story.apply({ type: "abort", reason: "", by: "ann" });
  // It is stopped like a task that runs, and is not taken for one that was never ordered.
  expect(story.run.record.tasks[0]?.dead).toBeUndefined();
  expect(ordersOf(story)).toContain("build-17/m/1.2 stop");
  expect(ordersOf(story).join()).not.toContain("post");
});

test("an order that follows has a higher revision, although the clock has gone back (rules.md#r1)", () => {
  const story = resting(false);
  const revision = () => orderOf(story.run, story.now)?.revision ?? 0;
  story.now = allocationMachine.wakeAt(story.state) ?? 0;
  story.apply({ type: "tick" });
  const second = revision();
  story.now -= 5_000;
  story.obey();
  expect([ordersOf(story), revision()]).toEqual([["build-17/m/1.2 run"], second]);
  story.ends("m", { code: 1 }).later(2 * DELAY_MS);
  expect(ordersOf(story)).toEqual(["build-17/m/1.3 run"]);
  expect(revision()).toBeGreaterThan(second);
});

test("whether it waits is settled when the attempt before ends, whatever agent follows", () => {
  const ordered = resting(true);
  ordered.waits = false;
  expect(ordersOf(ordered.obey())).toEqual(["build-17/m/1.2 run later"]);
  const withheld = resting(false);
  withheld.waits = true;
  expect(ordersOf(withheld.obey())).toEqual(["build-17/m/1.1 run"]);
});

describe("what ends the wait before its time ends it on the host", () => {
  const spec = (more: object = {}) => ({ ...group(task("m", AGAIN), task("n")), ...more });

  test.each<[string, RunSpecInput, (story: GroupStory) => unknown, string]>([
    ["an abort", spec(), (story) => story.abort(), "aborted"],
    ["the time limit", spec({ timeout: "5s" }), (story) => story.later(5_000), "timedout"],
    ["a sibling that fails", spec(), (story) => story.ends("n", { code: 1 }), "failed"],
    [
      "an abort, after the group's shutdown delay",
      spec({ shutdownDelay: "2s" }),
      (story) => story.abort().later(2_000),
      "aborted",
    ],
    [
      "an abort, after its own shutdown delay",
      group(task("m", { ...AGAIN, shutdownDelay: "20s" })),
      (story) => story.abort().later(20_000),
      "aborted",
    ],
    [
      "an abort, before a poststop task",
      group(task("m", AGAIN), task("p", poststop)),
      (story) => story.abort().ends("p"),
      "aborted",
    ],
  ])("%s", (_what, of, end, state) => {
    const story = resting(true, of);
    end(story);
    expect(story.status.state).toBe(state);
    expect(story.log.filter((line) => line === "start m")).toHaveLength(1);
    expect(types(story)).not.toContain("Lost");
    expect(story.status.tasks[0]?.nextStart).toBeNull();
  });

  test("while it is being stopped no next start is shown, nor another reason given", () => {
    const story = resting(true, spec({ shutdownDelay: "0s" }));
    story.apply({ type: "abort", reason: "enough", by: "ann" });
    expect(story.status.tasks[0]?.nextStart).toBeNull();
    expect(why(story).reason.code).toBe("stopping");
    expect(ordersOf(story)).toEqual(["build-17/m/1.2 stop", "build-17/n/1.1 stop"]);
  });

  test("somebody who wants all started again: another attempt follows, in its stage (tasks.md#life)", () => {
    const stages = group(task("pre", prestart), task("m", AGAIN));
    const story = resting(true, stages, (begun) => begun.ends("pre"));
    expect(story.log).toEqual(["start pre", "end pre", "start m", "end m"]);
    story.apply({ type: "restart", request: { all: true, by: "ann" } }).obey();
    expect(story.living).toEqual(["pre"]);
    expect(story.ends("pre").living).toEqual(["m"]);
    expect(story.status.tasks[1]?.attempts.map(({ id, state }) => `${id} ${state}`)).toEqual([
      "build-17/m/1.1 exited",
      "build-17/m/1.2 gone",
      "build-17/m/1.3 running",
    ]);
  });
});
