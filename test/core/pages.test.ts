import { describe, expect, test } from "vitest";
import type { ProviderFailure } from "../../src/core/provider-answers.ts";
import { listPages, MAX_LIST_PAGES, MAX_LIST_WALKS } from "../../src/providers/pages.ts";
import type { Instance } from "../../src/schema/provider.ts";

const T0 = Date.UTC(2026, 10, 21);

function machine(number: number): Instance {
  const id = `i-${String(number).padStart(4, "0")}`;
  return { id, name: id, address: null, state: "running", instanceType: "t", tags: {}, createdAt: "" };
}

/** A cloud with so many machines, and so many to a page, of which some may end whenever a page was read. */
function cloudOf({
  machines,
  size,
  ends,
}: {
  machines: number;
  size: number;
  ends?: (read: number) => number;
}) {
  const alive = Array.from({ length: machines }, (_, number) => machine(number));
  let reads = 0;
  const after = <Page>(page: Page): Page => {
    alive.splice(0, ends?.(reads) ?? 0);
    reads += 1;
    return page;
  };
  return {
    alive,
    reads: () => reads,
    /** As Hetzner and DigitalOcean do: pages have numbers, and rows move up. */
    byNumber: async (cursor = "0") => {
      const from = Number(cursor) * size;
      const next = from + size < alive.length ? String(Number(cursor) + 1) : null;
      return after({ items: alive.slice(from, from + size), complete: true, next });
    },
    /** Each page begins after the last id of the one before: nothing can slip by. */
    byId: async (cursor = "") => {
      const rest = alive.filter(({ id }) => id > cursor);
      const items = rest.slice(0, size);
      return after({ items, complete: true, next: rest.length > size ? (items.at(-1)?.id ?? null) : null });
    },
  };
}

// 50 to a page is Hetzner's, 200 DigitalOcean's most.
const BOUNDARIES = [50, 200].flatMap((size) =>
  [size - 1, size, size + 1].map((machines) => ({ size, machines })),
);

describe("a page boundary while machines are being deleted (cases.md#case-19)", () => {
  test.each(BOUNDARIES)(
    "$machines machines, $size to a page, and none ends: all, for certain",
    async (row) => {
      for (const pages of ["byNumber", "byId"] as const) {
        const cloud = cloudOf(row);
        const answer = await listPages(cloud[pages], T0);
        expect(answer).toEqual({ kind: "listed", beganAt: T0, items: cloud.alive });
        // One page is read once, and two are read until they agree.
        expect(cloud.reads()).toBe(row.machines > row.size ? 4 : 1);
      }
    },
  );

  test.each(BOUNDARIES)("$machines machines, $size to a page, and one ends after the first", async (row) => {
    for (const pages of ["byNumber", "byId"] as const) {
      const cloud = cloudOf({ ...row, ends: (read) => (read === 0 ? 1 : 0) });
      const answer = await listPages(cloud[pages], T0);
      expect(answer).not.toHaveProperty("partial");
      expect(answer).toMatchObject({ items: expect.arrayContaining(cloud.alive) });
    }
  });

  test.each(BOUNDARIES)("twice $machines machines, $size to a page, and one ends after each", async (row) => {
    const cloud = cloudOf({ ...row, machines: 2 * row.machines, ends: () => 1 });
    const answer = await listPages(cloud.byNumber, T0);
    // Never quiet: absence proves nothing, and what was seen was there.
    expect(answer).toMatchObject({ kind: "listed", partial: { why: expect.stringContaining("changed") } });
  });

  test("without the second reading a living machine would be missing", async () => {
    const cloud = cloudOf({ machines: 100, size: 50, ends: (read) => (read === 0 ? 1 : 0) });
    const first = await cloud.byNumber();
    const second = await cloud.byNumber("1");
    const shown = [...first.items, ...second.items].map(({ id }) => id);
    expect(cloud.alive.filter(({ id }) => !shown.includes(id))).toHaveLength(1);
  });
});

