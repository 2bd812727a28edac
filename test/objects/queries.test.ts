import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { answerQuery } from "../../src/routes/query/run-query.ts";
import { RUN_STATES } from "../../src/shared/run-state.ts";
import { pool, question, tellOf, waiting } from "./support/told-pool.ts";
import { eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

freshWorld();

describe("a query by labels (api.md#query)", () => {
  test.each([40, 41, 64])("takes %i of them, and looks at each", async (count) => {
    const labels = Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, "v"]));
    await makePool({ maxInstances: 0 });
    await tellOf("all", "pending", 1, labels);
    await tellOf("no-first", "pending", 1, { ...labels, l0: "w" });
    await tellOf("no-last", "pending", 1, { ...labels, [`l${count - 1}`]: "w" });
    const { items } = await answerQuery(objects, question({ labels, states: [...RUN_STATES], waitMs: 0 }));
    expect(items.map(({ id }) => id)).toEqual(["all"]);
  });
});

test("the runs of an array are listed, and waited for, by its id (api.md#arrays)", async () => {
  await makePool({ maxInstances: 0 });
  const place = (id: string, index: number) => ({ array: { id, index, size: 2 } });
  await tellOf("a-0", "complete", 1, {}, place("a", 0));
  await tellOf("a-1", "running", 1, {}, place("a", 1));
  await tellOf("b-0", "running", 1, {}, place("b", 0));
  const answer = answerQuery(objects, question({ array: "a", all: true }));
  await eventually(async () => ((await waiting()) === 1 ? true : undefined));
  await tellOf("a-1", "complete", 2, {}, place("a", 1));
  const { items, all } = await answer;
  expect(items.map(({ id }) => id).sort()).toEqual(["a-0", "a-1"]);
  expect(items.map(({ array }) => array?.size)).toEqual([2, 2]);
  expect(all).toEqual({ holds: true, open: 0, possible: true });
});

describe("a wait for all of a label (api.md#wait-for-all)", () => {
  const all = { labels: { set: "x" }, all: true };

  test("does not hold if one has failed while the pool was reset", async () => {
    await makePool({ maxInstances: 0 });
    await tellOf("done", "complete", 1, { set: "x" });
    await tellOf("open", "running", 1, { set: "x" });
    const answer = answerQuery(objects, question(all));
    await eventually(async () => ((await waiting()) === 1 ? true : undefined));
    await runInDurableObject(pool(), (_, state) => state.abort("reset by a test")).catch(() => undefined);
    await tellOf("open", "failed", 2, { set: "x" });
    expect((await answer).all).toEqual({ holds: false, open: 0, possible: false });
  });
});

describe("labels that change while they are waited for (api.md#update)", () => {
  const held = () => eventually(async () => ((await waiting()) === 1 ? true : undefined));
  const settled = { holds: true, open: 0, possible: true };

  test("a run that is no longer selected holds up nobody who waits for all", async () => {
    await makePool({ maxInstances: 0 });
    await tellOf("done", "complete", 1, { set: "x" });
    await tellOf("open", "running", 1, { set: "x", n: "1" });
    const answer = answerQuery(objects, question({ labels: { set: "x" }, all: true }));
    const one = { ids: ["open"], labels: { set: "x" }, states: ["complete" as const], all: false };
    const narrower = pool().wait(one, 60_000);
    await eventually(async () => ((await waiting()) === 2 ? true : undefined));
    await tellOf("open", "running", 2, { set: "y", n: "1" });
    const { items, all } = await answer;
    expect([items.map(({ id }) => id), all]).toEqual([["done"], settled]);
    expect(await narrower).toBeNull();
  });

  test("a run that comes to be selected is waited for", async () => {
    await makePool({ maxInstances: 0 });
    await tellOf("open", "running", 1, { set: "x" });
    await tellOf("late", "running", 1);
    const answer = answerQuery(objects, question({ labels: { set: "x" }, all: true }));
    await held();
    await tellOf("late", "running", 2, { set: "x" });
    await tellOf("open", "complete", 2, { set: "x" });
    await held();
    await tellOf("late", "complete", 3, { set: "x" });
    const { items, all } = await answer;
    expect([items.map(({ id }) => id), all]).toEqual([["open", "late"], settled]);
  });

  test("a run that comes to match is found", async () => {
    await makePool({ maxInstances: 0 });
    await tellOf("a", "running", 1, { set: "x" });
    const answer = answerQuery(objects, question({ labels: { set: "y" }, states: ["running"] }));
    await held();
    await tellOf("a", "running", 2, { set: "y" });
    expect((await answer).items.map(({ id }) => id)).toEqual(["a"]);
  });

  test("also between the list and the wait; and other labels wake nobody", async () => {
    await makePool({ maxInstances: 0 });
    await tellOf("a", "running", 1, { set: "x" });
    const filter = { labels: { set: "y" }, states: ["running" as const], all: false };
    const { mark } = await pool().list(filter, { limit: 1 });
    await tellOf("a", "running", 2, { set: "y" });
    expect(await pool().wait(filter, 60_000, mark)).toBeNull();
    const later = await pool().list({ ...filter, labels: { set: "z" } }, { limit: 1 });
    const other = pool().wait({ ...filter, labels: { set: "z" } }, 60_000, later.mark);
    await held();
    await tellOf("a", "running", 3, { set: "y", n: "2" });
    expect(await waiting()).toBe(1);
    await tellOf("a", "running", 4, { set: "z" });
    expect(await other).toBeNull();
  });
});

test.each([
  ["no state", []],
  ["the state that it is in", ["pending" as const]],
])("a wait for one run that is over before it begins: %s (api.md#query-4)", async (_what, states) => {
  await makePool({ maxInstances: 0 });
  await submit("one");
  expect(await objects.allocation("one").wait(states, 60_000)).toMatchObject({ state: "pending" });
});

test("what one change of many brings is newest first, too (api.md#query-3)", async () => {
  await makePool({ maxInstances: 0 });
  for (const id of ["a", "b", "c"]) await tellOf(id, "pending", 1);
  const filter = question({ states: ["running"] });
  const { mark } = await pool().list({ labels: {}, states: filter.states }, { limit: 1 });
  for (const id of ["c", "a", "b"]) await tellOf(id, "running", 2);
  const late: typeof objects = {
    ...objects,
    pool: (name) => {
      const real = objects.pool(name);
      let lists = 0;
      const list: typeof real.list = async (...args) => {
        const page = await real.list(...args);
        lists += 1;
        return lists === 1 ? { ...page, items: [], mark } : page;
      };
      return { ...real, list, wait: (...args) => real.wait(...args) };
    },
  };
  const { items } = await answerQuery(late, filter);
  expect(items.map(({ id }) => id)).toEqual(["c", "b", "a"]);
});
