import { expect, test } from "vitest";
import type { ObservedAnswer } from "../../../src/core/messages.ts";
import {
  afterOrders,
  frameDue,
  isSettled,
  newAttachment,
  sideNews,
} from "../../../src/core/worker/host/host-socket.ts";
import { ordersFor } from "../../../src/core/worker/host/report.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import { LAST_BYTE_MS } from "../../../src/shared/limits.ts";
import { at, holding, observedAnswer, order, owed, ready, reloaded, report, T0 } from "../support/worker.ts";

// What a host keeps of sticky runs is dropped by the word of the run alone: decisions/runs.md#sticky-data;
// R5.

const KEEP: ObservedAnswer = { kind: "order", revision: 1, attempts: [], logs: {}, keep: true };
const DROP: ObservedAnswer = { kind: "order", revision: 1, attempts: [], logs: {} };

const keeping = (...kept: string[]) => at(ready(), T0, report(2, { kept }));
const asked = (state: ExistingWorker, now = T0) =>
  owed(state, now, "observed").map(({ run, epoch }) => `${run}/${epoch}`);
const answered = (state: ExistingWorker, run: string, answer: ObservedAnswer, now = T0) =>
  at(state, now, observedAnswer(state, run, now, answer));

test("each run is asked, and orders name nothing that has not been answered", () => {
  const state = keeping("a/1", "b/12");
  expect(owed(state, T0, "observed")).toEqual(
    [
      { run: "a", epoch: 1 },
      { run: "b", epoch: 12 },
    ].map((one) => ({ ...one, worker: "default-s-1", held: false, attempts: [], protocol: 0, kept: true })),
  );
  expect(ordersFor(state, 1, T0)).not.toHaveProperty("drop");
});

test.each<[string, ObservedAnswer, string[] | undefined]>([
  ["it may need them", KEEP, undefined],
  ["it never will", DROP, ["a/1"]],
  ["it does not exist", { kind: "no_such" }, ["a/1"]],
])("a run says that %s", (_what, answer, drop) => {
  const state = answered(keeping("a/1"), "a", answer);
  expect(ordersFor(state, 1, T0).drop).toEqual(drop);
  expect(asked(state)).toEqual([]);
  expect(isSettled(state, T0)).toBe(true);
  expect(state.placements.get("a/1")).toBeUndefined();
});

test("one that may need them is asked again after a while, one that does not never", () => {
  const now = T0 + LAST_BYTE_MS;
  const [kept, dropped] = [answered(keeping("a/1"), "a", KEEP), answered(keeping("a/1"), "a", DROP)];
  expect([asked(kept, now - 1), asked(kept, now), asked(dropped, now)]).toEqual([[], ["a/1"], []]);
});

test("what the host does not keep any more is forgotten, and what it repeats is known", () => {
  const state = answered(answered(keeping("a/1", "b/1"), "a", DROP), "b", KEEP);
  const later = at(state, T0, report(3, { full: false, kept: ["b/1"] }));
  expect([asked(later), ordersFor(later, 1, T0).drop]).toEqual([[], undefined]);
  expect(at(later, T0, report(4, { full: false })).memo.retained).toEqual({});
});

test("a worker that was loaded anew asks again, when its host has said it again", () => {
  const state = reloaded(answered(keeping("a/1"), "a", DROP));
  expect(ordersFor(state, 1, T0)).not.toHaveProperty("drop");
  expect(asked(at(state, T0, report(3, { kept: ["a/1"] })))).toEqual(["a/1"]);
});

test("of a placement that is live here nobody is asked", () => {
  expect(asked(at(holding(["a"]), T0, report(2, { kept: ["a/1"] })))).not.toContain("a/1");
  expect(asked(at(keeping("a/1"), T0, order("a", { epoch: 2 })))).toContain("a/1");
});

test("on a socket the word goes out at once, though the report is long answered", () => {
  const state = keeping("a/1");
  const line = afterOrders(state, { ...newAttachment(state, T0), seq: 2 });
  const side = sideNews(state);
  expect(frameDue(state, line, side, T0)).toBeUndefined();
  const known = answered(state, "a", DROP);
  expect(frameDue(known, line, side, T0)).toMatchObject({ kind: "orders", orders: { drop: ["a/1"] } });
});
