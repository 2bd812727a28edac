import { describe, expect, test } from "vitest";
import { poolMachine } from "../../../src/core/pool/machine.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import { answerWorker, CONSENT_MS } from "../../../src/core/pool/rows/workers.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import {
  answer,
  at,
  configured,
  owed,
  placed,
  run,
  T0,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

const proposal = (worker: string, more = {}) => workerSays(worker, { wantsStop: true, ...more });
const consents = (state: Configured, worker: string, now = T0) => {
  const event = proposal(worker);
  const answered = answerWorker(at(state, now, event), event.body, now);
  return answered.kind === "ok" && answered.consent;
};

describe("the pool consents to a stop (messages.md#idle)", () => {
  test.each<[string, Parameters<typeof configured>, boolean]>([
    ["of a worker that nothing is on", [{}, [], [workerRow("w1")]], true],
    [
      "not of one that a run is placed on, which it may not have heard of yet",
      [{}, [placed("a", "w1")], [workerRow("w1")]],
      false,
    ],
    [
      "of one, though a run is on another",
      [{}, [placed("a", "w2")], [workerRow("w1"), workerRow("w2")]],
      true,
    ],
    ["of one on which all has ended", [{}, [placed("a", "w1", { ended: 1 })], [workerRow("w1")]], true],
    ["not of the last that is to be kept", [{ minInstances: 1 }, [], [workerRow("w1")]], false],
    ["of one more than are to be kept", [{ minInstances: 1 }, [], [workerRow("w1"), workerRow("w2")]], true],
    [
      "of one, while another boots that is to be kept",
      [{ minInstances: 1 }, [], [workerRow("w1"), workerRow("w2", "booting")]],
      true,
    ],
    [
      "not, if the others are drained",
      [{ minInstances: 1 }, [], [workerRow("w1"), workerRow("w2", "ready", { idleBehavior: "drain" })]],
      false,
    ],
    [
      "not, if the others are on their way out",
      [{ minInstances: 1 }, [], [workerRow("w1"), workerRow("w2", "shutdown")]],
      false,
    ],
  ])("%s", (_what, args, consent) => {
    expect(consents(configured(...args), "w1")).toBe(consent);
  });

  test("not of two, if only one of them may go", () => {
    const state = at(
      configured({ minInstances: 1 }, [], [workerRow("w1"), workerRow("w2")]),
      T0,
      proposal("w1"),
    );
    expect(consents(state, "w2")).toBe(false);
  });

  test("of the second, when the first has not stopped in time", () => {
    const state = at(
      configured({ minInstances: 1 }, [], [workerRow("w1"), workerRow("w2")]),
      T0,
      proposal("w1"),
    );
    expect(consents(state, "w2", T0 + CONSENT_MS)).toBe(true);
  });

  test("not of a worker that it does not have", () => {
    expect(answerWorker(configured(), proposal("w9").body, T0)).toEqual({ kind: "no_such" });
  });

  test("not to one that proposes nothing", () => {
    const event = workerSays("w1");
    const state = at(configured({}, [], [workerRow("w1", "ready", { stopUntil: T0 + 9 })]), T0, event);
    expect(answerWorker(state, event.body, T0)).toEqual({ kind: "ok", consent: false });
  });
});

describe("the consent binds the pool for CONSENT_MS", () => {
  const consented = () => at(configured({ maxInstances: 1 }, [], [workerRow("w1")]), T0, proposal("w1"));

  test.each([
    [CONSENT_MS - 1, "queued"],
    [CONSENT_MS, "placed"],
  ])("%d ms later a run is %s", (ms, kind) => {
    expect(answer(at(consented(), T0 + ms, run("a")), "a").kind).toBe(kind);
  });

  test("a worker that stays after all takes runs at once", () => {
    expect(answer(at(consented(), T0, run("a"), workerSays("w1", { version: 2 })), "a").kind).toBe("placed");
  });
});

describe("what a worker says of itself is its row", () => {
  const one = () => configured({}, [], [workerRow("w1", "booting", { version: 3 })]);

  test("by version: an older word says nothing", () => {
    const state = at(one(), T0 + 5, workerSays("w1", { version: 2 }));
    expect(state.workers.get("w1")).toMatchObject({ phase: "booting", version: 3, heardAt: T0 });
    expect(at(one(), T0 + 5, workerSays("w1", { version: 4 })).workers.get("w1")).toMatchObject({
      phase: "ready",
      version: 4,
      heardAt: T0 + 5,
    });
  });

  test("the same version may say that it is silent, which no version tells", () => {
    expect(at(one(), T0, workerSays("w1", { version: 3, phase: "unknown" })).workers.get("w1")?.phase).toBe(
      "unknown",
    );
  });

  test("one that was taken for gone, and is not, counts again (invariant 3)", () => {
    const gone = at(one(), T0, workerSays("w1", { version: 4, phase: "gone" }));
    expect([...gone.workers.live()]).toEqual([]);
    const back = at(gone, T0, workerSays("w1", { version: 5, phase: "shutdown" }));
    expect([...back.workers.live()]).toMatchObject([{ phase: "shutdown", version: 5 }]);
  });

  test("one that the pool never asked for gets no row (invariant 3: the permit comes first)", () => {
    expect([...at(configured(), T0, workerSays("w9")).workers.live()]).toEqual([]);
  });

  test("a word without news costs no row", () => {
    const state = at(one(), T0, workerSays("w1", { version: 4 }));
    const row = state.workers.get("w1");
    expect(at(state, T0 + 9, workerSays("w1", { version: 4 })).workers.get("w1")).toBe(row);
  });

  test("as soon as it is ready, what waits is placed on it", () => {
    const state = at(configured({}, [waiting("a")], [workerRow("w1", "booting")]), T0, workerSays("w1"));
    const terms = { rate: 0.25, openedAt: T0, maxKillMs: 3_600_000 };
    expect(answer(state, "a")).toEqual({ kind: "placed", worker: "w1", epoch: 1, ...terms });
    expect(owed(state, T0, "place")).toHaveLength(1);
  });
});

describe("a worker that does not begin what is placed on it gets nothing more for a while", () => {
  /** It has refused the run so often, each time as soon as it was trusted again. */
  const afterRefusals = (count: number, more = {}) => {
    let now = T0;
    let state = at(configured(more, [], [workerRow("w1")]), now, run("a"));
    for (let i = 1; i <= count; i += 1) {
      now = Math.max(now, state.workers.get("w1")?.pausedUntil ?? 0);
      state = at(state, now, { type: "tick" });
      state = at(state, now, run("a", { version: i + 1, ended: i }));
    }
    return { state, now };
  };
  const alone = { maxInstances: 1 };

  test.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [6, 32_000],
    [7, 60_000],
    [9, 60_000],
  ])("after %d refusals in a row: for %d ms", (count, ms) => {
    const { state, now } = afterRefusals(count, alone);
    expect(state.workers.get("w1")).toMatchObject({ refusals: count, pausedUntil: now + ms });
    expect(answer(at(state, now + ms - 1, { type: "tick" }), "a").kind).toBe("queued");
    expect(answer(at(state, now + ms, { type: "tick" }), "a").kind).toBe("placed");
  });

  test("the pool wakes for it, while somebody waits", () => {
    const { state, now } = afterRefusals(1, alone);
    expect(poolMachine.wakeAt({ ...state, memo: { ...state.memo, sweptAt: now } })).toBe(now + 1_000);
  });

  test("any word of the worker ends it", () => {
    const { state, now } = afterRefusals(5, alone);
    const heard = at(state, now, workerSays("w1"));
    expect(heard.workers.get("w1")).toMatchObject({ refusals: 0, pausedUntil: 0 });
    expect(answer(heard, "a").kind).toBe("placed");
  });

  test("a run that has ended is no refusal", () => {
    const over = run("a", { version: 2, ended: 1, wants: "nothing" });
    const state = at(configured(alone, [], [workerRow("w1")]), T0, run("a"), over);
    expect(state.workers.get("w1")).toMatchObject({ refusals: 0, pausedUntil: 0 });
  });

  test.each([
    [1, 0],
    [2, 0],
    [3, 1],
  ])("after %d in a row, %d other machines are asked for", (count, asked) => {
    const workers = [...afterRefusals(count).state.workers.live()].map((row) => row.phase);
    expect(workers.filter((phase) => phase === "asked")).toHaveLength(asked);
  });
});

describe("a worker that has no state (R6)", () => {
  const noSuch = {
    type: "drain_worker_answered" as const,
    sent: { worker: "w1" },
    answer: { kind: "no_such" as const },
  };

  test.each<[WorkerRow["phase"], string]>([
    ["asked", "asked"],
    ["booting", "gone"],
    ["ready", "gone"],
    ["shutdown", "gone"],
    ["gone", "gone"],
  ])("that the pool has as %s is %s then", (phase, after) => {
    const state = at(configured({}, [waiting("a")], [workerRow("w1", phase)]), T0, noSuch);
    expect(state.workers.get("w1")?.phase).toBe(after);
  });

  test("that the pool does not have either gets no row", () => {
    expect(at(configured(), T0, noSuch).workers.get("w1")).toBeUndefined();
  });
});
