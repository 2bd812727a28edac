import { describe, expect, test } from "vitest";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import {
  GroupStory,
  group,
  poststart,
  poststop,
  presidecar,
  prestart,
  sidecar,
  task,
} from "../support/group.ts";

const leader = { leader: true };
const types = (story: GroupStory, name: string) =>
  story.run.record.events.filter((event) => event.task === name).map(({ type }) => type);

describe("tasks start when their gate opens", () => {
  test("prestart, then main, then poststart, and poststop at the end (tasks.md#reaction-6)", () => {
    const all = group(task("post", poststart), task("main"), task("pre", prestart), task("last", poststop));
    const story = new GroupStory(all);
    expect(story.living).toEqual(["pre"]);
    expect(story.ends("pre").living).toEqual(["main", "post"]);
    expect(story.ends("post").living).toEqual(["main"]);
    expect(story.ends("main").living).toEqual(["last"]);
    expect(story.ends("last").status).toMatchObject({
      state: "complete",
      exitCode: 0,
      allocStatus: "complete",
    });
  });

  test("main waits for all prestart tasks, and for its sidecars to run", () => {
    const story = new GroupStory(
      group(task("main"), task("a", prestart), task("b", prestart), task("s", presidecar)),
    );
    expect(story.living).toEqual(["a", "b", "s"]);
    expect(story.ends("a").living).toEqual(["b", "s"]);
    expect(story.ends("b").living).toEqual(["main", "s"]);
  });

  test("a sidecar that starts again blocks main only the first time (tasks.md#stage-note-3)", () => {
    const again = { ...presidecar, restart: { attempts: 3, delay: "1s" } };
    const story = new GroupStory(
      group(task("main", { restart: { attempts: 3, delay: "1s" } }), task("s", again)),
    );
    story.endTogether(["s", { code: 1 }], ["main", { code: 1 }]);
    expect(story.living).toEqual([]);
    expect(story.later(1_250).living).toEqual(["main", "s"]);
  });

  test("a sidecar that is never seen to run, because it ends at once, is not there for main", () => {
    const again = { ...presidecar, restart: { attempts: 9, delay: "1s" } };
    const story = new GroupStory(group(task("m"), task("s", again)), undefined, "w1", true);
    expect(story.living).toEqual(["s"]);
    expect(story.ends("s", { code: 1 }).living).toEqual([]);
  });

  test("two main tasks run at once, and the run ends with the last (tasks.md#group-3)", () => {
    const story = new GroupStory(group(task("a"), task("b")));
    expect(story.living).toEqual(["a", "b"]);
    expect(story.ends("a").status).toMatchObject({ state: "running", allocStatus: "running" });
    expect(story.ends("b").status).toMatchObject({ state: "complete", exitCode: null });
  });
});

