import { describe, expect, test } from "vitest";
import type { CloudRow, WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { at, configured, owed, placed, T0, waiting, workerRow, workerSays } from "../support/pool.ts";

// Complaint 67: a new image, and old machines go on for weeks (pool.md#new-images).

const CONFIG = { image: "new", replaceOnNewImage: true, maxInstances: 9 };
const machine = (id: string, image: string | undefined, more: Partial<CloudRow> = {}) =>
  workerRow(id, "ready", { instance: `i-${id}`, ...(image === undefined ? {} : { image }), ...more });
const drains = (state: Configured) =>
  owed(at(state, T0, { type: "tick" }), T0, "drain_worker").map(({ to }) => to);

describe("67: machines with another image than the pool's", () => {
  test.each<[string, object, WorkerRow[], string[]]>([
    ["stay, unless the pool replaces them", { image: "new" }, [machine("w1", "old")], []],
    ["drain, one after the other", CONFIG, [machine("w1", "old"), machine("w2", "old")], ["w1"]],
    ["not those with the present image", CONFIG, [machine("w1", "new")], []],
    ["not those of which nobody knows the image", CONFIG, [machine("w1", undefined)], []],
    ["not one on hold", CONFIG, [machine("w1", "old", { idleBehavior: "hold" })], []],
    [
      "the next one once the one before is gone",
      CONFIG,
      [machine("w1", "old", { idleBehavior: "drain" }), machine("w2", "old")],
      [],
    ],
    [
      "and not while that one is being destroyed",
      CONFIG,
      [machine("w1", "old", { phase: "shutdown" }), machine("w2", "old")],
      [],
    ],
  ])("%s", (_what, config, workers, drained) => {
    expect(drains(configured(config, [], workers))).toEqual(drained);
  });

  test("an idle one goes before one with runs", () => {
    const workers = [machine("w1", "old"), machine("w2", "old")];
    expect(drains(configured(CONFIG, [placed("r", "w1")], workers))).toEqual(["w2"]);
  });

  test("a machine is asked for the image of its time, whatever comes after", () => {
    const asked = at(configured({ image: "old" }, [waiting("r")]), T0, { type: "tick" });
    const [create] = owed(asked, T0, "create");
    asked.record.config.image = "new";
    expect([create?.body, owed(asked, T0, "create")[0]?.body]).toMatchObject([
      { image: "old" },
      { image: "old" },
    ]);
  });

  test("all are replaced in the end", () => {
    let state = configured(CONFIG, [], [machine("w1", "old"), machine("w2", "old"), machine("w3", "new")]);
    const left: string[] = [];
    for (let [next] = drains(state); next !== undefined; [next] = drains(state)) {
      left.push(next);
      state = at(state, T0, workerSays(next, { phase: "gone", version: 99 }));
    }
    expect(left).toEqual(["w1", "w2"]);
  });
});
