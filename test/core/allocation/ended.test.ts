import { describe, expect, test } from "vitest";
import type { EndedHow } from "../../../src/core/messages.ts";
import {
  abort,
  at,
  ended,
  exitedButUnlogged,
  observed,
  ordered,
  owed,
  place,
  pool,
  queued,
  runAt,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";

const LATER = T0 + 1_000;

/** What was stored before the worker's word came. */
const BEFORE: Record<string, Submitted> = {
  "nothing stored": started(),
  "an abort stored": runAt(started(), T0, abort()),
  "an exit stored": runAt(started(), T0, observed([exitedButUnlogged])),
  "an abort, then an exit": runAt(started(), T0, abort(), observed([exitedButUnlogged])),
  "an exit, then an abort": runAt(started(), T0, observed([exitedButUnlogged]), abort()),
};

const AGAIN = { state: "pending or running", wants: "place" };
const LOST = { state: "unknown", failure: "machine_lost" };
const ABORTED = { state: "aborted", failure: null };
const EXITED = { state: "complete", failure: null };

// What follows depends on what can have been started (R2), and on what was decided before (R3).
const TABLE: [string, EndedHow, boolean, typeof AGAIN | { state: string; failure: string | null }][] = [
  ["nothing stored", "refused", false, AGAIN],
  ["nothing stored", "refused", true, AGAIN],
  ["nothing stored", "gone", false, AGAIN],
  ["nothing stored", "gone", true, LOST],
  ["nothing stored", "lost", false, AGAIN],
  ["nothing stored", "lost", true, LOST],
  ...(["refused", "gone", "lost"] as const).flatMap((how) =>
    [true, false].flatMap((held): typeof TABLE => [
      ["an abort stored", how, held, ABORTED],
      ["an exit stored", how, held, EXITED],
      ["an abort, then an exit", how, held, ABORTED],
      ["an exit, then an abort", how, held, EXITED],
    ]),
  ),
];

describe("the worker's word that a placement is over decides what follows (R2, R3)", () => {
  test.each(TABLE)("%s, %s, held: %s", (what, how, held, follows) => {
    const before = BEFORE[what];
    if (before === undefined) throw new Error(what);
    const { record } = runAt(before, LATER, ended(how, { held }));
    expect(record.endedEpoch).toBe(1);
    expect(record.placements).toMatchObject([{ epoch: 1, worker: "w1", to: LATER, outcome: how }]);
    if ("wants" in follows) {
      expect(record).toMatchObject({ ended: false, outcome: null, waitingSince: LATER });
      return;
    }
    expect(record.ended).toBe(true);
    expect(record.outcome?.state).toBe(follows.state);
    expect(record.outcome?.failure?.code ?? null).toBe(follows.failure);
  });

  test("an epoch of which the host never held the order is followed by the next, on whatever worker", () => {
    const state = runAt(ordered(), LATER, ended("lost", { held: false }));
    expect(owed(state, LATER).run).toMatchObject({ wants: "place", epoch: 0, ended: 1 });
    expect(runAt(state, LATER, place("w2", 2, 2)).memo.placement).toMatchObject({ epoch: 2, worker: "w2" });
  });

  test("the end frees the place: the pool hears the ended epoch and no wish for another (R3)", () => {
    const state = runAt(started(), LATER, ended("lost"));
    expect(owed(state, LATER)).toMatchObject({
      run: { state: "unknown", wants: "nothing", epoch: 0, ended: 1, finishedAt: LATER },
    });
  });
});

describe("a word that is not of the open epoch changes nothing (R2)", () => {
  const second = runAt(ordered(), T0, ended("refused", { held: false }), place("w2", 2, 2));

  test.each([
    ["the same again", runAt(started(), T0, ended("lost")), ended("lost")],
    ["the same again, otherwise", runAt(started(), T0, ended("lost")), ended("gone")],
    ["of the epoch before", second, ended("lost", { epoch: 1 })],
    ["of the next epoch", ordered(), ended("lost", { epoch: 2 })],
    ["of another worker", ordered(), ended("lost", { worker: "w2" })],
    ["of the worker before", second, ended("lost", { epoch: 2, worker: "w1" })],
  ])("%s", (_what, before, event) => {
    const state = at(before, LATER, event);
    expect(state.record).toEqual(before.record);
    expect(state.memo).toEqual(before.memo);
  });

  test("of a next epoch, when the run has ended without one", () => {
    const over = runAt(queued(), T0, abort(), pool(2, { kind: "none", version: 2 }));
    expect(at(over, LATER, ended("lost")).record).toEqual(over.record);
  });
});
