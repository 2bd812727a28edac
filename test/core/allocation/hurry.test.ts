import { describe, expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { POSTSTOP_AFTER_WISH_MS, poststopBy } from "../../../src/core/allocation/tasks/group.ts";
import { groupView } from "../../../src/core/allocation/tasks/tasks.ts";
import { refusalOfUpdate } from "../../../src/core/allocation/user/update.ts";
import { RunSpec, type RunSpecInput } from "../../../src/schema/run/run.ts";
import { T0 } from "../support/allocation.ts";
import { GroupStory, group, poststop, task } from "../support/group.ts";

const cleanup = () => new GroupStory(group(task("main"), task("post", poststop))).abort();
const slow = { killTimeout: "30m", shutdownDelay: "30m" };
/** Being stopped, with half an hour to go: a delay before the signal, and a long grace after it. */
function unhurried(spec: RunSpecInput = group(task("main", slow), task("side"))): GroupStory {
  const story = new GroupStory(spec);
  story.stubborn.add("main");
  return story.abort();
}
const stopOf = (story: GroupStory, name: string) =>
  story.orders.find(({ id }) => id.includes(`/${name}/`)) ?? null;
const force = { type: "abort" as const, reason: "", by: "bob", force: true };
const sigkill = (name?: string) =>
  ({ type: "signal", request: { task: name, signal: "SIGKILL", by: "bob" } }) as const;
const AT_ONCE = { want: "stop", signal: "SIGKILL", timeoutMs: 0 };

function update(story: GroupStory, change: Partial<RunSpecInput>): GroupStory {
  const { spec, specIndex = 1 } = story.run.record;
  const next = RunSpec.parse({ ...spec, ...change });
  return story.apply({ type: "update", spec: next, specIndex, by: "bob" }).obey();
}

describe("a stop can be hurried", () => {
  test("N1: an abort with force kills at once what is being stopped, whatever it may wait for", () => {
    const story = unhurried();
    expect(stopOf(story, "main")).toMatchObject({ want: "run" });
    expect(stopOf(story.apply(force), "main")).toMatchObject(AT_ONCE);
    expect(stopOf(new GroupStory(group(task("main"))).apply(force), "main")).toMatchObject(AT_ONCE);
  });

  test("N1: an abort with force ends a poststop task that hangs, and starts none that has not begun", () => {
    expect(cleanup().living).toEqual(["post"]);
    expect(cleanup().apply(force).obey().status.state).toBe("aborted");
    const fresh = new GroupStory(group(task("main"), task("post", poststop))).apply(force).obey();
    expect(fresh.log).not.toContain("start post");
    expect(fresh.status.state).toBe("aborted");
  });

  test("N1: a second abort without force changes nothing: a client may repeat the first", () => {
    expect(stopOf(unhurried().abort(), "main")).toMatchObject({ want: "run" });
  });

  test.each([
    ["main", unhurried],
    ["post", cleanup],
  ])("N1: SIGKILL to task %s in a stop ends it", (name, make) => {
    const story = make().apply(sigkill(name));
    expect(stopOf(story, name)).toMatchObject(AT_ONCE);
  });

  test("N1: a task that is stopped to be started again can be killed, too", () => {
    const story = new GroupStory(group(task("main", { killTimeout: "30m" }), task("n")));
    story.stubborn.add("main");
    story.apply({ type: "restart", request: { task: "main", by: "ann" } }).obey();
    expect(stopOf(story.apply(sigkill("main")), "main")).toMatchObject(AT_ONCE);
    story.stubborn.clear();
    expect(story.ends("main", { code: 137 }).living).toEqual(["main", "n"]);
  });

  test("N1: shorter delays and kill timeouts count in a stop that has begun", () => {
    const story = unhurried({ ...group(task("main"), task("n")), ...slow });
    expect(stopOf(story, "main")).toMatchObject({ want: "run" });
    update(story, { shutdownDelay: "0s", killTimeout: "1s" });
    expect(stopOf(story, "main")).toMatchObject({ want: "stop", timeoutMs: 1_000 });
    const before = story.run.record;
    expect(update(story, { labels: { a: "b" } }).run.record).toBe(before);
  });
});

test("N1: an update gives nothing more time that is being stopped: its host would not heed it", () => {
  const story = unhurried(group(task("main", { killTimeout: "1m" }), task("side")));
  const { spec, specIndex = 1 } = story.run.record;
  const longer = { ...spec, tasks: spec.tasks?.map((one) => ({ ...one, killTimeout: "2m" })) };
  const refusals = [longer, { ...spec, shutdownDelay: "1m" }, { ...spec, killTimeout: "1s" }].map(
    (next) => refusalOfUpdate(story.run.record, RunSpec.parse(next), specIndex)?.message ?? "taken",
  );
  expect(refusals).toEqual([
    expect.stringContaining("can only get shorter"),
    expect.stringContaining("can only get shorter"),
    "taken",
  ]);
});

test("N1: a stop by force is told as it is: at once, without a delay", () => {
  const story = new GroupStory(group(task("main", slow), task("side", slow))).apply(force).obey();
  const stops = story.run.record.events.filter(({ task: name }) => name === "main" || name === "side");
  const said = stops.map(({ type, details }) => `${type} ${details.kill_timeout}`);
  expect(said.filter((text) => /^(?:Killing|Waiting)/.test(text))).toEqual(["Killing 0s", "Killing 0s"]);
});

test("N1: a poststop task runs on after its group's shutdown delay, and nothing wakes for that", () => {
  const story = new GroupStory({ ...group(task("main"), task("post", poststop)), shutdownDelay: "10s" });
  story.abort().ends("main", { code: 0 });
  story.later(20_000);
  expect(allocationMachine.wakeAt(story.run)).toBeGreaterThan(story.now);
});

test("a removed task that still stops does not put off the others (tasks.md#order-1)", () => {
  const story = new GroupStory({ ...group(task("main"), task("n")), shutdownDelay: "10s" });
  story.stubborn.add("n");
  update(story, { tasks: [task("main")] });
  story.abort();
  expect(allocationMachine.wakeAt(story.run)).toBe(story.now + 10_000);
  expect(story.later(10_000).living).toEqual(["n"]);
  expect(allocationMachine.wakeAt(story.run) ?? Infinity).toBeGreaterThan(story.now);
});

test("N1: those five minutes begin when the end of the others is heard, however late that is", () => {
  const { record } = cleanup().run;
  const heardAt = T0 + 2 * POSTSTOP_AFTER_WISH_MS;
  const tasks = record.tasks.map((one) => ({
    ...one,
    attempts: one.attempts.map((attempt) => ({ ...attempt, heardAt })),
  }));
  expect(poststopBy(groupView({ ...record, tasks }))).toBe(heardAt + POSTSTOP_AFTER_WISH_MS);
});

test("N1: a poststop task of an aborted run has five minutes, and is stopped then", () => {
  const story = cleanup();
  expect(story.later(POSTSTOP_AFTER_WISH_MS - 1).living).toEqual(["post"]);
  expect(story.later(1).log).toContain("stop post");
  expect(story.status.state).toBe("aborted");
});

test("N1: a poststop task after an ordinary end has all the time of its run", () => {
  const story = new GroupStory(group(task("main"), task("post", poststop))).ends("main");
  expect(story.later(10 * POSTSTOP_AFTER_WISH_MS).living).toEqual(["post"]);
});
