import { describe, expect, test } from "vitest";
import type { HostStop } from "../../../src/schema/host.ts";
import { abort, EXIT, exited, observed, ordered, RUN, runAt, started, T0 } from "../support/allocation.ts";
import { GroupStory, group, poststop, presidecar, prestart, task } from "../support/group.ts";

const LOST = { state: "unknown", exitCode: null, failure: { code: "machine_lost" } };
const FAILED = { state: "failed", exitCode: null, signal: null, failure: { code: "agent_ended" } };
const TERM = { code: null, signal: "SIGTERM" } as const;
const stopped = (why: HostStop, exit: Parameters<typeof exited>[0] = TERM) =>
  observed([{ ...exited(exit), stopped: why }]);

// api.md#ends-of-a-command
describe("a command that its host has stopped is no end of its own (rule R4)", () => {
  test.each<[string, HostStop, Parameters<typeof exited>[0], object]>([
    ["at the end of the lease it is lost, as its worker would say", "lease", TERM, LOST],
    ["a machine that is taken away is lost to it (cases.md#case-9)", "interruption", TERM, LOST],
    ["the end of the agent fails it", "agent", TERM, FAILED],
    ["whatever number it made of the signal", "agent", { code: 143 }, FAILED],
    ["zero too: nobody knows whether it was done", "lease", { code: 0 }, LOST],
  ])("%s", (_, why, exit, outcome) => {
    const { record } = runAt(started(), T0 + 5_000, stopped(why, exit));
    expect(record).toMatchObject({ ended: true, outcome });
  });

  test("how it ended is not needed for that", () => {
    const gone = { id: `${RUN}/main/1.1`, state: "gone", stopped: "agent" } as const;
    expect(runAt(started(), T0, observed([gone])).record.outcome).toMatchObject(FAILED);
  });

  test("what was said while it was being stopped is not forgotten", () => {
    const stopping = observed([{ id: `${RUN}/main/1.1`, state: "stopping", stopped: "lease" }]);
    const state = runAt(started(), T0, stopping);
    expect(state.record.ended).toBe(false);
    expect(runAt(state, T0 + 1, observed([exited(TERM)])).record.outcome).toMatchObject(LOST);
  });

  test("a wish that was stored before decides (decisions/runs.md#abort)", () => {
    const state = runAt(started(), T0, abort());
    expect(runAt(state, T0 + 1, stopped("agent")).record.outcome?.state).toBe("aborted");
  });

  test("a kill that was given up is told instead, unless its end is known (tasks.md#kill-6)", () => {
    const stuck = { tries: 5, error: "it does not die", treeGone: true, by: "processes" } as const;
    const gone = { id: `${RUN}/main/1.1`, state: "gone", stopped: "agent", kill: stuck } as const;
    expect(runAt(started(), T0, observed([gone])).record.outcome?.failure?.code).toBe("unkillable");
  });

  test("its events say who stopped it and why", () => {
    const { events } = runAt(started(), T0, stopped("lease")).record;
    expect(events.find(({ type }) => type === "Killing")?.message).toBe(
      "its host stops it, because the lease ends",
    );
  });

  test("a host that says nothing of it is believed as before", () => {
    expect(runAt(started(), T0, observed([exited(TERM)])).record.outcome).toMatchObject({
      state: "complete",
      exitCode: 143,
    });
  });
});

describe("it is placed anew if its policy allows (restart.md#reschedule)", () => {
  const reschedule = { attempts: 1, interval: "1h", delay: "5s" };

  test.each<HostStop>(["lease", "agent", "interruption"])("stopped by the %s", (why) => {
    const { record } = runAt(started({ reschedule }), T0, stopped(why));
    expect(record).toMatchObject({ ended: false, outcome: null, placeAt: T0 + 5_000, endedEpoch: 1 });
    expect(record.reschedules).toMatchObject([{ worker: "w1" }]);
  });

  test("it is not started again on the host that ends, whatever its restart policy", () => {
    const restart = { attempts: 3, interval: "1h", delay: "1s", mode: "fail" } as const;
    const { record } = runAt(started({ restart }), T0, stopped("agent"));
    expect(record).toMatchObject({ ended: true, outcome: FAILED });
    expect(record.tasks[0]?.restarts).toBe(0);
  });

  test("one that was ordered and had not begun is, too", () => {
    const gone = { id: `${RUN}/main/1.1`, state: "gone", stopped: "agent" } as const;
    expect(runAt(ordered({ reschedule }), T0, observed([gone])).record.placeAt).toBe(T0 + 5_000);
  });
});