describe("what the end of one task means for the others", () => {
  // tasks.md#group-2
  test("a prestart task that fails: main never starts, poststop runs, and it is to blame", () => {
    const story = new GroupStory(group(task("main"), task("pre", prestart), task("last", poststop)));
    expect(story.ends("pre", { code: 7 }).living).toEqual(["last"]);
    expect(story.status.allocStatus).toBe("failed");
    expect(story.ends("last").status).toMatchObject({
      state: "failed",
      failure: { class: "task", code: "task_failed", text: 'task "pre" failed with exit code 7' },
      exitCode: null,
    });
    expect(types(story, "main")).toEqual(["Sibling Task Failed"]);
    expect(types(story, "pre")).toEqual(["Started", "Terminated", "Not Restarting"]);
  });

  test("a sibling that fails stops the others, which have not failed", () => {
    const story = new GroupStory(group(task("a"), task("b")));
    story.ends("b", { code: 1 });
    expect(story.log).toEqual(["start a", "start b", "end b", "stop a", "end a"]);
    expect(story.status.tasks.map(({ name, failed }) => [name, failed])).toEqual([
      ["a", false],
      ["b", true],
    ]);
    expect(types(story, "a")).toEqual(["Started", "Sibling Task Failed", "Killing", "Terminated", "Killed"]);
    const named = story.run.record.events.find(({ type }) => type === "Sibling Task Failed");
    expect(named).toMatchObject({ details: { failed_sibling: "b" } });
  });

  // tasks.md#group-4
  test("a leader that ends well stops the others, and the run is what the leader says", () => {
    const story = new GroupStory(group(task("a"), task("l", leader)));
    expect(story.ends("l").status).toMatchObject({ state: "complete", exitCode: 0 });
    expect(types(story, "a")).toContain("Leader Task Dead");
  });

  test("a leader that fails is a failed sibling", () => {
    const story = new GroupStory(group(task("a"), task("l", leader)));
    expect(story.ends("l", { code: 3 }).status).toMatchObject({ state: "failed", exitCode: 3 });
    expect(types(story, "a")).toContain("Sibling Task Failed");
  });

  test("a leader that ends well wins over a sibling that failed in the same moment", () => {
    const story = new GroupStory(group(task("a"), task("b"), task("l", leader)));
    story.endTogether(["a", { code: 1 }], ["l", {}]);
    expect(types(story, "b")).toContain("Leader Task Dead");
    expect(story.status.state).toBe("failed");
  });

  test("when only sidecars are left, they are stopped", () => {
    const again = { restart: { attempts: 3, delay: "1s" } };
    const story = new GroupStory(
      group(task("main"), task("s", { ...presidecar, ...again }), task("t", { ...sidecar, ...again })),
    );
    expect(story.living).toEqual(["main", "s", "t"]);
    expect(story.ends("main", {}).status).toMatchObject({ state: "complete", exitCode: 0 });
    expect(types(story, "s")).toContain("Main Tasks Dead");
    expect(story.status.tasks.map(({ restarts }) => restarts)).toEqual([0, 0, 0]);
  });

  // tasks.md#group-5
  test("a sidecar that dies for good fails the run; one that may start again does not", () => {
    const story = new GroupStory(
      group(task("main"), task("s", { ...presidecar, restart: { attempts: 1, delay: "1s" } })),
    );
    expect(story.ends("s", { code: 0 }).living).toEqual(["main"]);
    expect(story.later(1_250).living).toEqual(["main", "s"]);
    expect(story.ends("s", { code: 1 }).status).toMatchObject({
      state: "failed",
      failure: { text: 'task "s" failed with exit code 1' },
    });
  });

  // tasks.md#group-1, tasks.md#poststop-5
  test("a poststop task that fails makes the run failed, and stops nobody", () => {
    const story = new GroupStory(group(task("main"), task("p", poststop), task("q", poststop)));
    story.ends("main").ends("p", { code: 1 });
    expect(story.living).toEqual(["q"]);
    expect(story.status).toMatchObject({ state: "running", allocStatus: "failed" });
    expect(story.ends("q").status).toMatchObject({ state: "failed", exitCode: 0 });
  });

  test("the run has failed as soon as one task has, though others still end (tasks.md#group-6)", () => {
    const story = new GroupStory(group(task("a"), task("b")));
    story.stubborn.add("a");
    expect(story.ends("b", { code: 1 }).status).toMatchObject({ state: "running", allocStatus: "failed" });
    expect(story.living).toEqual(["a"]);
  });

  // decisions/tasks.md#who-is-blamed
  test("of two that failed, the first by time is to blame, then by name", () => {
    const story = new GroupStory(group(task("z"), task("a")));
    story.stubborn.add("a");
    story.ends("z", { code: 1 }).later(10).ends("a", { code: 2 });
    expect(story.status.failure?.text).toContain('"z"');
    const both = new GroupStory(group(task("z"), task("a")));
    expect(both.endTogether(["z", { code: 1 }], ["a", { code: 2 }]).status.failure?.text).toContain('"a"');
  });

  test("a command that is not there fails the group with its own code", () => {
    const story = new GroupStory(group(task("main"), task("b")));
    expect(story.cannotStart("b").status).toMatchObject({
      state: "failed",
      failure: { class: "task", code: "command_not_found" },
    });
  });
});

