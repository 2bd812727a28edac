import { expect, test } from "vitest";
import { RunSpec } from "../../../src/schema/run/run.ts";
import { MAX_TASK_EVENTS } from "../../../src/shared/limits.ts";
import { GroupStory, group, presidecar, prestart, task } from "../support/group.ts";

const types = (story: GroupStory, name: string) =>
  story.status.tasks.find((one) => one.name === name)?.events.map(({ type }) => type) ?? [];

/** Changes the labels of the run, so often. */
function relabel(story: GroupStory, times: number): GroupStory {
  for (let i = 0; i < times; i += 1) {
    const { spec, specIndex = 1 } = story.run.record;
    const next = RunSpec.parse({ ...spec, labels: { round: String(i) } });
    story.apply({ type: "update", spec: next, specIndex, by: "ann" });
  }
  return story;
}

test("N5: events of the run do not push those of a task out of its ten", () => {
  const story = new GroupStory(group(task("m", { restart: { attempts: 2, delay: "1s" } }), task("n")));
  story.ends("m", { code: 1 }).later(1_250);
  const own = ["Started", "Terminated", "Restarting", "Started"];
  expect(types(relabel(story, 20), "m").filter((type) => type !== "Updated")).toEqual(own);
  expect(types(story, "m")).toHaveLength(MAX_TASK_EVENTS);
  // They stand in the order in which they happened, whosever they are.
  const { events } = story.status.tasks[0] ?? { events: [] };
  expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).sort((a, b) => a - b));
});

test("N5: a short history begins with what happened to the run", () => {
  const story = new GroupStory(group(task("m"), task("n")));
  expect(types(story, "m")).toEqual(["Received", "Placed", "Started"]);
});

const again = (delay: string) => ({ ...presidecar, restart: { attempts: 3, delay } });

test("N3: main waits for a prestart sidecar that runs, and not for one that has run", () => {
  const story = new GroupStory(group(task("main"), task("side", again("6s")), task("init", prestart)));
  expect(story.ends("side", { code: 1 }).ends("init").living).toEqual([]);
  expect(story.later(5_000).living).toEqual([]);
  expect(story.later(3_000).living).toEqual(["main", "side"]);
});

test("N3: main starts though a prestart sidecar is down for less than a report of its start takes", () => {
  const story = new GroupStory(group(task("main"), task("side", again("100ms")), task("init", prestart)));
  expect(story.ends("side", { code: 1 }).ends("init").living).toEqual(["main"]);
  expect(story.later(500).living).toEqual(["main", "side"]);
});

test("N3: a prestart sidecar that an update leaves out keeps nobody waiting", () => {
  const story = new GroupStory(group(task("main"), task("side", again("60s")), task("init", prestart)));
  story.ends("side", { code: 1 });
  const { tasks = [], ...rest } = story.run.record.spec;
  const spec = RunSpec.parse({ ...rest, tasks: tasks.filter(({ name }) => name !== "side") });
  story.apply({ type: "update", spec, specIndex: 1, by: "ann" }).obey();
  expect(story.ends("init").living).toEqual(["main"]);
});

const endsOf = (story: GroupStory) => story.run.record.events.map(({ type }) => type).slice(-2);

test.each([
  ["the control plane", false],
  ["the host", true],
])(
  "O4: nothing is killed by an abort in a restart delay that %s waits for, and nothing says so",
  (_who, waits) => {
    const lone = { ...group(task("main", { restart: { attempts: 3, delay: "60s" } })) };
    const story = new GroupStory(lone);
    story.waits = waits;
    expect(endsOf(story.ends("main", { code: 1 }).abort())).toEqual(["Restarting", "Killing"]);
    expect(story.status.state).toBe("aborted");
  },
);

test("O4: a command that runs when it is aborted is killed, and that is said", () => {
  const story = new GroupStory(group(task("main")));
  expect(endsOf(story.abort())).toEqual(["Terminated", "Killed"]);
});
