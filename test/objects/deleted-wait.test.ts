import { expect, test } from "vitest";
import { answerQuery } from "../../src/routes/query/run-query.ts";
import { question, waiting } from "./support/told-pool.ts";
import { eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

freshWorld();

/** Far longer than the test: it is never waited for. */
const LONG_MS = 60_000;

const abort = (id: string) => objects.allocation(id).abort({ reason: "enough", by: "ann", waitMs: LONG_MS });

/** Deletes a run that has ended, as soon as its pool knows that. */
async function deleteByHand(id: string): Promise<void> {
  const { submittedAt } = await objects.allocation(id).read();
  await eventually(async () => {
    try {
      await objects.pool("default").forget({ run: id, submittedAt: Date.parse(submittedAt) }, "admin");
      return true;
    } catch {
      return undefined;
    }
  });
}

/** The pool looks for runs whose retention is over once a minute, and when it has a new configuration. */
async function letRetentionEnd(): Promise<void> {
  const states = ["aborted" as const];
  const ended = () => objects.pool("default").list({ states, labels: {} }, { limit: 1 });
  await eventually(async () => ((await ended()).items.length > 0 ? true : undefined));
  await makePool({ ...NO_MACHINES, retention: { runs: "1ms" } });
}

const NO_MACHINES = { maxInstances: 0 };
const MOMENTS = [
  ["that ended before it was asked", true],
  ["that ends while it is held", false],
] as const;
const WAYS = [
  ["by hand", deleteByHand],
  ["by retention", letRetentionEnd],
] as const;
const QUESTIONS = [
  ["the first of two", ["a", "b"], false],
  ["the first of three", ["a", "b", "c"], false],
  ["all of two", ["a", "b"], true],
  ["all of three", ["a", "b", "c"], true],
] as const;
const CASES = QUESTIONS.flatMap(([what, ids, all]) =>
  MOMENTS.flatMap(([when, endsBefore]) =>
    WAYS.map(([how, remove]) => ({ what, when, how, ids: [...ids], all, endsBefore, remove })),
  ),
);

test.each(CASES)(
  "S9: a held query for $what hears that a run $when is deleted $how",
  async ({ ids, all, endsBefore, remove }) => {
    await makePool(NO_MACHINES);
    for (const id of ids) await submit(id);
    if (endsBefore) await abort("a");
    const states = ["running" as const, "aborted" as const].slice(0, all ? 2 : 1);
    const held = answerQuery(objects, question({ ids, states, all, waitMs: LONG_MS })).catch(
      (error) => error,
    );
    await eventually(async () => ((await waiting()) > 0 ? true : undefined));
    if (!endsBefore) await abort("a");
    await remove("a");
    expect(await held).toMatchObject({ code: "expired_run", extra: { runs: ["a"] } });
  },
  30_000,
);

test("S9: a run that is deleted between a look and the wait that follows it is not missed", async () => {
  await makePool(NO_MACHINES);
  for (const id of ["a", "b", "c", "d"]) await submit(id);
  for (const id of ["a", "c", "d"]) await abort(id);
  const pool = objects.pool("default");
  const markNow = async () => (await pool.list({ states: [], labels: {} }, { limit: 1 })).mark;
  const ask = (ids: string[], mark: string) =>
    pool.wait({ ids, labels: {}, states: ["running"], all: false }, LONG_MS, mark);
  const before = await markNow();
  await deleteByHand("a");
  expect(await ask(["a", "b"], before)).toBeNull();
  const held = ask(["b", "c"], await markNow());
  await eventually(async () => ((await waiting()) === 1 ? true : undefined));
  await deleteByHand("d");
  expect(await waiting()).toBe(1);
  await deleteByHand("c");
  expect(await held).toBeNull();
}, 30_000);
