import { expect, test } from "vitest";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import { at, configured, run, T0, upsert } from "../support/pool.ts";

// Runs that wait for others count for the queue into which they will come (api.md#after), and only once.

const deferred = { wants: "nothing", deferred: true } as const;

test("a run that has waited for others counts once for `maxQueue` when it wants a place", () => {
  const waits = at(configured({ maxQueue: 2 }), T0, run("a", deferred));
  const free = at(waits, T0, run("a", { version: 2 }));
  expect(free.memo.index.deferred.size).toBe(0);
  expect(free.memo.index.queue.map((row) => row.run)).toEqual(["a"]);
  expect(answerRun(free, upsert("b"), T0)).not.toMatchObject({ kind: "refused" });
  const full = at(free, T0, run("b", deferred));
  expect(answerRun(full, upsert("c"), T0)).toMatchObject({ kind: "refused", code: "busy" });
});
