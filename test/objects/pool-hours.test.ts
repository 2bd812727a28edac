import { beforeEach, describe, expect, test, vi } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import { pool, tell, upsert } from "./support/told-pool.ts";
import { freshWorld, makePool, objects } from "./support/world.ts";

// What a pool writes of its hours, and what it tells of them (pool.md#hours, budgets.md#hours).

freshWorld();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The time stands still, so that no minute ends by itself. */
let now: number;
beforeEach(() => {
  now = Date.parse("2026-11-21T12:30:10Z");
  vi.spyOn(Date, "now").mockImplementation(() => now);
});

/** The rows that a visit of the cron trigger writes. */
async function rowsOfLook(): Promise<number> {
  const before = meter.rowsWritten;
  await pool().poke(false);
  return meter.rowsWritten - before;
}

/** A pool without a provider is never listed, so that only the cron trigger looks at it. */
const OWN: Parameters<typeof makePool>[0] = { provider: { kind: "none" }, instanceTypes: {} };

let version = 0;
/** A run that lives is heard of, so that the pool does not ask for it. */
async function heard(more = {}): Promise<void> {
  version += 1;
  await tell({ ...upsert("live", "running", version), submittedAt: now - (now % HOUR), ...more });
}

describe("rows of a pool's hours (budgets.md#hours)", () => {
  test("a pool in which nothing is there writes none", async () => {
    await makePool(OWN);
    expect(await rowsOfLook()).toBe(0);
    now += 3 * HOUR - 20 * MINUTE;
    expect(await rowsOfLook()).toBe(0);
  });

  test("a look at a live run is one row, and another one in the same minute none", async () => {
    await makePool(OWN);
    await heard();
    expect(await rowsOfLook()).toBe(1);
    expect(await rowsOfLook()).toBe(0);
    now += 5 * MINUTE;
    expect(await rowsOfLook()).toBe(1);
  });

  test("an hour that is over is one row more", async () => {
    await makePool(OWN);
    const submittedAt = now;
    await heard({ submittedAt });
    const rows: number[] = [];
    for (let minutes = 0; minutes < 120; minutes += 20) {
      rows.push(await rowsOfLook());
      now += 20 * MINUTE;
      await heard({ submittedAt });
    }
    // From 12:30 on, every 20 minutes: the third look is in another hour, and its row makes the table.
    const [first, second, ends, ...others] = rows;
    expect([first, second]).toEqual([1, 1]);
    expect(ends).toBeGreaterThanOrEqual(2);
    expect(others).toEqual([1, 1, 2]);
  });
});

test("what was seen and counted is told, oldest first (api.md#past-of-a-pool)", async () => {
  await makePool(OWN);
  const submittedAt = now;
  await heard({ submittedAt });
  await rowsOfLook();
  now += 5 * MINUTE;
  const ended = { state: "complete", startedAt: now - 1_000, finishedAt: now, exitCode: 0 } as const;
  await heard({ submittedAt, ...ended });
  await tell({ ...upsert("bad", "complete", 1), ...ended, submittedAt, exitCode: 3 });
  await rowsOfLook();
  now += HOUR;
  await rowsOfLook();
  const span = { since: now - 3 * HOUR, until: now };
  const samples = await objects.pool("default").past("samples", span);
  expect(samples.items.map(({ at, runs }) => `${at} ${runs.running}`)).toEqual([
    "2026-11-21T12:30:10.000Z 1",
    "2026-11-21T12:35:10.000Z 0",
  ]);
  const tallies = await objects.pool("default").past("tallies", span);
  expect(tallies).toMatchObject({
    items: [
      {
        from: "2026-11-21T12:00:00.000Z",
        to: "2026-11-21T13:00:00.000Z",
        ended: { complete: 2 },
        failedExits: 1,
        started: { runs: 2, seconds: 598 },
      },
    ],
    next: null,
  });
});
