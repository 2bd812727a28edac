import { describe, expect, test } from "vitest";
import { journalOf } from "../../../agent/core/journal.ts";
import type { AttemptOrder } from "../../../src/schema/host.ts";
import { type Driven, EXIT, ID, idleHost, LEASE_MS, run, SETUP, stop } from "./drive.ts";

const DELAY_MS = 9_000;
const artifacts = [{ url: "http://a.test/b", sha256: "0".repeat(64), to: "." }];
const later = (startInMs = DELAY_MS, more: Parameters<typeof run>[1] = {}): AttemptOrder => {
  return { ...run(ID, more), startInMs };
};
const waiting = (more: Parameters<typeof run>[1] = {}) => idleHost().order([later(DELAY_MS, more)]);
const told = (host: Driven) => host.report()?.attempts[0];

describe("an attempt that is ordered for later (host-protocol.md#orders)", () => {
  test.each<[string, () => Driven, string[]]>([
    ["starts not before its time", () => waiting().pass(DELAY_MS - 1), []],
    ["starts then", () => waiting().pass(DELAY_MS), ["start"]],
    ["is prepared not before its time", () => waiting({ task: { artifacts } }).pass(DELAY_MS - 1), []],
    ["is prepared then", () => waiting({ task: { artifacts } }).pass(DELAY_MS), ["prepare"]],
    ["starts at once, if nothing is left of the wait", () => idleHost().order([later(0)]), ["start"]],
    [
      "counts from when it was ordered, not from the report",
      () =>
        idleHost()
          .pass(SETUP.probe.intervalMs)
          .answer([later()], { revision: 2 })
          .pass(DELAY_MS - 1),
      [],
    ],
    [
      "is not put off by the same orders",
      () => waiting().pass(5_000).answer([later()]).pass(4_000),
      ["start"],
    ],
    [
      "goes by newer orders: sooner",
      () =>
        waiting()
          .order([later(1_000)])
          .pass(1_000),
      ["start"],
    ],
    ["goes by newer orders: at once", () => waiting().order([run()]), ["start"]],
    [
      "goes by newer orders: later",
      () =>
        waiting()
          .pass(5_000)
          .order([later()])
          .pass(DELAY_MS - 1),
      [],
    ],
    ["ends with a stop", () => waiting().order([stop()]), ["kill_tree"]],
    ["ends when the orders omit it", () => waiting().order([]), ["kill_tree"]],
    ["ends when it is not to be started any more", () => waiting().order([keep()]), ["kill_tree"]],
    ["ends with its time limit", () => waiting({ timeoutMs: 50 }).pass(50), ["kill_tree"]],
    ["ends with the agent", () => waiting().tell({ type: "shutdown" }), ["kill_tree"]],
    [
      "does not start without a lease (rule R4)",
      () =>
        waiting()
          .order([later(LEASE_MS)])
          .pass(LEASE_MS),
      [],
    ],
  ])("%s", (_what, make, due) => {
    expect(make().owed()).toEqual(due);
  });

  test("is started as the latest orders say", () => {
    const host = waiting().order([later(DELAY_MS, { task: { env: { A: "2" } } })]);
    expect(host.pass(DELAY_MS).message("start")?.task.env).toEqual({ A: "2" });
  });

  test.each<[string, () => Driven]>([
    ["its time limit", () => waiting({ timeoutMs: 50 }).pass(50)],
    ["orders that omit it", () => waiting().order([])],
    ["the end of the agent", () => waiting().tell({ type: "shutdown" })],
  ])("is never started once %s has stopped it, whatever is ordered then", (_what, stopped) => {
    expect(
      stopped()
        .order([later(100)])
        .pass(100)
        .owed(),
    ).toEqual(["kill_tree"]);
  });

  test("keeps its time limit when orders are told anew", () => {
    const host = waiting({ timeoutMs: 100 })
      .pass(60)
      .order([later(DELAY_MS, { timeoutMs: 100 })]);
    expect(host.pass(39).owed()).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["kill_tree"]);
  });

  test("once its time has come, no order takes that back", () => {
    const host = waiting().pass(DELAY_MS).order([later()]);
    expect(host.owed()).toEqual(["start"]);
  });
});

describe("what is reported of it", () => {
  const reportAfter = (host: Driven, ms: number) => told(host.pass(ms));

  test("that it is here, and waits: a full report shows all (host-protocol.md#report)", () => {
    const host = waiting();
    expect(host.send().report.attempts).toEqual([{ id: ID, state: "preparing", waits: true }]);
    expect(reportAfter(host.pass(DELAY_MS), 1_000)).toEqual({ id: ID, state: "preparing" });
  });

  test("nothing by itself: it is no news", () => {
    const host = waiting();
    host.send();
    expect(reportAfter(host, DELAY_MS - 1)).toBeUndefined();
  });

  test("nothing is left of it for another start of the agent", () => {
    const [attempt] = Object.values(waiting().state.attempts);
    expect(attempt && journalOf(attempt).startedAt).toBeUndefined();
  });

  test("its start, a second late as any other", () => {
    const host = waiting();
    host.send();
    host.pass(DELAY_MS).tell({ type: "launched", id: ID, by: "processes" });
    expect(reportAfter(host, 999)).toBeUndefined();
    expect(reportAfter(host, 1)).toMatchObject({ id: ID, state: "running" });
  });

  test("its end at once", () => {
    const host = waiting();
    host.send();
    host.pass(DELAY_MS).tell({ type: "launched", id: ID, by: "processes" });
    host.tell({ type: "exited", id: ID, exit: EXIT }).tell({ type: "tree_gone", id: ID, killed: false });
    expect(told(host)).toMatchObject({ state: "exited" });
  });
});

/** The order to keep an attempt as it is, and never to start it. */
function keep(): AttemptOrder {
  return { id: ID, want: "run" };
}
