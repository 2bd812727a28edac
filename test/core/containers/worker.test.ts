import { describe, expect, test } from "vitest";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import { statusOf } from "../../../src/core/worker/read/status.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { type HostEngine, Report } from "../../../src/schema/host.ts";
import { MAX_TEXT_CHARS } from "../../../src/shared/limits.ts";
import { at, attemptOf, order, ready, reloaded, report, runningOf, T0, TASK } from "../support/worker.ts";

// What a worker knows of its host's container engine (containers.md#engines, containers.md#outage).

const container = { image: "node:24", pull: "missing" as const, network: "bridge" as const, init: true };
const PODMAN: HostEngine = {
  name: "podman",
  version: "4.3.1",
  api: "1.41",
  logs: "exact",
  state: "usable",
  fault: null,
};
const DOWN: HostEngine = { ...PODMAN, state: "down", fault: "podman: nobody answers" };
const REFUSED: HostEngine = { ...PODMAN, state: "refused", fault: "podman runs without root" };

const says = (seq: number, engine?: HostEngine, protocol = 2, more: object = {}) =>
  report(seq, {
    means: { kill: "cgroup", limits: [], protocol, ...(engine === undefined ? {} : { engine }) },
    ...more,
  });
const contained = (run: string) =>
  order(run, {
    protocol: 2,
    attempts: [{ id: attemptOf(run), want: "run", task: { ...TASK, container } }],
  });
const types = (state: ReturnType<typeof ready>) => state.record.events.map(({ type }) => type);

describe("a worker that is ordered to run a container", () => {
  test.each<[string, HostEngine | undefined, number, string]>([
    ["accepts where its host has an engine", PODMAN, 2, "accepted"],
    ["refuses where its host has none", undefined, 2, "ended"],
    ["refuses where the engine does not answer now", DOWN, 2, "ended"],
    ["refuses where the engine is of a kind that is not used", REFUSED, 2, "ended"],
    ["refuses where its agent knows no containers", PODMAN, 1, "ended"],
  ])("%s", (_what, engine, protocol, kind) => {
    const state = reloaded(at(ready(), T0, says(2, engine, protocol)));
    const wanted = contained("a");
    expect(answerOrder(at(state, T0, says(3, engine, protocol), wanted), wanted.body).kind).toBe(kind);
  });

  test("a refusal is no placement that has begun, so the run goes elsewhere (rules.md#r2)", () => {
    const wanted = contained("a");
    const state = at(ready(), T0, says(2, DOWN), wanted);
    expect(answerOrder(state, wanted.body)).toEqual({ kind: "ended", how: "refused", held: false });
  });

  test("a command goes to a host without an engine", () => {
    const wanted = order("b");
    expect(answerOrder(at(ready(), T0, says(2), wanted), wanted.body).kind).toBe("accepted");
  });

  test("an outage ends no placement that was accepted", () => {
    const wanted = contained("a");
    const before = at(ready(), T0, says(2, PODMAN), wanted, { type: "orders_sent" });
    const state = at(before, T0, says(3, DOWN, 2, { attempts: [runningOf("a")] }));
    expect(answerOrder(state, wanted.body).kind).toBe("accepted");
    expect(state.record).toMatchObject({ phase: "ready", idleBehavior: "run" });
  });
});

describe("what the pool hears of it", () => {
  test.each<[string, HostEngine | undefined, number, object | undefined]>([
    ["nothing of one that is usable", PODMAN, 2, undefined],
    ["that there is none", undefined, 2, { why: "the machine has no container engine", lasts: true }],
    ["that it is refused", REFUSED, 2, { why: REFUSED.fault, lasts: true }],
    ["that it is down, which does not last", DOWN, 2, { why: DOWN.fault, lasts: false }],
    ["nothing from an agent that knows no engines", undefined, 1, undefined],
  ])("%s", (_what, engine, protocol, noEngine) => {
    expect(upsertOf(at(ready(), T0, says(2, engine, protocol)), T0).noEngine).toEqual(noEngine);
  });

  test("as soon as it changes, and only then", () => {
    const before = at(ready(), T0, says(2, PODMAN));
    const outage = at(before, T0, says(3, DOWN));
    expect(outage.record.version).toBe(before.record.version + 1);
    expect(at(outage, T0, says(4, DOWN)).record).toBe(outage.record);
    expect(upsertOf(at(outage, T0, says(4, PODMAN)), T0).noEngine).toBeUndefined();
  });
});

describe("what a reader sees of it", () => {
  test("an outage and its end are events of the worker, each once", () => {
    const state = at(
      ready(),
      T0,
      says(2, PODMAN),
      says(3, DOWN),
      says(4, DOWN),
      says(5, { ...DOWN, fault: "podman: it is denied" }),
      says(6, PODMAN),
    );
    expect(types(state).slice(-3)).toEqual(["Engine Down", "Engine Down", "Engine Up"]);
    expect(state.record.events.at(-1)?.message).toBe("podman answers again");
  });

  test("one that cannot be used any more, and one that is gone, are events of their own", () => {
    const state = at(ready(), T0, says(2, PODMAN), says(3, REFUSED), says(4), says(5));
    expect(types(state).slice(-2)).toEqual(["Engine Refused", "Engine Gone"]);
    expect(types(state).filter((type) => type.startsWith("Engine"))).toHaveLength(2);
  });

  test("one that was never there is no event", () => {
    expect(types(at(ready(), T0, says(2))).some((type) => type.startsWith("Engine"))).toBe(false);
  });

  test("the status of the worker has the engine as its host reports it", () => {
    expect(statusOf(at(ready(), T0, says(2, DOWN)), T0).engine).toEqual(DOWN);
    expect(statusOf(at(ready(), T0, says(2)), T0).engine).toBeUndefined();
  });
});

test("a host says no more than fits into a report", () => {
  const said = (engine: object) =>
    Report.safeParse({
      incarnation: 1,
      seq: 1,
      full: true,
      ordersSeen: 0,
      attempts: [],
      means: { kill: "cgroup", limits: [], protocol: 2, engine },
    }).success;
  expect(said(DOWN)).toBe(true);
  expect(said({ ...DOWN, name: "x".repeat(65) })).toBe(false);
  expect(said({ ...DOWN, state: "sleepy" })).toBe(false);
  expect(said({ ...DOWN, fault: "x".repeat(MAX_TEXT_CHARS + 1) })).toBe(false);
});
