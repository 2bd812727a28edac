import { describe, expect, test } from "vitest";
import { isRepeated } from "../../../src/core/allocation/asks.ts";
import { orderOf } from "../../../src/core/allocation/orders.ts";
import { refusalOfUpdate } from "../../../src/core/allocation/update.ts";
import { refusalOfWish } from "../../../src/core/allocation/user.ts";
import { MAX_ASKS_REMEMBERED, MAX_SIGNALS_KEPT } from "../../../src/core/limits.ts";
import { RunSpec, type RunSpecInput } from "../../../src/schema/run.ts";
import { queued } from "../support/allocation.ts";
import { GroupStory, group, poststop, presidecar, prestart, task } from "../support/group.ts";

const by = "ann";
const restart = (story: GroupStory, wish: { task?: string; all?: boolean } = {}) =>
  story.apply({ type: "restart", wish: { ...wish, by } }).obey();

// nomad.md §4.6, §3.3 row 2
describe("somebody wants tasks started again", () => {
  test("one that runs: it is stopped first, and the policy does not count it", () => {
    const story = restart(new GroupStory(group(task("m"), task("n"))), { task: "m" });
    expect(story.log).toEqual(["start m", "start n", "stop m", "end m", "start m"]);
    expect(story.status.tasks[0]).toMatchObject({ state: "running", restarts: 1, failed: false });
    const types = story.run.record.events.map(({ type }) => type);
    expect(types).toContain("Restart Signaled");
    expect(story.ends("m", { code: 1 }).status.state).toBe("failed");
  });

  test("however long it takes to end, and however it ends", () => {
    const story = new GroupStory(group(task("m"), task("n")));
    story.stubborn.add("m");
    restart(story, { task: "m" });
    expect(story.status.tasks[0]).toMatchObject({ phase: "stopping" });
    expect(story.later(60_000).ends("m", { code: 3 }).living).toEqual(["m", "n"]);
  });

  test("asked for twice before it has ended, it is started once", () => {
    const story = new GroupStory(group(task("m"), task("n")));
    story.stubborn.add("m");
    restart(restart(story, { task: "m" }), { task: "m" }).ends("m");
    expect(story.status.tasks[0]?.restarts).toBe(1);
  });

  test("all that run: those that have ended stay so", () => {
    const story = new GroupStory(group(task("m"), task("n"), task("pre", prestart))).ends("pre").ends("m");
    restart(story);
    expect(story.status.tasks.map(({ restarts }) => restarts)).toEqual([0, 1, 0]);
    expect(story.living).toEqual(["n"]);
  });

  test("all: every task runs once more, in the order of the stages", () => {
    const story = new GroupStory(
      group(task("m"), task("n"), task("pre", prestart), task("side", presidecar)),
    );
    story.ends("pre").ends("m");
    story.stubborn.add("n");
    restart(story, { all: true });
    expect(story.living).toEqual(["n"]);
    expect(story.ends("n").living).toEqual(["pre", "side"]);
    expect(story.ends("pre").living).toEqual(["m", "n", "side"]);
    expect(story.status.tasks.map(({ restarts }) => restarts)).toEqual([1, 1, 1, 1]);
  });

  test.each<[string, GroupStory, { task?: string; all?: boolean }, string | undefined]>([
    ["a task that runs", new GroupStory(group(task("m"), task("n"))), { task: "m" }, undefined],
    [
      "a task that is dead",
      new GroupStory(group(task("m"), task("n"))).ends("m"),
      { task: "m" },
      "not_running",
    ],
    [
      "a task in its restart delay",
      new GroupStory(group(task("m", { restart: { attempts: 1 } }), task("n"))).ends("m", { code: 1 }),
      { task: "m" },
      "not_running",
    ],
    ["a task that there is not", new GroupStory(group(task("m"), task("n"))), { task: "x" }, "unknown_task"],
    ["a run that has ended", new GroupStory(group(task("m"))).ends("m"), {}, "terminal"],
    [
      "a run that is being stopped",
      new GroupStory(group(task("m"), task("p", poststop))).abort(),
      {},
      "terminal",
    ],
  ])("%s", (_what, story, wish, code) => {
    expect(refusalOfWish(story.run, wish)?.code).toBe(code);
    const { record } = story.run;
    if (code !== undefined) expect(restart(story, wish).run.record).toEqual(record);
  });

  test("a run that waits for its place is not running", () => {
    expect(refusalOfWish(queued(), {})?.code).toBe("not_running");
  });
});

