import { describe, expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { orderOf } from "../../../src/core/allocation/placements/orders.ts";
import { isRepeated, MAX_ASKS_REMEMBERED } from "../../../src/core/allocation/user/idempotency.ts";
import { MAX_SIGNALS_KEPT, whyRefused } from "../../../src/core/allocation/user/requests.ts";
import { refusalOfUpdate } from "../../../src/core/allocation/user/update.ts";
import { RunSpec, type RunSpecInput } from "../../../src/schema/run/run.ts";
import { queued, RUN } from "../support/allocation.ts";
import { GroupStory, group, poststop, presidecar, prestart, task } from "../support/group.ts";

const by = "ann";
const restart = (story: GroupStory, request: { task?: string; all?: boolean } = {}) =>
  story.apply({ type: "restart", request: { ...request, by } }).obey();

describe("somebody wants tasks started again", () => {
  test("one that runs: it is stopped first, and the policy does not count it (tasks.md#by-hand-1)", () => {
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

  test("all that run: those that have ended stay so (tasks.md#kill-note-4)", () => {
    const story = new GroupStory(group(task("m"), task("n"), task("pre", prestart))).ends("pre").ends("m");
    restart(story);
    expect(story.status.tasks.map(({ restarts }) => restarts)).toEqual([0, 1, 0]);
    expect(story.living).toEqual(["n"]);
  });

  // tasks.md#kill-note-3
  test("of the whole run: after the group's shutdown delay, without the tasks' own", () => {
    const delayed = () =>
      new GroupStory({ ...group(task("m", { shutdownDelay: "9s" }), task("n")), shutdownDelay: "2s" });
    const story = restart(delayed());
    expect(story.later(1_999).log).toEqual(["start m", "start n"]);
    expect(story.status.tasks).toMatchObject([{ phase: "stopping" }, { phase: "stopping" }]);
    expect(story.reload().later(1).living).toEqual(["m", "n"]);
    expect(story.status.tasks.map(({ restarts }) => restarts)).toEqual([1, 1]);
    expect(restart(delayed(), { task: "m" }).status.tasks[0]).toMatchObject({ restarts: 1 });
  });

  // tasks.md#by-hand-2, tasks.md#kill-note-4, tasks.md#life-3
  test("all: every task runs once more, stage by stage", () => {
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

  describe("all, before the host has said that what it was ordered runs (rules R1, R3)", () => {
    const unseen = () =>
      new GroupStory(group(task("m"), task("pre", prestart)), undefined, "w1", true).ends("pre");

    test("that is stopped first, as what is seen to run", () => {
      const story = restart(unseen(), { all: true });
      expect(story.log.slice(2)).toEqual(["start m", "stop m", "end m", "start pre"]);
      expect(story.ends("pre").living).toEqual(["m"]);
      expect(story.status.tasks.map(({ restarts, failed }) => [restarts, failed])).toEqual([
        [1, false],
        [1, false],
      ]);
    });

    test("an order that is on its way is not taken back by silence", () => {
      const story = unseen().apply({ type: "restart", request: { all: true, by } });
      expect(story.orders.map(({ id, want }) => [id, want])).toEqual([
        ["build-17/m/1.1", "stop"],
        ["build-17/pre/1.1", "run"],
      ]);
    });

    test("an abort waits for its end", () => {
      const story = unseen().apply({ type: "restart", request: { all: true, by } });
      story.apply({ type: "abort", reason: "enough", by });
      expect(story.run.record.ended).toBe(false);
      expect(story.obey().status.state).toBe("aborted");
      expect(story.living).toEqual([]);
    });
  });

  test("all: not a task that an update has left out", () => {
    const story = new GroupStory(group(task("m"), task("n")));
    const spec = RunSpec.parse({ ...group(task("n")) });
    story.apply({ type: "update", spec, specIndex: 1, by }).obey();
    restart(story, { all: true });
    expect(story.status.tasks.map(({ name, restarts }) => [name, restarts])).toEqual([
      ["m", 0],
      ["n", 1],
    ]);
    expect(story.living).toEqual(["n"]);
  });

  test("all: not while the host ends by itself what it has (rule R4)", () => {
    const story = new GroupStory(group(task("m"), task("n"))).ends("m");
    const stopping = { id: `${RUN}/n/1.1`, state: "stopping", startedAgoMs: 0, stopped: "agent" } as const;
    const observed = { run: RUN, epoch: 1, worker: "w1", held: true, protocol: 1, attempts: [stopping] };
    story.apply({ type: "observed", body: observed });
    expect(whyRefused(story.run, { all: true })?.code).toBe("not_running");
    const { record } = story.run;
    expect(story.apply({ type: "restart", request: { all: true, by } }).run.record).toEqual(record);
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
    ["a run that has ended (tasks.md#by-hand-3)", new GroupStory(group(task("m"))).ends("m"), {}, "terminal"],
    [
      "a run that is being stopped",
      new GroupStory(group(task("m"), task("p", poststop))).abort(),
      {},
      "terminal",
    ],
  ])("%s", (_what, story, request, code) => {
    expect(whyRefused(story.run, request)?.code).toBe(code);
    const { record } = story.run;
    if (code !== undefined) expect(restart(story, request).run.record).toEqual(record);
  });

  test("a run that waits for its place is not running", () => {
    expect(whyRefused(queued(), {})?.code).toBe("not_running");
  });
});

test("signals are numbered, and leave the orders with their attempt (host-protocol.md#orders)", () => {
  const story = new GroupStory(group(task("m"), task("n")));
  const send = (signal: "SIGHUP" | "SIGUSR1") =>
    story.apply({ type: "signal", request: { task: "m", signal, by } });
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
  const send = () => story.apply({ type: "signal", request: { task: "m", signal: "SIGHUP", by } });
  for (let n = 1; n <= MAX_SIGNALS_KEPT; n += 1) send();
  expect(numbers()).toEqual(Array.from({ length: MAX_SIGNALS_KEPT }, (_, i) => i + 1));
  send();
  expect(numbers()).toEqual(Array.from({ length: MAX_SIGNALS_KEPT }, (_, i) => i + 2));
});

test.each<[string, GroupStory, { task?: string }, string[]]>([
  ["one task (tasks.md#by-hand-4)", new GroupStory(group(task("m"), task("n"))), { task: "n" }, ["n"]],
  [
    "all that run (tasks.md#by-hand-5)",
    new GroupStory(group(task("m"), task("n"), task("o"))).ends("o"),
    {},
    ["m", "n"],
  ],
  ["none that is dead", new GroupStory(group(task("m"), task("n"))).ends("m"), { task: "m" }, []],
  ["none of a run that is over", new GroupStory(group(task("m"))).ends("m"), {}, []],
])("a signal reaches %s", (_what, story, request, names) => {
  story.apply({ type: "signal", request: { ...request, signal: "SIGHUP", by } });
  const signaled = (orderOf(story.state, story.now)?.signals ?? []).map(({ id }) => id.split("/")[1]);
  expect(signaled).toEqual(names);
});

describe("a request with a key of its own (api.md#idempotency)", () => {
  const ask = { key: "k", hash: "h" };
  const hup = { type: "signal", request: { signal: "SIGHUP", by } } as const;

  test("is done once, however often it comes", () => {
    const story = new GroupStory(group(task("m"), task("n")));
    story.apply({ ...hup, key: ask }).apply({ ...hup, key: ask });
    expect(story.run.record.signaled).toBe(2); // one for each task
    const again = { type: "restart", request: { task: "m", by }, key: { key: "l", hash: "h" } } as const;
    story.apply(again).obey().apply(again).obey();
    expect(story.status.tasks[0]?.restarts).toBe(1);
  });

  test("is known to have been done when the run has ended since", () => {
    const story = new GroupStory(group(task("m"))).apply({ ...hup, key: ask }).ends("m");
    expect(isRepeated(story.run.record, ask)).toBe(true);
    expect(isRepeated(story.run.record, undefined)).toBe(false);
  });

  test("is refused with the key of another", () => {
    const story = new GroupStory(group(task("m"))).apply({ ...hup, key: ask });
    expect(() => isRepeated(story.run.record, { ...ask, hash: "other" })).toThrow("for another request");
  });

  test("that was refused can come again", () => {
    const story = new GroupStory(group(task("m"), task("n"))).ends("m");
    story.apply({ ...hup, request: { ...hup.request, task: "m" }, key: ask });
    expect(isRepeated(story.run.record, ask)).toBe(false);
  });

  test(`is remembered until ${MAX_ASKS_REMEMBERED} others have come`, () => {
    const story = new GroupStory(group(task("m"))).apply({ ...hup, key: ask });
    for (let n = 1; n < MAX_ASKS_REMEMBERED; n += 1) story.apply({ ...hup, key: { key: `${n}`, hash: "h" } });
    expect(isRepeated(story.run.record, ask)).toBe(true);
    story.apply({ ...hup, key: { key: "last", hash: "h" } });
    expect(isRepeated(story.run.record, ask)).toBe(false);
    expect(story.run.record.asks?.length).toBe(MAX_ASKS_REMEMBERED);
  });
});

// tasks.md#update-in-place
describe("a spec is updated in place", () => {
  const first: RunSpecInput = { tasks: [task("m", { restart: { attempts: 1, delay: "1s" } }), task("n")] };
  const parsed = (spec: object) => RunSpec.parse(spec);
  const update = (story: GroupStory, spec: object, specIndex = 1) =>
    story.apply({ type: "update", spec: parsed(spec), specIndex, by }).obey();

  test("attempts count at once, and the index moves (restart.md#note-11)", () => {
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

  test.each<[string, object, object, object]>([
    ["a longer time limit", { timeout: "1m" }, { timeout: "1h" }, { timeoutMs: 3_590_000 }],
    ["a first one", {}, { timeout: "1h" }, { timeoutMs: 3_590_000 }],
  ])("the host hears of %s at once (decisions/tasks.md#update-in-place)", (_what, old, more, order) => {
    const story = new GroupStory({ ...first, ...old }).later(10_000);
    const before = orderOf(story.state, story.now)?.revision ?? 0;
    story.apply({ type: "update", spec: parsed({ ...first, ...more }), specIndex: 1, by });
    const now = orderOf(story.state, story.now);
    expect(now?.revision).toBe(before + 1);
    expect(now?.attempts).toMatchObject([order, order]);
    expect(allocationMachine.due(story.state, story.now).map(({ kind }) => kind)).toContain("order");
  });

  test("and that there is none any more", () => {
    const story = new GroupStory({ ...first, timeout: "1m" });
    const before = orderOf(story.state, story.now)?.revision ?? 0;
    story.apply({ type: "update", spec: parsed(first), specIndex: 1, by });
    const now = orderOf(story.state, story.now);
    expect(now?.revision).toBe(before + 1);
    expect(now?.attempts[0]).not.toHaveProperty("timeoutMs");
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

  test("a leader that is left out leads no more: the others go on", () => {
    const led = group(task("m", { leader: true }), task("n"));
    const story = update(new GroupStory(led), { tasks: [task("n")] });
    expect(story.living).toEqual(["n"]);
    expect(story.ends("n").status).toMatchObject({ state: "complete", exitCode: 0 });
  });

  test.each<[string, object, number, string, string?]>([
    ["an old index", first, 0, "stale_index"],
    ["an index to come", first, 2, "stale_index"],
    [
      "another command",
      { tasks: [task("m", { argv: ["x"] }), task("n")] },
      1,
      "invalid_request",
      "/spec/tasks/0/argv",
    ],
    ["another pool", { ...first, pool: "gpu" }, 1, "invalid_request", "/spec/pool"],
    ["a new task", { tasks: [...(first.tasks ?? []), task("o")] }, 1, "invalid_request", "/spec/tasks/2"],
    ["the short form", { argv: ["m"] }, 1, "invalid_request", "/spec/argv"],
  ])("but not with %s", (_what, spec, index, code, pointer) => {
    const { run } = new GroupStory(first);
    const refusal = refusalOfUpdate(run.record, parsed(spec), index);
    expect(refusal?.code).toBe(code);
    if (pointer !== undefined) expect(refusal?.fields?.map((one) => one.pointer)).toContain(pointer);
  });

  const asked = { ...first, outputs: ["out/*"], snapshot: `sha256:${"a".repeat(64)}`, stdin: "yes" };
  const led = { ...asked, tasks: [task("m", { leader: true }), task("n")] };
  const single = { argv: ["m"], outputs: ["out/*"] };
  test.each<[string, object, object, string]>([
    ["other outputs", led, { ...led, outputs: ["*"] }, "/spec/outputs"],
    ["no outputs", led, { ...led, outputs: undefined }, "/spec/outputs"],
    ["first outputs", { argv: ["m"] }, single, "/spec/outputs"],
    ["another snapshot", led, { ...led, snapshot: `sha256:${"b".repeat(64)}` }, "/spec/snapshot"],
    ["another standard input", led, { ...led, stdin: "no" }, "/spec/stdin"],
    [
      "another snapshot of a task",
      led,
      { ...led, tasks: [task("m", { leader: true }), task("n", { snapshot: led.snapshot })] },
      "/spec/tasks/1/snapshot",
    ],
    [
      "another standard input of a task",
      led,
      { ...led, tasks: [task("m", { leader: true, stdin: "" }), task("n")] },
      "/spec/tasks/0/stdin",
    ],
    ["another task whose files they are", led, { ...led, tasks: [task("n")] }, "/spec/tasks"],
  ])("nor with %s", (_what, old, spec, pointer) => {
    const { run } = new GroupStory(old);
    const refusal = refusalOfUpdate(run.record, parsed(spec), 1);
    expect(refusal?.code).toBe("invalid_request");
    expect(refusal?.fields?.map((one) => one.pointer)).toEqual([pointer]);
  });

  test("one that was valid when it was stored goes on, and is mended only by one that is now", () => {
    // As a later version finds it whose rules are stricter (api.md#refused-specs).
    const restart = { attempts: 9, delay: "1s", interval: "2s" };
    const story = new GroupStory(first);
    const stored = { ...story.run.record.spec, tasks: [task("m", { restart }), task("n")] };
    expect(RunSpec.safeParse(stored).success).toBe(false);
    story.state = { ...story.state, record: { ...story.run.record, spec: stored } };
    story.ends("m", { code: 1 });
    expect(story.status.tasks[0]).toMatchObject({ phase: "backoff", restarts: 1 });
    update(story, { tasks: [task("m", { restart: { attempts: 0 } }), task("n")] });
    expect(story.status.specIndex).toBe(2);
  });

  test("nor after the end", () => {
    const story = new GroupStory(first).abort();
    expect(refusalOfUpdate(story.run.record, parsed(first), 1)?.code).toBe("terminal");
  });
});
