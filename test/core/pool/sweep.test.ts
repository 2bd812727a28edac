import { describe, expect, test } from "vitest";
import type { WorkerUpsert } from "../../../src/core/messages.ts";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { poolView, workerSummary } from "../../../src/core/pool/read/views.ts";
import type { PoolRecord, WorkerRow } from "../../../src/core/pool/record.ts";
import { LATE_MACHINE_MS } from "../../../src/core/pool/rows/workers.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { ListAnswer } from "../../../src/core/provider-answers.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { WORKER_TAG } from "../../../src/shared/cloud/tags.ts";
import {
  at,
  configured,
  MINUTE,
  owed,
  POOL,
  pool,
  reloaded,
  T0,
  workerRow,
  workerSays,
} from "../support/pool.ts";

function instance(worker: string, more: Partial<Instance> = {}): Instance {
  const tags = { [WORKER_TAG]: worker };
  return {
    id: `i-${worker}`,
    name: worker,
    address: null,
    state: "running",
    instanceType: "small",
    createdAt: "",
    tags,
    ...more,
  };
}

const listed = (items: Instance[], beganAt = T0): PoolEvent => ({
  type: "listed",
  consistencyMs: 0,
  answer: { kind: "listed", beganAt, items },
});
const failed: ListAnswer = { kind: "failed", failure: { class: "temporary", text: "the cloud is down" } };
const sightings = (state: Configured) => owed(state, T0, "sighting").map(({ body }) => body);
const one = (phase: WorkerRow["phase"] = "ready", more: Partial<WorkerRow> = {}) =>
  configured({}, [], [workerRow("w1", phase, more)]);

test.each<[string, number | undefined, number | undefined, boolean]>([
  ["the first", 0.1, undefined, true],
  ["another", 0.1, 0.2, true],
  ["the same", 0.1, 0.1, false],
  ["none any more", undefined, 0.1, false],
])("a price is passed on when it is news: %s (pool.md#prices)", (_what, price, known, isNews) => {
  const listedPrice = known === undefined ? undefined : { price: known, since: T0 };
  const state = at(
    one("ready", listedPrice === undefined ? {} : { listedPrice }),
    T0,
    listed([{ ...instance("w1"), price }]),
  );
  expect(sightings(state)).toHaveLength(isNews ? 1 : 0);
});

describe("the provider is asked what exists, as often as there is something to see", () => {
  test.each<[string, Configured, number | undefined]>([
    ["each `sync.interval`, while there are workers", one(), MINUTE],
    ["each shutdown time-out, while a machine is to disappear", one("shutdown"), 10_000],
    ["never, while there is none", configured(), undefined],
    ["never, while one is merely asked for", one("asked"), undefined],
    ["never for one that is gone", one("gone"), undefined],
  ])("%s", (_what, fresh, interval) => {
    const state = at(fresh, T0, listed([instance("w1")]));
    expect(poolMachine.wakeAt(state)).toBe(interval === undefined ? undefined : T0 + interval);
    if (interval === undefined) return;
    expect(owed(state, T0 + interval - 1, "list")).toEqual([]);
    expect(owed(state, T0 + interval, "list")).toMatchObject([
      { to: "provider", tag: "drover-pool:default" },
    ]);
  });

  test("each hour while nothing should exist, when somebody looks (messages.md#self-repair)", () => {
    const state = at(configured(), T0 + MINUTE, listed([]));
    for (const one of [state, reloaded(state)]) {
      expect(owed(one, T0 + MINUTE + 3_599_999, "list")).toEqual([]);
      expect(owed(one, T0 + MINUTE + 3_600_000, "list")).toHaveLength(1);
    }
  });

  test("first an hour after the pool was made; and while machines live nothing is written for it", () => {
    const { seed, config } = configured().record;
    const configure = { pool: "default", revision: 1, config, seed };
    const made = at(pool(null), T0, { type: "configure", body: configure });
    expect(owed(reloaded(made), T0 + 3_599_999, "list")).toEqual([]);
    expect(owed(reloaded(made), T0 + 3_600_000, "list")).toHaveLength(1);
    const before = one();
    // But for the sample, which is in the row of the listing's count (pool.md#hours).
    const { record } = at(before, T0 + MINUTE, listed([instance("w1")]));
    expect({ ...record, hour: undefined }).toEqual(before.record);
  });

  test("at once after a restart", () => {
    expect(owed(reloaded(at(one(), T0, listed([]))), T0, "list")).toHaveLength(1);
  });

  // pool.md#sweep-failed
  test("a listing that failed proves nothing, and the next one is not hurried", () => {
    const state = at(one(), T0, { type: "listed", consistencyMs: 0, answer: failed });
    expect(sightings(state)).toEqual([]);
    expect(state.memo.sweepError).toBe("the cloud is down");
    expect(poolMachine.wakeAt(state)).toBe(T0 + MINUTE);
    expect(at(state, T0, listed([])).memo.sweepError).toBeNull();
  });
});

