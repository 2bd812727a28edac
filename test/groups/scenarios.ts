import { type Act, type Scenario, task } from "./scenario.ts";

// What a group of tasks does, once for all levels: in the simulator, with real objects, and with real
// processes. tasks.md#reactions, tasks.md#order-of-the-end, tasks.md#poststop, restart.md#restart-policy,
// tasks.md#kill, tasks.md#stages.

const prestart = { lifecycle: { hook: "prestart" as const } };
const sidecar = { lifecycle: { hook: "prestart" as const, sidecar: true } };
const poststart = { lifecycle: { hook: "poststart" as const } };
const poststop = { lifecycle: { hook: "poststop" as const } };

/** Longer than any test, and in the simulator longer than any story. */
const ON = { fake: { runFor: "48h" }, command: "exec sleep 86400" };
const ends = (exitCode = 0, after = "0") => ({
  fake: { runFor: `${after}s`, exitCode },
  command: `sleep ${after}; exit ${exitCode}`,
});
const DEAF = {
  fake: { runFor: "48h", ignoreSignals: true },
  command: "while :; do sleep 1; done",
  before: "trap '' TERM",
};
/** What has no processes cannot fork: it plays one that ends with all that it has started. */
const FORKS_TWICE = { fake: { runFor: "48h" }, command: "(sh -c 'sleep 600 & sleep 600' &); exec sleep 600" };
const HOG = {
  fake: { signal: "SIGKILL" as const, oomKilled: true },
  command: "exec tail /dev/zero",
  memory: "32MiB",
};
const MISSING = {
  fake: {
    startError: { code: "command_not_found" as const, text: "There is no no-such-command on this machine" },
  },
  argv: ["no-such-command"],
};
/** It is gone with its agent. A real one is killed together with its supervisor. */
const MORTAL = { ...ON, fake: { ...ON.fake, dieWithAgent: true } };

const clean = task("clean", ends(), poststop);
const abortOnce = (...once: string[]): Act => ({ once, what: "abort" });

/** What has run and ended by itself, was stopped, or never ran. */
const DONE = { failed: false, exits: ["0"], events: "Started, Terminated" };
const NEVER = { failed: false, exits: [], events: "" };
const failedWith = (exit: string) => ({
  failed: true,
  exits: [exit],
  events: "Started, Terminated, Not Restarting",
});
const stoppedBy = (reason: string, exit = "SIGTERM") => ({
  failed: false,
  exits: [exit],
  events: `Started, ${reason}Killing, Terminated, Killed`,
});
const SIBLING = "Sibling Task Failed, ";

const COMPLETE = { state: "complete", allocStatus: "complete", exitCode: 0, failure: null } as const;
const ABORTED = { state: "aborted", allocStatus: "complete", exitCode: null, failure: null } as const;
const failedBy = (text: string, exitCode: number | null = null, code = "task_failed") =>
  ({ state: "failed", allocStatus: "failed", exitCode, failure: { code, text } }) as const;

