import { describe, expect, test } from "vitest";
import { placementOf } from "../../../agent/core/attempts/placements.ts";
import { Driven, EXIT, ID, idleHost, run, SETUP, stop } from "./drive.ts";

const artifacts = [{ url: "http://a.test/b", sha256: "0".repeat(64), to: "." }];
const snapshot = `sha256:${"0".repeat(64)}`;
const startError = { code: "artifact_failed", text: "no", recoverable: true } as const;
const preparing = (more: Parameters<typeof run>[1] = {}) =>
  idleHost().order([run(ID, { ...more, task: { artifacts, ...more.task } })]);
const prepared = () => preparing().tell({ type: "prepared", id: ID });

describe("what a task needs is there before it starts (host-protocol.md#hooks)", () => {
  test.each([
    ["ordered", () => preparing(), ["prepare"]],
    ["prepared", () => prepared(), ["start"]],
    ["prepared, and to be stopped", () => prepared().order([stop()]), ["kill_tree"]],
    ["to be stopped while it is prepared", () => preparing().order([stop()]), ["kill_tree"]],
    ["its time is over while it is prepared", () => preparing({ timeoutMs: 50 }).pass(50), ["kill_tree"]],
    ["omitted while it is prepared", () => preparing().order([]), ["kill_tree"]],
    [
      "cannot be prepared",
      () => preparing().tell({ type: "launch_failed", id: ID, startError }),
      ["kill_tree"],
    ],
    [
      "prepared when nobody waits",
      () => preparing().order([stop()]).tell({ type: "prepared", id: ID }),
      ["kill_tree"],
    ],
    ["with a snapshot alone", () => idleHost().order([run(ID, { task: { snapshot } })]), ["prepare"]],
    ["without artifacts", () => idleHost().order([run(ID, { task: { artifacts: [] } })]), ["start"]],
  ])("%s", (_, make, due) => {
    expect(make().owed()).toEqual(due);
  });

  test("is shown as preparing", () => {
    const host = preparing();
    host.pass(1_000);
    expect(host.message("report")?.report.attempts).toMatchObject([{ id: ID, state: "preparing" }]);
  });

  test("is not started when the lease has ended meanwhile (rule R4)", () => {
    const host = preparing().pass(SETUP.leaseMs);
    expect(host.tell({ type: "prepared", id: ID }).owed()).not.toContain("start");
  });

  test("what it needs is said, if it cannot be had", () => {
    const host = preparing().tell({ type: "launch_failed", id: ID, startError });
    host.tell({ type: "tree_gone", id: ID, killed: false });
    expect(host.message("report")?.report.attempts).toMatchObject([{ state: "exited", startError }]);
  });
});

describe("the directories of a placement", () => {
  const second = "build-17/main/1.2";
  const over = (host: Driven, id = ID) =>
    host.tell({ type: "exited", id, exit: EXIT }).tell({ type: "tree_gone", id, killed: false });
  const clears = (host: Driven) => host.owed().filter((kind) => kind === "clear");

  test.each([
    [ID, "build-17/1"],
    ["a/b/12.345", "a/12"],
  ])("%s is of %s", (id, placement) => {
    expect(placementOf(id)).toBe(placement);
  });

  test("stay while one attempt goes and the next one comes", () => {
    const host = over(idleHost().order([run()]));
    host.order([run(second)]).tell({ type: "forgotten", id: ID });
    expect(Object.keys(host.state.attempts)).toEqual([second]);
    expect(clears(host)).toEqual([]);
  });

  test("go with the last attempt, until that is done", () => {
    const host = over(idleHost().order([run()])).order([]);
    expect(clears(host)).toEqual([]);
    host.tell({ type: "forgotten", id: ID });
    expect(host.message("clear")?.placement).toBe("build-17/1");
    expect(clears(host.tell({ type: "cleared", placement: "build-17/1" }))).toEqual([]);
  });

  test("of an earlier start of the agent go when the first orders do not mention them", () => {
    const found = { attempts: [], placements: ["build-17/1", "old/3"] };
    const host = new Driven(found);
    host.tell({ type: "joined", setup: SETUP });
    expect(clears(host)).toEqual([]);
    host.order([run()]);
    expect(host.message("clear")?.placement).toBe("old/3");
    expect(clears(host).length).toBe(1);
  });
});