describe("a group is stopped in order", () => {
  const tasks = [
    task("s", presidecar),
    task("m"),
    task("l", leader),
    task("t", sidecar),
    task("p", poststop),
  ];

  // tasks.md#order-6, tasks.md#stage-note-6
  test("the leader alone, then the others, then sidecars; poststop runs after that", () => {
    const story = new GroupStory(group(...tasks)).abort();
    expect(story.log.filter((line) => !line.startsWith("end"))).toEqual([
      "start s",
      "start m",
      "start l",
      "start t",
      "stop l",
      "stop m",
      "stop s",
      "stop t",
      "start p",
    ]);
    expect(story.ends("p").status).toMatchObject({ state: "aborted", allocStatus: "complete" });
  });

  test("a task that fails has the others stopped in the same order (tasks.md#order-note-2)", () => {
    const story = new GroupStory(group(...tasks, task("bad"))).ends("bad", { code: 1 });
    const stops = story.log.filter((line) => line.startsWith("stop"));
    expect(stops).toEqual(["stop l", "stop m", "stop s", "stop t"]);
    expect(story.living).toEqual(["p"]);
  });

  // tasks.md#kill-7, tasks.md#life-4
  test("each waits for the ones before it, however long that takes", () => {
    const story = new GroupStory(group(...tasks));
    for (const name of ["l", "m", "s", "t"]) story.stubborn.add(name);
    story.abort();
    expect(story.later(60_000).ends("l", { code: 9 }).log).not.toContain("stop s");
    expect(story.ends("m").log.slice(-2)).toEqual(["stop s", "stop t"]);
    story.endTogether(["s", {}], ["t", {}]).ends("p");
    expect(story.status).toMatchObject({ state: "aborted" });
    expect(story.status.tasks.map(({ failed }) => failed)).toEqual([false, false, false, false, false]);
  });

  // tasks.md#order-1, tasks.md#kill-3, tasks.md#placement-10
  test("the group's shutdown delay comes first, once, and then each task's own", () => {
    const slow = { shutdownDelay: "3s" };
    const story = new GroupStory({
      ...group(task("m", slow), task("s", { ...presidecar, ...slow })),
      shutdownDelay: "2s",
    });
    story.abort();
    expect(story.later(4_999).log).not.toContain("stop m");
    expect(story.later(1).log.at(-1)).toBe("end m");
    expect(story.status.tasks[1]).toMatchObject({ state: "running", phase: "stopping" });
    expect(story.later(2_999).living).toEqual(["s"]);
    expect(story.later(1).status.state).toBe("aborted");
    expect(types(story, "s")).toEqual([
      "Started",
      "Killing",
      "Waiting for shutdown delay",
      "Terminated",
      "Killed",
    ]);
  });

  // tasks.md#life-7, tasks.md#kill-4, tasks.md#kill-5
  // tasks.md#order-1
  test.each(["0s", "2s"])(
    "turns that have begun after a delay of %s go on when the clock goes back",
    (delay) => {
      const story = new GroupStory({ ...group(...tasks), shutdownDelay: delay });
      story.stubborn.add("l");
      story.abort().later(2_000);
      expect(story.log.at(-1)).toBe("stop l");
      story.now -= 60_000;
      story.ends("l");
      expect(story.log.filter((line) => line.startsWith("stop"))).toEqual([
        "stop l",
        "stop m",
        "stop s",
        "stop t",
      ]);
    },
  );

  test("a task that ends by itself in its shutdown delay is killed all the same", () => {
    const story = new GroupStory(
      group(task("m", { shutdownDelay: "9s", restart: { attempts: 3 } }), task("n")),
    );
    story.abort().ends("m", { code: 1 });
    expect(story.status).toMatchObject({ state: "aborted", tasks: [{ failed: false, restarts: 0 }, {}] });
  });

  // tasks.md#life-2
  test("a kill in a restart delay ends the task at once, and it has not failed", () => {
    const story = new GroupStory(group(task("m", { restart: { attempts: 3, delay: "1h" } }), task("n")));
    story.ends("m", { code: 1 });
    expect(story.status.tasks[0]).toMatchObject({ state: "pending", phase: "backoff", restarts: 1 });
    expect(story.abort().status).toMatchObject({ state: "aborted", tasks: [{ failed: false }, {}] });
    expect(story.log).not.toContain("stop m");
  });
});