test("signals are numbered, and leave the orders with their attempt (host-protocol.md, Orders)", () => {
  const story = new GroupStory(group(task("m"), task("n")));
  const send = (signal: "SIGHUP" | "SIGUSR1") =>
    story.apply({ type: "signal", wish: { task: "m", signal, by } });
  const before = orderOf(story.state, story.now)?.revision ?? 0;
  send("SIGHUP");
  send("SIGUSR1");
  expect(orderOf(story.state, story.now)).toMatchObject({
    revision: before + 2,
    signals: [
      { id: "build-17/m/1.1", signal: "SIGHUP", n: 1 },
      { id: "build-17/m/1.1", signal: "SIGUSR1", n: 2 },
    ],
  });
  expect(story.run.record.events.at(-1)).toMatchObject({
    type: "Signaling",
    details: { task_signal: "SIGUSR1" },
  });
  expect(orderOf(story.ends("m").state, story.now)?.signals).toBeUndefined();
});

test(`a host that cannot be reached gets the latest ${MAX_SIGNALS_KEPT} signals`, () => {
  const story = new GroupStory(group(task("m"), task("n")));
  const numbers = () => orderOf(story.state, story.now)?.signals?.map(({ n }) => n) ?? [];
  const send = () => story.apply({ type: "signal", wish: { task: "m", signal: "SIGHUP", by } });
  for (let n = 1; n <= MAX_SIGNALS_KEPT; n += 1) send();
  expect(numbers()).toEqual(Array.from({ length: MAX_SIGNALS_KEPT }, (_, i) => i + 1));
  send();
  expect(numbers()).toEqual(Array.from({ length: MAX_SIGNALS_KEPT }, (_, i) => i + 2));
});

// nomad.md §4.6, "signal task": allowed when there is a process
test.each<[string, GroupStory, { task?: string }, string[]]>([
  ["one task", new GroupStory(group(task("m"), task("n"))), { task: "n" }, ["n"]],
  ["all that run", new GroupStory(group(task("m"), task("n"), task("o"))).ends("o"), {}, ["m", "n"]],
  ["none that is dead", new GroupStory(group(task("m"), task("n"))).ends("m"), { task: "m" }, []],
  ["none of a run that is over", new GroupStory(group(task("m"))).ends("m"), {}, []],
])("a signal reaches %s", (_what, story, wish, names) => {
  story.apply({ type: "signal", wish: { ...wish, signal: "SIGHUP", by } });
  const signaled = (orderOf(story.state, story.now)?.signals ?? []).map(({ id }) => id.split("/")[1]);
  expect(signaled).toEqual(names);
});

describe("a request with a key of its own (api.md, Idempotency)", () => {
  const ask = { key: "k", hash: "h" };
  const hup = { type: "signal", wish: { signal: "SIGHUP", by } } as const;

  test("is done once, however often it comes", () => {
    const story = new GroupStory(group(task("m"), task("n")));
    story.apply({ ...hup, ask }).apply({ ...hup, ask });
    expect(story.run.record.signaled).toBe(2); // one for each task
    const again = { type: "restart", wish: { task: "m", by }, ask: { key: "l", hash: "h" } } as const;
    story.apply(again).obey().apply(again).obey();
    expect(story.status.tasks[0]?.restarts).toBe(1);
  });

  test("is known to have been done when the run has ended since", () => {
    const story = new GroupStory(group(task("m"))).apply({ ...hup, ask }).ends("m");
    expect(isRepeated(story.run.record, ask)).toBe(true);
    expect(isRepeated(story.run.record, undefined)).toBe(false);
  });

  test("is refused with the key of another", () => {
    const story = new GroupStory(group(task("m"))).apply({ ...hup, ask });
    expect(() => isRepeated(story.run.record, { ...ask, hash: "other" })).toThrow("for something else");
  });

  test("that was refused can come again", () => {
    const story = new GroupStory(group(task("m"), task("n"))).ends("m");
    story.apply({ ...hup, wish: { ...hup.wish, task: "m" }, ask });
    expect(isRepeated(story.run.record, ask)).toBe(false);
  });

  test(`is remembered until ${MAX_ASKS_REMEMBERED} others have come`, () => {
    const story = new GroupStory(group(task("m"))).apply({ ...hup, ask });
    for (let n = 1; n < MAX_ASKS_REMEMBERED; n += 1) story.apply({ ...hup, ask: { key: `${n}`, hash: "h" } });
    expect(isRepeated(story.run.record, ask)).toBe(true);
    story.apply({ ...hup, ask: { key: "last", hash: "h" } });
    expect(isRepeated(story.run.record, ask)).toBe(false);
    expect(story.run.record.asks?.length).toBe(MAX_ASKS_REMEMBERED);
  });
});