describe("each worker hears what a listing says of its machine, if that can be news to it", () => {
  test.each<[string, Configured, Instance[], boolean]>([
    ["it is there, as known", one(), [instance("w1")], false],
    ["it is not there (pool.md#sweep-step-2)", one(), [], true],
    ["it is terminated", one(), [instance("w1", { state: "terminated" })], true],
    ["it is there, and was to disappear", one("shutdown"), [instance("w1")], true],
    [
      "its worker has had no answer to the create (pool.md#sweep-row-1)",
      one("booting"),
      [instance("w1")],
      true,
    ],
    ["it is merely asked for", one("asked"), [instance("w1")], false],
    ["it was taken for gone, and lives", one("gone"), [instance("w1")], true],
    ["it is gone, as known", one("gone"), [instance("w1", { state: "terminated" })], false],
    ["it is gone, and not there", one("gone"), [], false],
    ["it belongs to nobody here", one(), [instance("w1"), instance("stranger")], false],
  ])("%s: told %s", (_what, state, items, told) => {
    const after = at(state, T0, listed(items));
    expect(sightings(after).map(({ worker }) => worker)).toEqual(told ? ["w1"] : []);
    if (told && items.length > 0) expect(sightings(after)[0]?.instance).toEqual(items[0]);
  });

  test("that another machine is there in place of its own, which is missing (cases.md#case-1)", () => {
    const after = at(one(), T0, listed([instance("w1", { id: "i-2" })]));
    expect(sightings(after)).toMatchObject([{ worker: "w1", missingSince: T0, doubles: ["i-2"] }]);
    expect(sightings(after)[0]?.instance).toBeUndefined();
  });

  test("a machine without our tag is known by its name", () => {
    expect(sightings(at(one(), T0, listed([instance("w1", { tags: {} })])))).toEqual([]);
  });

  test("until the worker has answered", () => {
    const missing = at(one(), T0, listed([]));
    const { body: upsert } = workerSays("w1");
    const heard = at(missing, T0, {
      type: "drain_worker_answered",
      sent: { worker: "w1" },
      answer: { kind: "worker", worker: upsert },
    });
    expect(sightings(heard)).toEqual([]);
  });

  test("the latest listing counts: what an older one said is not told any more", () => {
    expect(sightings(at(one(), T0, listed([]), listed([instance("w1")], T0 + 5)))).toEqual([]);
  });
});

describe("since when a machine has been missing, in all listings (R5)", () => {
  const missing = (state: Configured) => sightings(state)[0]?.missingSince;
  const first = () => at(one(), T0, listed([]));

  test("since the first of them", () => {
    expect(missing(first())).toBe(T0);
    expect(missing(at(first(), T0, listed([], T0 + 5), listed([], T0 + 9)))).toBe(T0);
  });

  test("anew, when one in between has it", () => {
    expect(missing(at(first(), T0, listed([instance("w1")], T0 + 5), listed([], T0 + 9)))).toBe(T0 + 9);
  });

  test("since the first of them, over a restart of the pool", () => {
    expect(missing(at(reloaded(first()), T0, listed([], T0 + 9)))).toBe(T0);
  });

  // cases.md#case-19: pages that shift, or a service that does not vouch for its listing.
  const partial = (items: Instance[], beganAt: number): PoolEvent => ({
    type: "listed",
    consistencyMs: 0,
    answer: { kind: "listed", beganAt, items, partial: { why: "its pages shift" } },
  });

  test("a partial listing proves no absence, and says why (cases.md#case-19)", () => {
    const state = at(one(), T0, partial([], T0));
    expect(sightings(state)).toEqual([]);
    expect(state.memo.sweepError).toContain("its pages shift");
    expect(missing(at(state, T0, listed([], T0 + 9)))).toBe(T0 + 9);
    expect(missing(at(first(), T0, partial([], T0 + 5), listed([], T0 + 9)))).toBe(T0);
  });

  test("what a partial listing shows is there", () => {
    const state = at(first(), T0, partial([instance("w1")], T0 + 5), listed([], T0 + 9));
    expect(missing(state)).toBe(T0 + 9);
    const ended = partial([instance("w1", { state: "terminated" })], T0);
    expect(sightings(at(one(), T0, ended))).toHaveLength(1);
  });

  test("a listing that failed is none", () => {
    expect(
      missing(at(first(), T0, { type: "listed", consistencyMs: 0, answer: failed }, listed([], T0 + 9))),
    ).toBe(T0);
  });
});

