import { describe, expect, test } from "vitest";
import { LEASE_KILL_MS } from "../../../agent/core/bounds.ts";
import { journalOf } from "../../../agent/core/journal.ts";
import { isFree } from "../../../agent/core/lease.ts";
import { reportOfAttempt } from "../../../agent/core/reports/report.ts";
import type { AttemptOrder } from "../../../src/schema/host.ts";
import { busyHost, Driven, EXIT, ID, LEASE_MS, run } from "./drive.ts";

// What is left of an ended attempt is kept, so that commands can be run there (tasks.md#kept).

const gone = { type: "tree_gone", id: ID, killed: false } as const;
const failed = { type: "exited", id: ID, exit: { ...EXIT, code: 3 } } as const;
const endedHold = { type: "hold_ended", id: ID } as const;
const KEEP = { task: { keep: true } } as const;
const MINUTE = 60_000;

const hold = (holdMs: number): AttemptOrder => ({ id: ID, want: "run", holdMs });
const busy = () => busyHost(KEEP);
/** The attempt has failed, and nothing says yet whether it is kept. */
const over = () => busy().tell(failed).tell(gone);
/** The orders keep it for ten minutes. */
const kept = () => over().order([hold(10 * MINUTE)]);

const attemptOf = (host: Driven) => {
  const found = host.state.attempts[ID];
  if (found === undefined) throw new Error("the attempt is forgotten");
  return found;
};
const phaseOf = (host: Driven) => attemptOf(host).hold?.phase;
const saidOf = (host: Driven) => reportOfAttempt(attemptOf(host), host.now).hold;
const saysOver = (host: Driven) => saidOf(host) === "over";

test("its processes are killed as those of any other, and it is reported as ended at once", () => {
  expect(busy().tell(failed).message("kill_tree")).toEqual(busyHost().tell(failed).message("kill_tree"));
  expect(reportOfAttempt(attemptOf(over()), 0)).toMatchObject({
    state: "exited",
    exit: { code: 3 },
    hold: "kept",
  });
});

describe("tasks.md#kept-5: what ends the hold here", () => {
  test.each<[string, () => Driven]>([
    ["the orders end it", () => kept().order([hold(0)])],
    ["the orders end it before they have begun it", () => over().order([hold(0)])],
    ["the orders omit the attempt", () => kept().order([])],
    [
      "its time is over, whatever the orders said since",
      () =>
        kept()
          .order([hold(20 * MINUTE)])
          .pass(10 * MINUTE),
    ],
    [
      "the lease ends",
      () =>
        over()
          .order([hold(8 * 60 * MINUTE)])
          .pass(LEASE_MS - LEASE_KILL_MS),
    ],
    ["the agent ends", () => kept().tell({ type: "shutdown" })],
  ])("%s: what runs there is killed", (_, host) => {
    const ending = host();
    expect(saidOf(ending)).toBe("kept");
    expect([phaseOf(ending), ending.owed()]).toEqual(["ending", expect.arrayContaining(["end_hold"])]);
    expect(saysOver(ending)).toBe(false);
    expect(saysOver(ending.tell(endedHold))).toBe(true);
  });

  test("nothing ends it before", () => {
    expect([phaseOf(kept().pass(10 * MINUTE - 1)), kept().owed()]).toEqual(["kept", []]);
  });

  test("its end is reported at once", () => {
    const host = kept().order([hold(0)]);
    host.send();
    host.answer([hold(0)]);
    expect(host.tell(endedHold).report()?.attempts).toMatchObject([{ id: ID, hold: "over" }]);
  });

  test("it is forgotten only after that", () => {
    const omitted = kept().order([]);
    expect(omitted.owed()).toEqual(["end_hold"]);
    expect(omitted.tell(endedHold).owed()).toEqual(["forget"]);
  });

  test("a process that cannot be killed keeps it, and is tried again", () => {
    const stuck = kept()
      .order([hold(0)])
      .tell({ type: "kill_failed", id: ID, error: "pid 7" });
    expect([phaseOf(stuck), stuck.owed()]).toEqual(["ending", ["end_hold"]]);
  });
});

test.each<[string, () => Driven]>([
  [
    "of a task that is never kept",
    () =>
      busyHost()
        .tell(failed)
        .tell(gone)
        .order([hold(MINUTE)]),
  ],
  ["of a command that never started", () => unstarted().order([hold(MINUTE)])],
])("an attempt %s is not: it says so", (_, host) => {
  expect([phaseOf(host()), saysOver(host())]).toEqual(["over", true]);
});

const unstarted = () =>
  busyHost(KEEP)
    .tell({ type: "launch_failed", id: ID, startError: { code: "start_failed", text: "no" } })
    .tell(gone);

test("a machine is not free while somebody may be inside", () => {
  const host = kept();
  const later = host.now + 2 * LEASE_MS;
  expect([isFree(host.state, later), isFree(host.order([]).tell(endedHold).state, later)]).toEqual([
    false,
    true,
  ]);
});

describe("tasks.md#kept-5: the next start of the agent", () => {
  const next = (host: Driven) =>
    new Driven({
      attempts: [
        { id: ID, journal: journalOf(attemptOf(host)), main: { kind: "ended", at: 1, exit: failed.exit } },
      ],
      lease: { until: host.state.leaseUntil ?? 0, ms: LEASE_MS },
    });

  test("goes on with a hold, and kills nothing there", () => {
    expect([phaseOf(next(kept())), next(kept()).owed()]).toEqual(["kept", []]);
  });

  test("ends it at the time that was said before", () => {
    const host = next(kept());
    host.now = kept().now;
    expect(host.pass(10 * MINUTE).owed()).toEqual(["end_hold"]);
  });

  test("finishes an end that has begun", () => {
    expect(next(kept().order([hold(0)])).owed()).toEqual(["end_hold"]);
  });

  test("kills what is left of an attempt that had just ended", () => {
    expect(next(busy().tell(failed)).owed()).toEqual(["kill_tree"]);
  });
});

test("an attempt that ran well is forgotten like any other", () => {
  const host = busy()
    .tell({ ...failed, exit: EXIT })
    .tell(gone)
    .order([]);
  expect(host.tell(endedHold).owed()).toEqual(["forget"]);
});

test("the order of a kept attempt never starts it again", () => {
  expect(
    over()
      .order([{ ...run(ID, KEEP), holdMs: MINUTE }])
      .owed(),
  ).toEqual([]);
});