// nomad.md §5.2 as decided
describe("a spec is updated in place", () => {
  const first: RunSpecInput = { tasks: [task("m", { restart: { attempts: 1, delay: "1s" } }), task("n")] };
  const parsed = (spec: object) => RunSpec.parse(spec);
  const update = (story: GroupStory, spec: object, specIndex = 1) =>
    story.apply({ type: "update", spec: parsed(spec), specIndex, by }).obey();

  test("attempts count at once, and the index moves", () => {
    const story = new GroupStory(first).ends("m", { code: 1 }).later(1_250);
    update(story, { tasks: [task("m", { restart: { attempts: 2, delay: "1s" } }), task("n")] });
    expect(story.status.specIndex).toBe(2);
    expect(story.ends("m", { code: 1 }).status.tasks[0]).toMatchObject({ phase: "backoff", restarts: 2 });
  });

  test("kill timeout and signal of what runs follow it", () => {
    const story = new GroupStory(first);
    update(story, {
      ...first,
      tasks: [{ ...first.tasks?.[0], killSignal: "SIGINT" }, { ...first.tasks?.[1] }],
    });
    story.stubborn.add("m").add("n");
    story.apply({ type: "abort", reason: "enough", by });
    expect(story.orders).toMatchObject([{ want: "stop", signal: "SIGINT" }, { signal: "SIGTERM" }]);
  });

  test("the same spec again, written otherwise, moves nothing", () => {
    const story = new GroupStory(first);
    const { record } = story.run;
    const tasks = (first.tasks ?? []).map((one) => Object.fromEntries(Object.entries(one).reverse()));
    expect(update(story, { tasks }).run.record).toBe(record);
  });

  test("a task that is left out is stopped, and the run goes on without it", () => {
    const story = update(new GroupStory(first), { tasks: [task("n")] });
    expect(story.living).toEqual(["n"]);
    expect(story.ends("n").status).toMatchObject({ state: "complete", exitCode: 0 });
    expect(story.status.tasks.map(({ name, failed }) => [name, failed])).toEqual([
      ["m", false],
      ["n", false],
    ]);
  });

  test.each<[string, object, number, string, string?]>([
    ["an old index", first, 0, "stale_index"],
    ["an index to come", first, 2, "stale_index"],
    [
      "another command",
      { tasks: [task("m", { argv: ["x"] }), task("n")] },
      1,
      "invalid_request",
      "/tasks/0/argv",
    ],
    ["another pool", { ...first, pool: "gpu" }, 1, "invalid_request", "/pool"],
    ["a new task", { tasks: [...(first.tasks ?? []), task("o")] }, 1, "invalid_request", "/tasks/2"],
    ["the short form", { argv: ["m"] }, 1, "invalid_request", "/argv"],
  ])("but not with %s", (_what, spec, index, code, pointer) => {
    const { run } = new GroupStory(first);
    const refusal = refusalOfUpdate(run.record, parsed(spec), index);
    expect(refusal?.code).toBe(code);
    if (pointer !== undefined) expect(refusal?.fields?.map((one) => one.pointer)).toContain(pointer);
  });

  test("nor after the end", () => {
    const story = new GroupStory(first).abort();
    expect(refusalOfUpdate(story.run.record, parsed(first), 1)?.code).toBe("terminal");
  });
});
