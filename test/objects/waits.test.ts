import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { Mailbox } from "../../src/objects/messages/post.ts";
import { meter } from "../../src/objects/meter.ts";
import type { RunQuestion } from "../../src/routes/query/question.ts";
import { answerQuery } from "../../src/routes/query/run-query.ts";
import type { RunState, RunSummary } from "../../src/schema/run/run.ts";
import { pool, question, upsert, waiting } from "./support/told-pool.ts";
import { eventually, freshWorld, makePool, objects } from "./support/world.ts";

freshWorld();

const CLIENTS = 1_000;
const RUNS = 300;

/** Tells the pool of many runs, inside of it: the way there is not what is tried here. */
async function tell(ids: readonly string[], state: RunState, version: number): Promise<void> {
  await runInDurableObject(pool(), async (instance) => {
    const mailbox = instance as unknown as Mailbox<"pool">; // the class implements it
    for (const id of ids) {
      const labels = { set: "x", n: String(IDS.indexOf(id)) };
      await mailbox.deliver({ type: "run", body: upsert(id, state, version, labels) });
    }
  });
}

const idOf = (index: number) => `r${String(index).padStart(4, "0")}`;
const IDS = Array.from({ length: RUNS }, (_, index) => idOf(index));

/** A pool that has a thousand runs, all pending; the label `n` tells them apart, and `set` is the same. */
async function thousandRuns(): Promise<void> {
  // Nothing is placed: they want nothing until they are told to have ended.
  await makePool({ maxInstances: 0 });
  await tell(IDS, "pending", 1);
}

/** As the edge asks. By ids it is the pool's part alone, since there is nobody else to ask about them. */
async function ask(one: RunQuestion): Promise<RunSummary[]> {
  const { ids, labels, states, all, waitMs } = one;
  if (ids === undefined) return (await answerQuery(objects, one)).items;
  const filter = { ids, labels, states };
  const news = await objects.pool("default").wait({ ...filter, all }, waitMs);
  if (!all) return news?.items ?? [];
  return (await objects.pool("default").list(filter, { limit: 1_000 })).items;
}

/** Asks for everybody, and resolves when all are held. */
async function hold(questions: RunQuestion[]) {
  const answers = questions.map(ask);
  await eventually(async () => ((await waiting()) === questions.length ? true : undefined));
  return answers;
}

describe("1,000 clients wait at once (api.md#waiting, api.md#query-3)", () => {
  const repeat = (make: (index: number) => Partial<RunQuestion>) =>
    Array.from({ length: CLIENTS }, (_, index) => question(make(index % RUNS)));

  test.each([
    ["on one pool", () => ({}), 1],
    ["on one label", () => ({ labels: { set: "x" } }), 1],
    ["each on a label of its own", (n: number) => ({ labels: { n: String(n) } }), 1],
    ["on ten runs by their ids", (n: number) => ({ ids: IDS.slice(n - (n % 10), n - (n % 10) + 10) }), 1],
    ["on all of one label", () => ({ labels: { set: "x" }, all: true }), RUNS],
    [
      "on all of ten runs by their ids",
      (n: number) => ({
        ids: IDS.slice(n - (n % 10), n - (n % 10) + 10),
        all: true,
      }),
      10,
    ],
  ])("%s: all are answered, and nobody is left waiting", async (what, make, matches) => {
    await thousandRuns();
    const before = { ...meter };
    const answers = await hold(repeat(make));
    const held = { ...meter };
    const beganAt = performance.now();
    await tell(IDS, "complete", 2);
    const all = await Promise.all(answers);
    const tookMs = performance.now() - beganAt;
    console.info(
      `${CLIENTS} waits ${what}, ${RUNS} runs end: ${Math.round(tookMs)} ms, ` +
        `${held.requests - before.requests} requests to wait, ${meter.rowsWritten - held.rowsWritten} rows`,
    );
    for (const items of all) expect(items.length).toBeGreaterThanOrEqual(matches);
    expect(await waiting()).toBe(0);
  });
});

describe("a wait outlives the object that it is held by (api.md#waiting)", () => {
  const kinds: [string, Partial<RunQuestion>][] = [
    ["for the first of a label", { labels: { set: "x" } }],
    ["for all of a label", { labels: { set: "x" }, all: true }],
    ["for all of two pools", { labels: { set: "x" }, all: true, pools: ["default", "other"] }],
  ];
  const losses: [string, () => Promise<void>][] = [
    ["an eviction of its pool", () => evictDurableObject(pool())],
  ];
  const cases = kinds.flatMap(([what, more]) => losses.map(([how, lose]) => ({ what, more, how, lose })));

  test.each(cases)("$what, through $how", async ({ more, lose }) => {
    await makePool({ maxInstances: 0 });
    await makePool({ maxInstances: 0 }, "other");
    await tell(IDS.slice(0, 2), "pending", 1);
    const [answer] = await hold([question(more)]);
    // It waits for the wait itself if it may: an eviction does not cut off what is under way.
    const lost = lose();
    await tell(IDS.slice(0, 2), "complete", 2);
    expect((await answer)?.length).toBeGreaterThanOrEqual(more.all ? 2 : 1);
    await lost;
    await eventually(async () => ((await waiting()) === 0 ? true : undefined));
  });
  // The edge asks again what a reset cuts off: test/edge/query.test.ts, test/edge/many-runs.long.test.ts.
});

describe("what a wait by ids is over for (api.md#query-4)", () => {
  const ids = IDS.slice(0, 2);
  const ask = { ids, labels: {}, states: ["failed" as const], all: false };

  test("none of them can match any more: it answers at once, with none", async () => {
    await makePool({ maxInstances: 0 });
    await tell(ids, "pending", 1);
    const answer = pool().wait(ask, 60_000);
    await eventually(async () => ((await waiting()) === 1 ? true : undefined));
    await tell(ids, "complete", 2);
    expect(await answer).toEqual({ items: [], open: 0, missed: true });
  });

  test("not all can be any more: it answers at once, with how many are missing", async () => {
    await makePool({ maxInstances: 0 });
    await tell(ids, "pending", 1);
    const answer = pool().wait({ ...ask, all: true }, 60_000);
    await eventually(async () => ((await waiting()) === 1 ? true : undefined));
    await tell(ids.slice(1), "complete", 2);
    expect(await answer).toEqual({ items: [], open: 1, missed: true });
  });

  test("its time is over: it is forgotten", async () => {
    await makePool({ maxInstances: 0 });
    await tell(ids, "pending", 1);
    for (const all of [false, true]) {
      const nothing = { items: [], open: 2, missed: false };
      expect(await pool().wait({ ...ask, all }, 20)).toEqual(nothing);
    }
    expect(await waiting()).toBe(0);
  });
});