export const SCENARIOS: Scenario[] = [
  {
    name: "prestart, main with its sidecar, poststart, poststop: one after the other",
    tasks: [
      task("db", ON, sidecar),
      task("prepare", ends(), prestart),
      task("work", ends(0, "1")),
      task("announce", ends(), poststart),
      clean,
    ],
    end: {
      ...COMPLETE,
      tasks: {
        db: stoppedBy("Main Tasks Dead, "),
        prepare: DONE,
        work: DONE,
        announce: DONE,
        clean: DONE,
      },
    },
    order: [
      [
        "prepare Terminated",
        "work Started",
        "announce Started",
        "db Killing",
        "db Terminated",
        "clean Started",
      ],
      ["db Started", "work Started", "work Terminated", "db Killing"],
    ],
  },
  {
    name: "a prestart task that fails: main never starts, poststop runs, and it is to blame",
    tasks: [task("prepare", ends(3), prestart), task("work", ends()), clean],
    end: {
      ...failedBy('task "prepare" failed with exit code 3'),
      tasks: { prepare: failedWith("3"), work: { ...NEVER, events: "Sibling Task Failed" }, clean: DONE },
    },
    order: [["prepare Terminated", "work Sibling Task Failed", "clean Started"]],
  },
  {
    name: "a sidecar that dies fails the group",
    tasks: [task("db", ends(9, "2"), sidecar), task("work", ON), clean],
    end: {
      // Whoever is to blame, the exit code is that of the one main task, which was stopped by SIGTERM.
      ...failedBy('task "db" failed with exit code 9', 143),
      tasks: { db: failedWith("9"), work: stoppedBy(SIBLING), clean: DONE },
    },
    order: [["db Terminated", "work Killing", "work Terminated", "clean Started"]],
  },
  {
    name: "a leader that ends first ends the others, and its exit code is the run's",
    tasks: [task("work", ON), task("boss", ends(0, "2"), { leader: true }), clean],
    end: { ...COMPLETE, tasks: { work: stoppedBy("Leader Task Dead, "), boss: DONE, clean: DONE } },
    order: [["boss Terminated", "work Killing", "work Terminated", "clean Started"]],
  },
  {
    name: "an abort stops the leader, then the others, then sidecars; poststop runs after it",
    tasks: [task("db", ON, sidecar), task("other", ON), task("work", ON, { leader: true }), clean],
    act: abortOnce("db", "other", "work"),
    end: {
      ...ABORTED,
      tasks: { db: stoppedBy(""), other: stoppedBy(""), work: stoppedBy(""), clean: DONE },
    },
    order: [
      [
        "work Terminated",
        "other Killing",
        "other Terminated",
        "db Killing",
        "db Terminated",
        "clean Started",
      ],
    ],
  },
  {
    name: "an abort while a prestart task runs: main never starts, poststop runs",
    tasks: [task("prepare", ON, prestart), task("work", ends()), clean],
    act: abortOnce("prepare"),
    end: { ...ABORTED, tasks: { prepare: stoppedBy(""), work: NEVER, clean: DONE } },
    order: [["prepare Terminated", "clean Started"]],
  },
  {
    name: "a main task that fails stops its siblings, and poststop runs",
    tasks: [task("work", ends(4, "2")), task("other", ON), clean],
    end: {
      ...failedBy('task "work" failed with exit code 4', 4),
      tasks: { work: failedWith("4"), other: stoppedBy(SIBLING), clean: DONE },
    },
    order: [["work Terminated", "other Killing", "other Terminated", "clean Started"]],
  },
  {
    name: "a task whose restarts are used up fails the group",
    tasks: [
      task("db", ON, sidecar),
      task("work", ends(4), { restart: { attempts: 2, delay: "50ms" } }),
      clean,
    ],
    end: {
      ...failedBy('task "work" failed with exit code 4', 4),
      tasks: {
        db: stoppedBy(SIBLING),
        work: {
          failed: true,
          exits: ["4", "4", "4"],
          events: `${"Started, Terminated, Restarting, ".repeat(2)}Started, Terminated, Not Restarting`,
        },
        clean: DONE,
      },
    },
    order: [["work Not Restarting", "db Killing", "db Terminated", "clean Started"]],
  },
  {
    name: "a poststop task that fails fails the group that had ended well",
    tasks: [task("work", ends()), task("clean", ends(7), poststop)],
    end: {
      ...failedBy('task "clean" failed with exit code 7', 0),
      tasks: { work: DONE, clean: failedWith("7") },
    },
    order: [["work Terminated", "clean Started"]],
  },
  {
    name: "poststop does not run when the time is over",
    tasks: [task("work", ON), clean],
    timeout: "4s",
    end: {
      state: "timedout",
      allocStatus: "complete",
      exitCode: null,
      failure: null,
      tasks: {
        // Host and control plane both look at the time: who is faster says whether it is still to be stopped.
        work: { failed: false, exits: ["SIGTERM"], events: /^Started, (Killing, )?Terminated, Killed$/ },
        clean: NEVER,
      },
    },
    order: [["work Started", "work Terminated"]],
  },
  {
    name: "a task that ignores SIGTERM is killed when its time is over",
    tasks: [task("work", DEAF), clean],
    act: abortOnce("work"),
    end: { ...ABORTED, tasks: { work: stoppedBy("", "SIGKILL"), clean: DONE } },
    order: [["work Terminated", "clean Started"]],
  },
  {
    name: "a task that forks twice ends with all that it has started",
    tasks: [task("work", FORKS_TWICE), clean],
    act: abortOnce("work"),
    end: { ...ABORTED, tasks: { work: stoppedBy(""), clean: DONE } },
    order: [["work Terminated", "clean Started"]],
  },
  {
    name: "a task that is out of memory has failed, and is said to be",
    needs: "memory",
    tasks: [task("db", ON, sidecar), task("work", HOG), clean],
    end: {
      ...failedBy('task "work" failed with SIGKILL', 137),
      tasks: { db: stoppedBy(SIBLING), work: failedWith("SIGKILL, out of memory"), clean: DONE },
    },
    order: [["work Terminated", "db Killing", "db Terminated", "clean Started"]],
  },
  {
    name: "a task whose command is not there fails its group with that code",
    tasks: [task("db", ON, sidecar), task("work", MISSING), clean],
    end: {
      ...failedBy(
        'task "work" could not be started: There is no no-such-command on this machine',
        null,
        "command_not_found",
      ),
      tasks: {
        db: stoppedBy(SIBLING),
        work: { failed: true, exits: ["none"], events: "Driver Failure, Not Restarting" },
        clean: DONE,
      },
    },
    order: [["work Driver Failure", "db Killing", "db Terminated", "clean Started"]],
  },
  {
    name: "a task that is lost fails the group, and poststop runs",
    tasks: [task("work", MORTAL), task("other", ON), clean],
    act: { once: ["work", "other"], what: "agent dies" },
    end: {
      ...failedBy('task "work" was lost, and its exit is unknown', null, "status_lost"),
      tasks: {
        work: { failed: true, exits: ["none"], events: "Started, Lost, Not Restarting" },
        other: stoppedBy(SIBLING),
        clean: DONE,
      },
    },
    order: [["work Lost", "other Killing", "other Terminated", "clean Started"]],
  },
];
