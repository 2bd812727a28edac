import { describe, expect, test } from "vitest";
import { afterAll, afterClick, isSelected, type Selection } from "../../../ui/pages/runs/click.ts";
import { groupsOf, sizeOf } from "../../../ui/pages/runs/groups.ts";

const shown = ["a", "b", "c", "d", "e"];
const ids = (...of: string[]): Selection => ({ is: "ids", ids: of });

describe("what a click on a row does to the selection", () => {
  test.each([
    ["selects it", ids(), "c", undefined, ["c"]],
    ["takes it out", ids("b", "c"), "c", undefined, ["b"]],
    ["with Shift selects all from the former one on", ids("b"), "d", "b", ["b", "c", "d"]],
    ["with Shift upward, too", ids("d"), "b", "d", ["b", "c", "d"]],
    ["with Shift takes all out from the former one on", ids("b", "c", "d"), "d", "c", ["b"]],
    ["with Shift after a row that is gone is a click", ids(), "d", "gone", ["d"]],
    ["keeps what is selected on other pages", ids("z"), "a", undefined, ["a", "z"]],
  ])("%s", (_, before, id, anchor, expected) => {
    const after = afterClick(before, { shown, id, anchor });
    expect(after.is === "ids" && [...after.ids].sort()).toEqual(expected);
  });

  test("when all that match are selected, the shown ones stay selected but for this one", () => {
    const after = afterClick({ is: "all" }, { shown, id: "c", anchor: undefined });
    expect(shown.filter((id) => isSelected(after, id))).toEqual(["a", "b", "d", "e"]);
  });
});

describe("what a click on the box above the rows does to the selection", () => {
  test.each([
    ["selects all rows", ids("b"), ["a", "b", "c", "d", "e"]],
    ["takes all rows out if all are selected", ids(...shown), []],
    ["keeps what is selected on other pages when it selects", ids("z"), ["a", "b", "c", "d", "e", "z"]],
    ["keeps what is selected on other pages when it takes out", ids("z", ...shown), ["z"]],
    ["takes all that match out", { is: "all" } as Selection, []],
  ])("%s", (_, before, expected) => {
    const after = afterAll(before, shown);
    expect(after.is === "ids" && [...after.ids].sort()).toEqual(expected);
  });
});

describe("runs by a label", () => {
  test("are counted by value and state, the largest group first, and those without it are a group", () => {
    const run = (state: "running" | "failed", labels: Record<string, string>) => ({ state, labels });
    const groups = groupsOf(
      [
        run("running", { team: "red" }),
        run("failed", { team: "blue" }),
        run("running", { team: "blue", kind: "x" }),
        run("failed", { team: "blue" }),
        run("running", {}),
        run("running", { kind: "x" }),
      ],
      "team",
    );
    expect(groups.map((group) => [group.value, sizeOf(group), group.counts.get("failed") ?? 0])).toEqual([
      ["blue", 3, 2],
      [undefined, 2, 0],
      ["red", 1, 0],
    ]);
  });

  test("do not find a label in what every object has", () => {
    expect(groupsOf([{ state: "failed", labels: {} }], "toString")[0]?.value).toBeUndefined();
  });
});