describe("what a listing proves", () => {
  const page = (more: object) => async () => ({ items: [machine(1)], complete: true, ...more });

  test.each([{ next: null }, {}])("a single page that is complete is whole: %j", async (more) => {
    expect(await listPages(page(more), T0)).toEqual({ kind: "listed", beganAt: T0, items: [machine(1)] });
  });

  test("one that is not called complete proves no absence", async () => {
    const answer = await listPages(page({ complete: false }), T0);
    expect(answer).toMatchObject({
      items: [machine(1)],
      partial: { why: expect.stringContaining("complete") },
    });
  });

  test("of several pages the last says whether they are complete", async () => {
    const pages = (last: boolean) => async (cursor?: string) =>
      cursor === undefined
        ? { items: [machine(1)], complete: !last, next: "2" }
        : { items: [machine(2)], complete: last };
    expect(await listPages(pages(true), T0)).not.toHaveProperty("partial");
    expect(await listPages(pages(false), T0)).toHaveProperty("partial");
  });

  test.each([
    [MAX_LIST_PAGES, false],
    [MAX_LIST_PAGES + 1, true],
  ])("%i pages: partial %j", async (machines, partial) => {
    const cloud = cloudOf({ machines, size: 1 });
    const answer = await listPages(cloud.byId, T0);
    expect("partial" in answer).toBe(partial);
    expect(cloud.reads()).toBe(partial ? MAX_LIST_PAGES : 2 * machines);
  });

  test("a cursor that leads nowhere ends", async () => {
    expect(await listPages(page({ next: "again" }), T0)).toHaveProperty("partial");
  });

  /** Two pages of a machine each, of which all reads from this one on fail. */
  const failingFrom = (first: number, failure: ProviderFailure) => {
    let reads = 0;
    return async (cursor?: string) => {
      reads += 1;
      if (reads >= first) return { failure };
      const [number, next] = cursor === undefined ? [1, "2"] : [2, null];
      return { items: [machine(number)], complete: true, next };
    };
  };
  const down = { class: "temporary", text: "it is down" } as const;

  test.each([
    ["the second page", 2, [1]],
    ["the first page of the second reading", 3, [1, 2]],
    ["the last page of all", 4, [1, 2]],
  ])("what was read before %s failed is there, and proves no absence", async (_what, first, seen) => {
    const answer = await listPages(failingFrom(first, down), T0);
    expect(answer).toEqual({
      kind: "listed",
      beganAt: T0,
      items: seen.map(machine),
      partial: { why: "it is down" },
    });
  });

  test("where the first page fails there is no listing", async () => {
    expect(await listPages(failingFrom(1, down), T0)).toEqual({ kind: "failed", failure: down });
  });

  test.each([1, 2, 3])("a pause that read %i asks for is heard", async (first) => {
    const failure = { class: "rate_limit", text: "slow down", retryAfterMs: 9_000 } as const;
    expect(await listPages(failingFrom(first, failure), T0)).toEqual({ kind: "failed", failure });
  });

  test("a page that something was left out of proves no absence, and the others are read", async () => {
    const read = async (cursor?: string) =>
      cursor === undefined
        ? { items: [machine(1)], gap: "i-7 is odd", complete: true, next: "2" }
        : { items: [machine(2)], complete: true };
    const items = [machine(1), machine(2)];
    expect(await listPages(read, T0)).toEqual({
      kind: "listed",
      beganAt: T0,
      items,
      partial: { why: "i-7 is odd" },
    });
  });

  test.each([
    [MAX_LIST_WALKS - 2, false],
    [MAX_LIST_WALKS - 1, true],
  ])("pages that change during %i readings: partial %j", async (changes, partial) => {
    const changing = (read: number) => (read % 2 === 0 && read / 2 < changes ? 1 : 0);
    const cloud = cloudOf({ machines: 8, size: 4, ends: changing });
    expect("partial" in (await listPages(cloud.byNumber, T0))).toBe(partial);
  });
});
