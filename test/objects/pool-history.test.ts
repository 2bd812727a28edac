import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, test } from "vitest";
import type { RunUpsert } from "../../src/core/messages.ts";
import { MAX_HISTORY_ITEMS } from "../../src/core/pool/past/history.ts";
import type { Mailbox } from "../../src/objects/messages/post.ts";
import { pool, tell, upsert } from "./support/told-pool.ts";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

// What a pool says that happened within a time (api.md#history-of-a-pool).

const world = freshWorld();
const NOON = Date.parse("2026-11-21T12:00:00Z");
const MINUTE = 60_000;

const historyFrom = async (since: number, until: number) => {
  const { items, next } = await objects.pool("default").past("history", { since, until });
  return { lines: items.map(({ what, run, text }) => `${what} ${run} ${text}`.trim()), next };
};

describe("the runs of a pool (api.md#history-of-a-pool)", () => {
  const early = { ...upsert("early", "complete", 1), submittedAt: NOON - 60 * MINUTE, exitCode: 3 };
  beforeEach(async () => {
    await makePool({ maxInstances: 0 });
    await tell({ ...early, startedAt: NOON - 50 * MINUTE, finishedAt: NOON + 2 * MINUTE });
    await tell({ ...upsert("late", "pending", 1), submittedAt: NOON + MINUTE, command: "make test" });
  });

  test.each<[string, number, number, string[]]>([
    [
      "in the order of time, whenever they were submitted",
      0,
      5,
      ["run_queued late make test", "run_ended early complete, exit code 3"],
    ],
    ["from the first instant on", 1, 2, ["run_queued late make test"]],
    ["before the last instant", 0, 1, []],
    [
      "all that is stored",
      -1e6,
      1e6,
      [
        "run_queued early true",
        "run_started early",
        "run_queued late make test",
        "run_ended early complete, exit code 3",
      ],
    ],
  ])("%s", async (_what, from, to, expected) => {
    expect(await historyFrom(NOON + from * MINUTE, NOON + to * MINUTE)).toEqual({
      lines: expected,
      next: null,
    });
  });
});

test("a run and its machine, from the request to the placement (api.md#history-of-a-pool)", async () => {
  await makePool();
  const since = Date.now() - MINUTE;
  await submit("build");
  const { worker } = await bootMachine(world.cloud);
  const items = await eventually(async () => {
    const history = await objects.pool("default").past("history", { since, until: Date.now() + MINUTE });
    return history.items.some(({ what }) => what === "run_placed") ? history.items : undefined;
  });
  expect(items.map(({ what }) => what)).toEqual([
    "run_queued",
    "machine_requested",
    "machine_ready",
    "run_placed",
  ]);
  expect(items.map((item) => item.worker)).toEqual([null, worker, worker, worker]);
  expect([...items].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))).toEqual(items);
});

describe("more than one answer has (api.md#history-of-a-pool)", () => {
  const tellAll = (runs: RunUpsert[]) =>
    runInDurableObject(pool(), async (instance) => {
      const mailbox = instance as unknown as Mailbox<"pool">; // the class implements it
      for (const body of runs) await mailbox.deliver({ type: "run", body });
    });
  const many = (count: number, submittedAt: (index: number) => number) =>
    Array.from({ length: count }, (_, index) => ({
      ...upsert(`r-${index}`, "complete", 1),
      submittedAt: submittedAt(index),
    }));

  test("is read on without an item twice or left out", async () => {
    await makePool({ maxInstances: 0 });
    // Three in each millisecond: an answer cannot end between them.
    await tellAll(many(MAX_HISTORY_ITEMS + 2, (index) => NOON + Math.floor(index / 3)));
    const first = await historyFrom(NOON, NOON + MINUTE);
    expect(first.next).not.toBeNull();
    const second = await historyFrom(Date.parse(first.next ?? ""), NOON + MINUTE);
    const all = [...first.lines, ...second.lines];
    expect([all.length, new Set(all).size, second.next]).toEqual([
      MAX_HISTORY_ITEMS + 2,
      MAX_HISTORY_ITEMS + 2,
      null,
    ]);
  });
});