describe("poststop runs after every kind of end (tasks.md#poststop-1)", () => {
  const one = () => new GroupStory({ ...group(task("main"), task("p", poststop)), timeout: "1m" });

  test.each<[string, (story: GroupStory) => GroupStory, string]>([
    ["success", (story) => story.ends("main"), "complete"],
    ["failure", (story) => story.ends("main", { code: 1 }), "failed"],
    ["a signal", (story) => story.ends("main", { code: null, signal: "SIGSEGV" }), "failed"],
    ["a command that is not there", (story) => story.cannotStart("main"), "failed"],
    ["an abort", (story) => story.abort(), "aborted"],
    ["a loss", (story) => story.isLost("main"), "failed"],
  ])("%s", (_what, end, state) => {
    const story = end(one());
    expect(story.living).toEqual(["p"]);
    expect(story.status.state).toBe("running");
    expect(story.ends("p").status.state).toBe(state);
  });

  test("but not after the time limit, which stops it, too (tasks.md#order-2)", () => {
    const story = one().later(60_000);
    expect(story.status).toMatchObject({ state: "timedout" });
    expect(story.log).not.toContain("start p");
    const late = one().ends("main");
    expect(late.living).toEqual(["p"]);
    expect(late.later(60_000).status).toMatchObject({ state: "timedout" });
    expect(late.log.slice(-2)).toEqual(["stop p", "end p"]);
  });

  // tasks.md#poststop-2, tasks.md#poststop-3, tasks.md#poststop-4
  test("an abort does not stop it once it runs, and it starts again after a failure by its policy", () => {
    const again = { ...poststop, restart: { attempts: 1, delay: "1s" } };
    const story = new GroupStory(group(task("main"), task("p", again))).ends("main").abort();
    expect(story.living).toEqual(["p"]);
    story.ends("p", { code: 1 }).later(1_250);
    expect(story.living).toEqual(["p"]);
    expect(story.ends("p").status.state).toBe("aborted");
  });
});

