import { describe, expect, test } from "vitest";
import { runsOf } from "../../../agent/core/attempts/placements.ts";
import { KEPT_DATA_MS, MAX_KEPT_DATA } from "../../../agent/core/attempts/sticky.ts";
import type { FoundHost } from "../../../agent/core/journal.ts";
import type { Beginning } from "../../../agent/core/types.ts";
import { Driven, EXIT, ID, idleHost, run, SETUP, stop } from "./drive.ts";

// The data of sticky runs on a host: decisions/runs.md#sticky-data; tasks.md#sticky-data.

const NEXT = "build-17/main/2.1";
const sticky = (id = ID, from: number | null = null) => ({ ...run(id), sticky: { from } });
const begun = (placement: string, data: Beginning, from?: string) =>
  ({ type: "begun", placement, data, from }) as const;

/** Its attempt is over and forgotten, and its data are kept. */
function keeping(): Driven {
  const host = idleHost().order([sticky()]).tell(begun("build-17/1", "first"));
  host.tell({ type: "launched", id: ID, by: "processes" }).tell({ type: "exited", id: ID, exit: EXIT });
  host.tell({ type: "tree_gone", id: ID, killed: false }).order([]).tell({ type: "forgotten", id: ID });
  return host.tell({ type: "kept", placement: "build-17/1" });
}

/** A host whose agent was started again, and that keeps these placements since so long. */
function found(keptForMs: Record<string, number>, more: Partial<FoundHost> = {}): Driven {
  const since = Object.entries(keptForMs).map(([placement, ms]) => [placement, { since: 1_000 - ms }]);
  const host = new Driven({ attempts: [], sticky: { begun: {}, kept: Object.fromEntries(since) }, ...more });
  host.tell({ type: "joined", setup: SETUP }).tell({ type: "probed", ok: true, output: "" });
  host.send();
  return host.answer([], { revision: 1 });
}

test.each([
  ["an attempt", idleHost().order([sticky()])],
  ["data that are kept", keeping()],
  ["data that an earlier start has left", found({ "build-17/1": 0 })],
])("a host has something of a run as long as it has %s (redaction.md#secrets)", (_, host) => {
  expect([...runsOf(host.state)]).toEqual(["build-17"]);
});

test("a host has nothing of a run whose kept data are dropped (redaction.md#secrets)", () => {
  const host = keeping().tell({ type: "cleared", placement: "build-17/1" });
  expect([...runsOf(host.state)]).toEqual([]);
});

const SNAPSHOT = `sha256:${"5".repeat(64)}`;
const saves = (host: Driven) => host.due().flatMap((one) => (one.kind === "save" ? [one.placement] : []));

describe("N9: the data of a placement are stored when the orders say so", () => {
  const OTHER = "build-17/other/1.1";
  const save = (...ids: string[]) => ids.map((id) => ({ ...sticky(id), save: true as const }));
  const STORED = { snapshot: SNAPSHOT, files: 1, bytes: 2 };

  /** Two attempts of one placement, of which the first has ended. */
  function half(): Driven {
    const host = idleHost()
      .order([sticky(), sticky(OTHER)])
      .tell(begun("build-17/1", "first"));
    for (const id of [ID, OTHER]) host.tell({ type: "launched", id, by: "processes" });
    return end(host, ID);
  }

  function end(host: Driven, id: string): Driven {
    return host.tell({ type: "exited", id, exit: EXIT }).tell({ type: "tree_gone", id, killed: false });
  }

  test("not before all of it has ended, and not without that word", () => {
    const host = half();
    expect(saves(host.order(save(ID)))).toEqual([]);
    expect(saves(end(host, OTHER))).toEqual(["build-17/1"]);
    expect(saves(end(half(), OTHER))).toEqual([]);
  });

  test.each([STORED, { error: "too large" }])("what became of it is reported at once: %j", (outcome) => {
    const host = end(half(), OTHER).order(save(ID, OTHER));
    host.tell({ type: "saved", placement: "build-17/1", outcome });
    expect(saves(host)).toEqual([]);
    expect(host.report()).toMatchObject({ attempts: [ID, OTHER].map((id) => ({ id, saved: outcome })) });
  });

  test("it is given up when the orders say so no more", () => {
    const host = end(half(), OTHER).order(save(ID, OTHER));
    expect(saves(host)).toEqual(["build-17/1"]);
    expect(saves(host.order([]))).toEqual([]);
  });
});

const drops = (host: Driven) => host.due().flatMap((one) => (one.kind === "drop" ? [one.placement] : []));

