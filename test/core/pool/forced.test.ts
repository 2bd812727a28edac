import { describe, expect, test } from "vitest";
import { answerConfigure } from "../../../src/core/pool/configure.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import { isRemoved } from "../../../src/core/pool/state.ts";
import { httpOf } from "../../support/provider.ts";
import {
  at,
  configured,
  owed,
  placed,
  placeOf,
  reloaded,
  T0,
  upsert,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const failure = { class: "temporary" as const, text: "403", at: T0 };
const turn = { version: 1, at: T0, call: "create" as const };
const configure = (revision: number, more: { remove?: "drained" | "forced"; url?: string } = {}) => {
  const { remove, url = "http://cloud.test" } = more;
  const config = poolConfig({ provider: { kind: "http", url, secret: "s" } });
  const removal = remove === undefined ? {} : { remove, by: "ann" };
  return {
    type: "configure" as const,
    body: { pool: "default", revision, config, seed: "s", ...removal },
  };
};

describe("P9: a pool is deleted by force", () => {
  const force = configure(2, { remove: "forced" });
  const crowded = () =>
    configured(
      {},
      [placed("a", "w1"), waiting("b")],
      [
        workerRow("w1"),
        workerRow("w2", "booting", { failure, unmade: true }),
        workerRow("w3", "shutdown", { instance: null }),
        workerRow("w4", "asked"),
      ],
    );

  test("P9: its workers are killed and its runs ended, until they have heard", () => {
    const state = at(crowded(), T0, force);
    expect(owed(state, T0, "kill_worker").map(({ to, body }) => [to, body.by])).toEqual([
      ["w1", "ann"],
      ["w2", "ann"],
      ["w3", "ann"],
    ]);
    const ends = owed(reloaded(state), T0, "end_run");
    expect(ends.map(({ to }) => to)).toEqual(["a", "b"]);
    const endOf = (run: string) => ({ ...placeOf(run), reason: "", by: "ann" });
    const later = at(
      state,
      T0 + 1,
      workerSays("w1", { phase: "shutdown", forced: true }),
      {
        type: "end_run_answered",
        sent: endOf("a"),
        answer: { kind: "run", run: upsert("a", { version: 2, epoch: 1 }) },
      },
      { type: "end_run_answered", sent: endOf("b"), answer: { kind: "no_such" } },
    );
    expect(owed(later, T0 + 1, "kill_worker").map(({ to }) => to)).toEqual(["w2", "w3"]);
    expect(owed(later, T0 + 1, "end_run")).toEqual([]);
  });

  test("P9: the answer names the machines that may be left, also when it is repeated", () => {
    const state = at(crowded(), T0, force);
    const provider = "http://cloud.test";
    const left = [
      { worker: "w1", instance: "i-w1", provider },
      { worker: "w3", instance: null, provider },
    ];
    expect(answerConfigure(state, force.body)).toEqual({ kind: "configured", revision: 2, left });
    expect(answerConfigure(reloaded(state), force.body)).toMatchObject({ left });
  });

  test("P9: nothing is placed or asked for any more", () => {
    const state = at(configured({}, [waiting("a")], [workerRow("w1")]), T0, force);
    expect(owed(state, T0, "place")).toEqual([]);
    expect(owed(state, T0, "create")).toEqual([]);
  });

  test("P9: a worker that was told to be, and may not have heard, comes too late", () => {
    const state = at(configured({}, [], [workerRow("w1", "asked", { turn })]), T0, force);
    expect(owed(state, T0, "create").map(({ body }) => body.notAfter)).toEqual([0]);
  });

  test("P9: it is gone with the last worker and run", () => {
    const state = at(configured({}, [], [workerRow("w1")]), T0, force);
    expect(isRemoved(state)).toBe(false);
    expect(isRemoved(at(state, T0, workerSays("w1", { phase: "gone", forced: true })))).toBe(true);
  });
});

test("P9: a pool that is drained does not wait for a worker that was never told to be", () => {
  const state = at(configured({}, [], [workerRow("w1", "asked")]), T0, configure(2, { remove: "drained" }));
  expect(isRemoved(state)).toBe(true);
});

describe("P9: a wrong address can be corrected", () => {
  test.each<[string, WorkerRow, boolean]>([
    ["whose create was refused", workerRow("w1", "booting", { failure, unmade: true }), true],
    ["whose create had no answer", workerRow("w1", "booting", { failure }), true],
    ["that ends without a machine", workerRow("w1", "shutdown", { failure, instance: null }), true],
    ["that nobody has told", workerRow("w1", "asked"), true],
    ["that has just been told", workerRow("w1", "asked", { turn }), false],
    ["whose create has no answer yet", workerRow("w1", "booting"), false],
    ["with a machine", workerRow("w1", "booting", { failure, instance: "i-1" }), false],
  ])("P9: while there is a worker %s", (_what, row, taken) => {
    const state = at(configured({}, [], [row]), T0, configure(2, { url: "http://right.test" }));
    expect(state.memo.refusedRevision).toBe(taken ? 0 : 2);
    expect(httpOf(state.record.config).url).toBe(taken ? "http://right.test" : "http://cloud.test");
  });

  test("P9: the workers of the former address are wanted no more", () => {
    const row = workerRow("w1", "booting", { failure, unmade: true });
    const state = at(configured({}, [], [row]), T0, configure(2, { url: "http://right.test" }));
    expect(owed(reloaded(state), T0, "drain_worker").map(({ to }) => to)).toEqual(["w1"]);
    const heard = at(state, T0, workerSays("w1", { phase: "gone", instance: null, idleBehavior: "drain" }));
    expect(owed(heard, T0, "drain_worker")).toEqual([]);
  });
});