describe("restarts", () => {
  const again = { restart: { attempts: 2, delay: "10s", interval: "1h" } };

  test("a task is started again within its policy, and then it has failed (restart.md#the-decision)", () => {
    const story = new GroupStory(group(task("m", again), task("n")));
    story.ends("m", { code: 1 }).later(12_500).ends("m", { code: 1 }).later(12_500);
    expect(story.status.tasks[0]?.attempts.map(({ id }) => id.split("/")[2])).toEqual(["1.1", "1.2", "1.3"]);
    expect(story.living).toEqual(["m", "n"]);
    expect(story.ends("m", { code: 1 }).status.state).toBe("failed");
    expect(types(story, "m").filter((type) => type.includes("Restarting"))).toEqual([
      "Restarting",
      "Restarting",
      "Not Restarting",
    ]);
  });

  test("a run that waits for one says so, and when it goes on (invariant 5)", () => {
    const story = new GroupStory(group(task("m", again))).ends("m", { code: 1 });
    const why = whyOf(story.run, null, "w1", story.now);
    expect(why).toMatchObject({ state: "running", reason: { code: "backoff" } });
    expect(why.next.at).toBe(story.status.tasks[0]?.nextStart);
  });

  // restart.md#note-1, restart.md#note-10
  test("its window begins with the placement, and outlives evictions", () => {
    const once = { restart: { attempts: 1, delay: "0s", interval: "10s" } };
    const within = new GroupStory(group(task("m", once), task("n"))).later(9_000).ends("m", { code: 1 });
    expect(within.reload().later(1_000).ends("m", { code: 1 }).status.tasks[0]?.failed).toBe(true);
    const beyond = new GroupStory(group(task("m", once), task("n"))).later(9_000).ends("m", { code: 1 });
    expect(beyond.reload().later(1_001).ends("m", { code: 1 }).living).toEqual(["m", "n"]);
  });

  // restart.md#note-3
  test("in mode delay the end of the window is waited for, and opens the next", () => {
    const patient = { restart: { attempts: 1, delay: "0s", interval: "10s", mode: "delay" } };
    const story = new GroupStory(group(task("m", patient), task("n"))).later(1_000);
    story.ends("m", { code: 1 }).ends("m", { code: 1 });
    expect(story.later(8_999).living).toEqual(["n"]);
    expect(story.later(1).living).toEqual(["m", "n"]);
    expect(story.later(1).ends("m", { code: 1 }).living).toEqual(["m", "n"]);
  });

  test("the group runs on while one of two waits to be started again (tasks.md#alloc-case-10)", () => {
    const story = new GroupStory(group(task("m", again), task("n"))).ends("m", { code: 1 });
    expect(story.status).toMatchObject({ allocStatus: "running", tasks: [{ state: "pending" }, {}] });
  });

  test("no earlier than the delay, no later than a quarter more, over evictions too", () => {
    const story = new GroupStory(group(task("m", again), task("n"))).ends("m", { code: 1 }).reload();
    expect(story.later(9_999).living).toEqual(["n"]);
    expect(story.reload().later(2_501).living).toEqual(["m", "n"]);
  });

  test("a lone command ends with its exit code when it may not be started again, in either form", () => {
    const story = new GroupStory(group(task("m", again)));
    for (let i = 0; i < 2; i += 1) story.ends("m", { code: 5 }).later(12_500);
    expect(story.status.state).toBe("running");
    expect(story.ends("m", { code: 5 }).status).toMatchObject({
      state: "complete",
      allocStatus: "failed",
      exitCode: 5,
      failure: null,
    });
    const short = new GroupStory({ argv: ["m"], ...again }).ends("main", { code: 5 });
    expect(short.status.tasks[0]).toMatchObject({ phase: "backoff", restarts: 1 });
    expect(short.later(12_500).ends("main").status).toMatchObject({ state: "complete", exitCode: 0 });
  });

  test("a service goes on after a success, a batch does not (restart.md#on-success)", () => {
    expect(new GroupStory({ ...group(task("m", again)), type: "service" }).ends("m").status.state).toBe(
      "running",
    );
    expect(new GroupStory(group(task("m", again))).ends("m").status.state).toBe("complete");
  });

  // tasks.md#failure-note-2, tasks.md#life-1, tasks.md#start-4
  test("what cannot be started is tried again only if that may help", () => {
    const story = new GroupStory(group(task("m", again), task("n"))).cannotStart("m", true);
    expect(story.status.tasks[0]?.phase).toBe("backoff");
    expect(story.later(12_500).cannotStart("m").status.failure?.code).toBe("command_not_found");
  });

  test("what the host lost is started anew without counting: at once, then later, and not for ever", () => {
    const story = new GroupStory(group(task("m", again), task("n"))).isLost("m");
    expect(story.living).toEqual(["m", "n"]);
    expect(story.isLost("m").living).toEqual(["n"]);
    for (let i = 0; i < 3; i += 1) story.later(12_500).isLost("m");
    expect(story.status.tasks[0]).toMatchObject({ restarts: 0, failed: false });
    expect(story.later(12_500).isLost("m").status).toMatchObject({
      state: "failed",
      failure: { class: "infrastructure", code: "status_lost" },
    });
  });
});