describe("A6 story1-late-quick: an empty pool looks for a machine that it gave up unseen", () => {
  type End = Partial<WorkerUpsert>;
  const TERMINATED = [instance("w1", { state: "terminated" })];
  /** The pool when its only worker, which was booting, has gone after a listing with these machines. */
  const left = (end: End = {}, items: Instance[] = [], more: Partial<PoolRecord> = {}) => {
    const { bootOutcome = null, instance: id = "i-w1" } = end;
    const fresh = one("booting", { instance: id, bootOutcome });
    const before = at({ ...fresh, record: { ...fresh.record, ...more } }, T0, listed(items));
    return at(
      before,
      T0,
      workerSays("w1", { phase: "gone", instance: id, readyAt: null, bootOutcome, ...end }),
    );
  };

  test.each<[string, End, Instance[], boolean]>([
    ["no listing had it", {}, [], true],
    ["its create had no answer", { instance: null }, [], true],
    ["each create was refused", { instance: null, unmade: true }, [], false],
    ["a listing said that it was terminated", {}, TERMINATED, false],
    ["it was ready once", { bootOutcome: "success" }, [], false],
  ])("%s", (_what, end, items, looks) => {
    for (const state of [left(end, items), reloaded(left(end, items))]) {
      expect(owed(state, T0 + MINUTE, "list")).toHaveLength(looks ? 1 : 0);
      if (!looks) expect(poolMachine.wakeAt(state)).toBeUndefined();
      else expect(poolMachine.wakeAt(state)).toBeLessThanOrEqual(T0 + MINUTE);
    }
  });

  test("each `sync.interval` until a machine may come no more, over restarts", () => {
    let state = left();
    for (let now = T0 + MINUTE; now <= T0 + LATE_MACHINE_MS; now += MINUTE) {
      expect(poolMachine.wakeAt(state)).toBe(now);
      expect(owed(state, now - 1, "list")).toEqual([]);
      expect(owed(state, now, "list")).toHaveLength(1);
      state = reloaded(at(state, now, listed([], now)));
    }
    expect(poolMachine.wakeAt(state)).toBeUndefined();
    expect(state.record.lateUntil).toBeUndefined();
  });

  test("a longer interval does not end it early", () => {
    const { config } = configured({ sync: { interval: "1h" } }).record;
    const state = left({}, [], { config });
    expect(poolMachine.wakeAt(state)).toBe(T0 + LATE_MACHINE_MS);
  });

  test("a listing that failed goes on with it", () => {
    const late = T0 + LATE_MACHINE_MS;
    const state = at(left(), late, { type: "listed", consistencyMs: 0, answer: failed });
    expect(poolMachine.wakeAt(state)).toBe(late + MINUTE);
  });

  test("the worker of one that appears hears of it", () => {
    const seen = at(left(), T0 + 3 * MINUTE, listed([instance("w1")]));
    expect(sightings(seen)).toMatchObject([{ worker: "w1", instance: { id: "i-w1" } }]);
  });

  test("not in a pool that is deleted", () => {
    const state = left({}, [], { leaving: true });
    expect(poolMachine.wakeAt(state)).toBeUndefined();
    expect(owed(state, T0 + MINUTE, "list")).toEqual([]);
  });
});

describe("A6 story1-twice-seen: a provider that has made two machines for one worker", () => {
  const twin = (state: Instance["state"] = "running") => instance("w1", { id: "i-twin", state });
  const knowing = () => one("ready", { doubles: ["i-twin"] });

  test.each<[string, Instance[]]>([
    ["known first", [instance("w1"), twin()]],
    ["known last", [twin(), instance("w1")]],
  ])("the other is shown, and its worker hears of it: %s", (_what, items) => {
    const state = at(one(), T0, listed(items));
    expect(poolView(state, T0).strangers).toEqual(["i-twin"]);
    expect(sightings(state)).toMatchObject([{ instance: { id: "i-w1" }, doubles: ["i-twin"] }]);
    const heard = at(state, T0, workerSays("w1", { doubles: ["i-twin"] }));
    const [row] = [...heard.workers.live()].map((row) => workerSummary(row, [], POOL));
    expect(row).toMatchObject({ id: "w1", doubles: ["i-twin"] });
  });

  test("its worker hears of it once", () => {
    const state = at(knowing(), T0, listed([instance("w1"), twin()]));
    expect(sightings(state)).toEqual([]);
    expect(poolView(state, T0).strangers).toEqual(["i-twin"]);
  });

  test.each<[string, Instance[]]>([
    ["is listed no more", [instance("w1")]],
    ["has ended", [instance("w1"), twin("terminated")]],
  ])("its worker hears that it %s", (_what, items) => {
    const state = at(knowing(), T0, listed(items));
    expect(sightings(state)).toMatchObject([{ doubles: [] }]);
    expect(poolView(state, T0).strangers).toEqual([]);
    expect(at(state, T0, workerSays("w1")).workers.get("w1")?.doubles).toEqual([]);
  });

  test("a partial listing that does not show it proves nothing", () => {
    const answer: ListAnswer = {
      kind: "listed",
      beganAt: T0,
      items: [instance("w1")],
      partial: { why: "pages shift" },
    };
    const state = at(knowing(), T0, { type: "listed", consistencyMs: 0, answer });
    expect(sightings(state)).toEqual([]);
    expect(poolView(state, T0).strangers).toEqual(["i-twin"]);
  });

  test("when the worker has gone it is destroyed as the worker's own", () => {
    const state = at(one("gone"), T0, listed([twin()]));
    expect(sightings(state)).toMatchObject([{ worker: "w1", instance: { id: "i-twin" } }]);
  });
});