describe("a sticky placement begins before anything of it starts", () => {
  test("its directory is made first, once for all its tasks", () => {
    const host = idleHost().order([sticky(), sticky("build-17/other/1.1")]);
    expect(host.owed()).toEqual(["begin"]);
    expect(host.message("begin")).toMatchObject({ placement: "build-17/1", from: undefined });
    expect(host.tell(begun("build-17/1", "first")).owed()).toEqual(["start", "start"]);
  });

  test("it names the data that its order names", () => {
    const host = keeping().order([sticky(NEXT, 1)]);
    expect(host.message("begin")).toMatchObject({ placement: "build-17/2", from: "build-17/1" });
    host.tell(begun("build-17/2", "moved", "build-17/1"));
    expect(host.owed()).toEqual(["start"]);
    expect(host.pass(60_000).report()).toMatchObject({ attempts: [{ id: NEXT, data: "moved" }] });
    expect(host.report()).not.toHaveProperty("kept");
  });

  test("it waits while anything of the placement before lives: nothing takes its files away", () => {
    const host = idleHost().order([sticky()]).tell(begun("build-17/1", "first"));
    host.tell({ type: "launched", id: ID, by: "processes" }).order([stop(), sticky(NEXT, 1)]);
    expect(host.owed()).toEqual(["signal"]);
    host.tell({ type: "exited", id: ID, exit: EXIT }).tell({ type: "tree_gone", id: ID, killed: false });
    expect(host.owed()).toEqual(["begin"]);
  });

  test("N9: it names the stored data that its order names", () => {
    const order = { ...run(NEXT), sticky: { from: null, snapshot: SNAPSHOT } };
    const host = idleHost().order([order]);
    expect(host.message("begin")).toMatchObject({
      placement: "build-17/2",
      from: undefined,
      snapshot: SNAPSHOT,
    });
    host.tell(begun("build-17/2", "fetched"));
    expect(host.owed()).toEqual(["start"]);
    expect(host.pass(60_000).report()).toMatchObject({ attempts: [{ id: NEXT, data: "fetched" }] });
  });

  test("one that is stopped before it has begun is ended as any other", () => {
    expect(idleHost().order([sticky()]).order([stop()]).owed()).toEqual(["kill_tree"]);
  });

  test.each<[Beginning, string | undefined]>([
    ["first", undefined],
    ["moved", "moved"],
    ["empty", "empty"],
  ])("how it began, %s, is found again by the next start of the agent, and reported", (beginning, data) => {
    const known = { begun: { "build-17/1": beginning }, kept: {} };
    const host = new Driven({ attempts: [{ id: ID, main: { kind: "running" } }], sticky: known });
    const report = host.tell({ type: "joined", setup: SETUP }).report();
    expect(report?.attempts[0]?.data).toBe(data);
  });
});

describe("what is kept", () => {
  test("is said within a second, and again in each report", () => {
    const host = keeping();
    expect(host.pass(1_000).send().report.kept).toEqual(["build-17/1"]);
    expect(host.answer([]).pass(60_000).report()?.kept).toEqual(["build-17/1"]);
  });

  test("is not dropped because orders do not mention it, and is when they name it (rule R5)", () => {
    const host = keeping();
    expect(drops(host.order([]))).toEqual([]);
    expect(drops(host.order([], { drop: ["other/1", "build-17/1"] }))).toEqual(["build-17/1"]);
    expect(host.pass(60_000).report()).not.toHaveProperty("kept");
    expect(drops(host.tell({ type: "cleared", placement: "build-17/1" }))).toEqual([]);
  });

  test("is not dropped while a placement waits that begins with it, whatever the orders name", () => {
    const host = keeping();
    expect(drops(host.order([sticky(NEXT, 1)], { drop: ["build-17/1"] }))).toEqual([]);
    expect(host.message("begin")).toMatchObject({ from: "build-17/1" });
  });

  test("the bound in time counts from when it was kept, also by an earlier start of the agent", () => {
    const host = found({ "a/1": KEPT_DATA_MS - 1_000 });
    expect(drops(host.pass(998))).toEqual([]);
    expect(drops(host.pass(2))).toEqual(["a/1"]);
  });

  test("the bound in number: the oldest goes", () => {
    const kept = Array.from({ length: MAX_KEPT_DATA }, (_, i) => [`run-${i}/1`, 1_000 + i]);
    expect(drops(found(Object.fromEntries(kept)))).toEqual([]);
    const more = found(Object.fromEntries([...kept, ["newest/1", 0]]));
    expect(drops(more)).toEqual([`run-${MAX_KEPT_DATA - 1}/1`]);
  });

  test("no bound takes away what is about to be used, nor makes the agent spin", () => {
    const host = found({ "build-17/1": KEPT_DATA_MS - 1_000 }).order([sticky(NEXT, 1)]);
    expect(drops(host.pass(2_000))).toEqual([]);
    expect(host.message("begin")).toBeDefined();
  });
});
