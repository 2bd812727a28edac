import { describe, expect, test } from "vitest";
import type { RunSummary } from "../../../src/generated/api.ts";
import { gathered } from "../../../ui/pages/runs/bulk/gathered.ts";
import { refusalsOf } from "../../../ui/pages/runs/bulk/refusals.ts";

/** A list of runs whose ids are their numbers, in pages of `size`, whose cursors are numbers, too. */
function pagesOf(count: number, size: number) {
  return async (cursor = "0") => {
    const first = Number(cursor);
    const until = Math.min(first + size, count);
    const items = Array.from({ length: until - first }, (_, index) => ({ id: String(first + index) }));
    // What an act fits is decided by the test, from the id alone.
    return { items: items as RunSummary[], next: until < count ? String(until) : null };
  };
}

describe("all runs that match (ui.md#selection)", () => {
  const numbers = (ids: readonly string[]) => ids.map(Number);

  test("are reached in as many goes as it takes, each once", async () => {
    const seen: number[] = [];
    const sizes: number[] = [];
    for (let after: string | undefined; ; ) {
      const found = await gathered(pagesOf(23, 2), { fits: () => true, most: 6, after, read: () => {} });
      seen.push(...numbers(found.ids));
      sizes.push(found.ids.length);
      if (found.next === null) break;
      after = found.next;
    }
    expect(seen).toEqual(Array.from({ length: 23 }, (_, index) => index));
    expect(sizes).toEqual([6, 6, 6, 5]);
  });

  test("are reached however many others stand before them that the act does not fit", async () => {
    const told: number[] = [];
    const fits = ({ id }: RunSummary) => Number(id) >= 95;
    const found = await gathered(pagesOf(100, 10), { fits, most: 20, read: (count) => told.push(count) });
    expect(found).toEqual({ ids: ["95", "96", "97", "98", "99"], left: 95, next: null });
    expect(told).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
  });
});

test("a thousand refusals are a line for each reason, the most frequent first (ui.md#selection)", () => {
  const failed = Array.from({ length: 1_000 }, (_, index) => ({
    id: `run-${index}`,
    error: index === 0 ? "too much is going on" : `there is no run "run-${index}"`,
  }));
  const [first, second, ...others] = refusalsOf(failed, String);
  expect(first?.reason).toBe('there is no run "…"');
  expect(first?.ids).toHaveLength(999);
  expect(second).toEqual({ reason: "too much is going on", ids: ["run-0"] });
  expect(others).toEqual([]);
});
