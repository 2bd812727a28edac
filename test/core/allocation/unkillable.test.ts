import { describe, expect, test } from "vitest";
import type { AllocationEvent } from "../../../src/core/allocation/machine.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import {
  abort,
  ended,
  exited,
  FIRST,
  observed,
  orderNow,
  runAt,
  started,
  T0,
} from "../support/allocation.ts";

// decisions/tasks.md#kill-that-gave-up; tasks.md#kill-6: after five tries the host says so, and goes on
// trying.

const LATER = T0 + 60_000;
const TIMEOUT = { timeout: "10s" };
const ERROR = "process 7 does not go";

const kill = (error: string | null, treeGone = false) => ({
  tries: 5,
  error,
  treeGone,
  by: "cgroup" as const,
});

/** The host tries still, or has given up. */
const stopping = (error: string | null): AttemptReport => ({
  id: FIRST,
  state: "stopping",
  kill: kill(error),
});
const givenUp = observed([stopping(ERROR)]);
const gone = observed([{ id: FIRST, state: "gone", kill: kill(ERROR, true) }]);
const killed = observed([{ ...exited({ code: null, signal: "SIGKILL" }), kill: kill(ERROR, true) }]);
const exitedWith3 = observed([{ ...exited({ code: 3 }), kill: kill(ERROR, true) }]);
const tick: AllocationEvent = { type: "tick" };

const UNKILLABLE = { state: "failed", failure: { code: "unkillable", class: "infrastructure" } };
const LOST = { state: "unknown", failure: { code: "machine_lost", class: "infrastructure" } };
const plain = (state: string, exitCode: number | null = null) => ({ state, exitCode, failure: null });

// What the host said of the kill, in order, then how it ended: the machine, or after all what runs on it.
const TABLE: [string, AllocationEvent[], object][] = [
  ["no wish, then the machine is lost", [ended("lost")], LOST],
  ["no wish, given up, then the machine is lost", [givenUp, ended("lost")], UNKILLABLE],
  ["no wish, given up, then it goes, its status unknown", [givenUp, gone], UNKILLABLE],
  ["no wish, given up, then it goes, its exit known", [givenUp, exitedWith3], plain("complete", 3)],
  [
    "abort, not given up, then the machine is lost",
    [abort(), observed([stopping(null)]), ended("lost")],
    plain("aborted"),
  ],
  ["abort, given up, then the machine is lost", [abort(), givenUp, ended("lost")], UNKILLABLE],
  ["abort of what was given up, then the machine is lost", [givenUp, abort(), ended("lost")], UNKILLABLE],
  [
    "abort, tries, given up, then the machine is lost",
    [abort(), observed([stopping(null)]), givenUp, ended("lost")],
    UNKILLABLE,
  ],
  ["abort, given up, then it is killed after all", [abort(), givenUp, killed], plain("aborted")],
  ["abort, given up, then it goes, its status unknown", [abort(), givenUp, gone], plain("aborted")],
  ["time-out, given up, then the machine is lost", [tick, givenUp, ended("lost")], UNKILLABLE],
  ["time-out, given up, then it is killed after all", [tick, givenUp, killed], plain("timedout")],
];

describe("a run of which something cannot be killed", () => {
  test.each(TABLE)("%s", (what, events, expected) => {
    const before = started(what.startsWith("time-out") ? TIMEOUT : {});
    const state = runAt(before, LATER, ...events);
    expect(state.record.ended).toBe(true);
    expect(statusOf(state)).toMatchObject(expected);
  });

  test("has no end as long as it may live, and says why it waits (invariant 5)", () => {
    const state = runAt(started(), LATER, abort(), givenUp);
    expect(statusOf(state)).toMatchObject({ state: "running", failure: null });
    expect(orderNow(state, 1, LATER)).toMatchObject({ attempts: [{ id: FIRST, want: "stop" }] });
    expect(whyOf(state, null, "w1", T0).reason).toMatchObject({ code: "unkillable" });
  });

  test("says so once when the host gives up, and with the end (tasks.md#event-killed)", () => {
    const state = runAt(started(), LATER, abort(), givenUp, givenUp, ended("lost"));
    const said = state.record.events.filter(({ type }) => type === "Kill Failed" || type === "Killed");
    expect(said.map(({ type, details }) => [type, details.kill_error])).toEqual([
      ["Kill Failed", ERROR],
      ["Killed", ERROR],
    ]);
  });

  test("an older report does not set it back, and an abort stays to be read", () => {
    const running: AttemptReport = { id: FIRST, state: "running", kill: kill(ERROR) };
    const state = runAt(started(), LATER, abort(), observed([stopping(null)]), observed([running]));
    expect(state.record.tasks[0]?.attempts[0]).toMatchObject({ state: "stopping", killError: ERROR });
    const over = runAt(state, LATER, ended("lost"));
    expect(statusOf(over).abort).toEqual({ reason: "enough", by: "ann" });
  });
});