/** The host stops all that lives by itself. */
function stopAll(story: GroupStory, why: HostStop = "agent"): GroupStory {
  const { living, run } = story;
  const attempts = living.map((name) => {
    const id = `${RUN}/${name}/1.1`;
    return { id, state: "exited" as const, startedAgoMs: 0, exit: { ...EXIT, ...TERM }, stopped: why };
  });
  expect(run.record.ended).toBe(false);
  return story.apply(observed(attempts));
}

describe("a group that its host has stopped by itself", () => {
  const outcomes = (story: GroupStory) => story.run.record;
  const main = task("test");

  test.each<[string, () => GroupStory, object]>([
    ["a main task", () => stopAll(new GroupStory(group(main, task("lint")))), FAILED],
    ["at the end of the lease", () => stopAll(new GroupStory(group(main, task("lint"))), "lease"), LOST],
    ["a prestart task", () => stopAll(new GroupStory(group(task("fetch", prestart), main))), FAILED],
    [
      "a sidecar and the main task it serves",
      () => stopAll(new GroupStory(group(task("db", presidecar), main))),
      FAILED,
    ],
    [
      "a main task, when another had ended well",
      () => stopAll(new GroupStory(group(main, task("lint"))).ends("lint")),
      FAILED,
    ],
    [
      "its poststop task, when the main task had ended: that is its end",
      () => stopAll(new GroupStory(group(main, task("report", poststop))).ends("test")),
      { state: "complete", exitCode: 0 },
    ],
  ])("%s", (_, story, outcome) => {
    expect(outcomes(story())).toMatchObject({ ended: true, outcome });
  });

  test("a task that has failed before is to blame (decisions/tasks.md#who-is-blamed)", () => {
    const story = new GroupStory(group(main, task("lint")));
    story.stubborn.add("test");
    stopAll(story.ends("lint", { code: 2 }));
    expect(outcomes(story).outcome?.failure).toMatchObject({ code: "task_failed" });
  });

  test("a leader that has ended well has ended it", () => {
    const story = new GroupStory(group({ ...main, leader: true }, task("db", presidecar)));
    story.stubborn.add("db");
    stopAll(story.ends("test"));
    expect(outcomes(story)).toMatchObject({ ended: true, outcome: { state: "complete", exitCode: 0 } });
  });

  test("nothing more is started there, a poststop task neither", () => {
    const story = stopAll(new GroupStory(group(main, task("report", poststop))));
    expect(outcomes(story).ended).toBe(true);
    expect(story.log).toEqual(["start test"]);
  });

  test("what was ordered and not yet begun is waited for, and not to be started any more", () => {
    const story = new GroupStory(group(main, task("lint")), undefined, "w1", true);
    story.apply(
      observed([{ id: `${RUN}/test/1.1`, state: "exited", exit: { ...EXIT, ...TERM }, stopped: "agent" }]),
    );
    expect(outcomes(story).ended).toBe(false);
    expect(story.orders).toMatchObject([{ want: "run" }, { id: `${RUN}/lint/1.1`, want: "stop" }]);
  });

  test("all of it is placed anew if its policy allows", () => {
    const again = { reschedule: { attempts: 1, interval: "1h", delay: "5s" } };
    const story = stopAll(new GroupStory({ ...group(main, task("lint")), ...again }));
    expect(outcomes(story)).toMatchObject({ ended: false, outcome: null, endedEpoch: 1 });
    expect(outcomes(story).tasks.map(({ dead }) => dead)).toEqual([undefined, undefined]);
  });
});
