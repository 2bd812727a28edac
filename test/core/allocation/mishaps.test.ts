import { describe, expect, test } from "vitest";
import { upsertOf } from "../../../src/core/allocation/summary.ts";
import { NO_MISHAPS } from "../../../src/core/run/mishaps.ts";
import { GroupStory, group, poststop, prestart, task } from "../support/group.ts";

const told = ({ run }: GroupStory) => {
  const { restarts, oomKills, taskFailures, startFailures } = upsertOf(run);
  return { restarts, oomKills, taskFailures, startFailures };
};
const again = { restart: { attempts: 1, delay: "1s" } };
const FAILS = { code: 1 };

describe("a run that has ended tells its pool what went wrong (tasks.md#metrics)", () => {
  test.each<[string, () => GroupStory, object]>([
    ["nothing", () => new GroupStory(group(task("m"))).ends("m"), {}],
    [
      "its only command exits with another code than 0",
      () => new GroupStory({ argv: ["make"] }).ends("main", FAILS),
      { taskFailures: { main: 1 } },
    ],
    [
      "its only command is ended by a signal that nobody here sent",
      () => new GroupStory({ argv: ["make"] }).ends("main", { code: null, signal: "SIGKILL" }),
      { taskFailures: { main: 1 } },
    ],
    [
      "a task fails after a restart: the restart is counted apart",
      () => new GroupStory(group(task("m", again))).ends("m", FAILS).later(2_000).ends("m", FAILS),
      { restarts: 1, taskFailures: { main: 1 } },
    ],
    [
      "a task succeeds after a restart",
      () => new GroupStory(group(task("m", again))).ends("m", FAILS).later(2_000).ends("m"),
      { restarts: 1 },
    ],
    [
      "hooks fail, and a main task never starts",
      () =>
        new GroupStory(group(task("m"), task("pre", prestart), task("last", poststop)))
          .ends("pre", FAILS)
          .ends("last", FAILS),
      { taskFailures: { prestart: 1, poststop: 1 } },
    ],
    [
      "a task fails, and the other is stopped for it",
      () => new GroupStory(group(task("a"), task("b"))).ends("a", FAILS),
      { taskFailures: { main: 1 } },
    ],
    [
      "a command that does not exist",
      () => new GroupStory(group(task("m"))).cannotStart("m"),
      { taskFailures: { main: 1 }, startFailures: 1 },
    ],
    ["it is aborted", () => new GroupStory(group(task("m"))).abort(), {}],
    [
      "its host loses track of it, and it must not be started again",
      () => new GroupStory(group(task("m", { restart: { attempts: 0 } }))).isLost("m"),
      { taskFailures: { main: 1 } },
    ],
  ])("%s", (_what, story, wrong) => {
    const ended = story();
    expect(ended.run.record.ended).toBe(true);
    expect(told(ended)).toEqual({ ...NO_MISHAPS, ...wrong });
    expect(told(ended.reload())).toEqual(told(ended));
  });

  test("one that goes on tells nothing yet", () => {
    const story = new GroupStory(group(task("a", again), task("b"))).ends("a", FAILS);
    expect(told(story)).toEqual(NO_MISHAPS);
  });
});
