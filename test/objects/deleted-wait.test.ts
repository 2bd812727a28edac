import { expect, test } from "vitest";
import { answerQuery } from "../../src/routes/run-query.ts";
import { question, waiting } from "./support/told-pool.ts";
import { eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

freshWorld();

/** Far longer than the test: it is never waited for. */
const LONG_MS = 60_000;

async function abortAndDelete(id: string): Promise<void> {
  await objects.allocation(id).abort({ reason: "enough", by: "ann", waitMs: LONG_MS });
  const { submittedAt } = await objects.allocation(id).read();
  await eventually(async () => {
    try {
      await objects.pool("default").forget({ run: id, submittedAt: Date.parse(submittedAt) });
      return true;
    } catch {
      return undefined;
    }
  });
}

test.each([
  ["the first of its runs", false],
  ["all of its runs", true],
])(
  "S9: a held query for %s hears that one of them was deleted",
  async (_what, all) => {
    await makePool({ maxInstances: 0 });
    const ids = ["a", "b", "c"];
    for (const id of ids) await submit(id);
    const states = ["running" as const, "aborted" as const].slice(0, all ? 2 : 1);
    const held = answerQuery(objects, question({ ids, states, all, waitMs: LONG_MS })).catch(
      (error) => error,
    );
    await eventually(async () => ((await waiting()) > 0 ? true : undefined));
    await abortAndDelete("a");
    expect(await held).toMatchObject({ code: "expired_run", extra: { runs: ["a"] } });
  },
  30_000,
);
