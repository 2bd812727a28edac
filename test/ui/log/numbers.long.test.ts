import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { heldBack } from "../support/held.ts";
import { numberedRowsOf, rowsOf, scrollTo } from "../support/log.ts";

const MEBIBYTE = 1024 * 1024;

describe.skipIf(!hasBrowser)("the numbers of the lines of an output", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  async function ended(script: string): Promise<string> {
    const id = await at.run(script);
    await at.until(id, "done");
    return id;
  }

  /** Waits until the visible lines, which are numbers, have these numbers. */
  async function untilNumbered(page: Page): Promise<void> {
    await until("the lines have their numbers", async () => {
      const rows = await numberedRowsOf(page);
      const [first = ["", ""], ...others] = rows;
      for (const [number, text] of others) expect(["", text]).toContain(number);
      // The first row in memory may be the rest of its line.
      if (first[0] !== "") expect(first[0]).toMatch(new RegExp(`${first[1]}$`));
      return rows.length > 10 && rows.every(([number]) => number !== "");
    });
  }

  /** The ranges that the page asks for, or the addresses of requests without one. */
  function rangesOf(page: Page): string[] {
    const ranges: string[] = [];
    page.on("request", (request: Request) => {
      if (!new URL(request.url()).pathname.endsWith("/stdout")) return;
      ranges.push(request.headers().range ?? request.url());
    });
    return ranges;
  }

  test("are right at the end of a log whose beginning was never read (ui.md#log-rows)", async () => {
    const id = await ended("seq 1 1250000; exit 1");
    const { page, close } = await at.open("/ui/runs");
    const ranges = rangesOf(page);
    await page.goto(`${at.url}/ui/runs/${id}`);
    await until("the end is shown", async () => (await rowsOf(page)).at(-1) === "1250000");
    await untilNumbered(page);
    expect(ranges.filter((range) => range.startsWith("bytes=0-"))).toEqual([]);
    await until("earlier lines are read", async () => {
      await scrollTo(page, 0);
      return Number((await rowsOf(page))[1]) < 1_200_000;
    });
    await untilNumbered(page);
    await close();
  });

  test("of a link lead to its lines without what is before them (ui.md#d8)", async () => {
    const id = await ended("seq 1 1250000; exit 1");
    const { page, close } = await at.open("/ui/runs");
    const ranges = rangesOf(page);
    await page.goto(`${at.url}/ui/runs/${id}?tab=log&l=1200000-1200002`);
    await page.locator(".log-marked", { hasText: "1200001" }).waitFor();
    expect(await page.locator(".log-marked").allInnerTexts()).toEqual(["1200000", "1200001", "1200002"]);
    await untilNumbered(page);
    const begins = ranges.map((range) => Number(/^bytes=(\d+)-/.exec(range)?.[1]));
    // The log has 8.9 MB, and a stored row of it at most 4 MiB.
    expect(Math.min(...begins)).toBeGreaterThan(3 * MEBIBYTE);
    await close();
  });

  test("are not there before they are known, and nothing wrong is said (ui.md#log-rows)", async () => {
    const id = await ended("seq 1 200000; exit 1");
    const { page, close } = await at.open("/ui/runs");
    const letThrough = await heldBack(page, "**/logs/main/stdout/lines*");
    await page.goto(`${at.url}/ui/runs/${id}`);
    await until("the end is shown", async () => (await rowsOf(page)).at(-1) === "200000");
    expect(new Set((await numberedRowsOf(page)).map(([number]) => number))).toEqual(new Set([""]));
    const link = page.locator(".log-row", { hasText: /^200000$/ }).getByRole("link", { includeHidden: true });
    expect(await link.getAttribute("aria-label")).toMatch(/^Link to byte \d+$/);
    letThrough();
    await untilNumbered(page);
    expect(await link.getAttribute("aria-label")).toBe("Link to line 200000");
    await close();
  });

  test("are no part of what is copied (ui.md#d9)", async () => {
    const id = await ended("seq 1 200000; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await until("the end is shown", async () => (await rowsOf(page)).at(-1) === "200000");
    await untilNumbered(page);
    const copied = await page.evaluate<string>(
      'getSelection().selectAllChildren(document.querySelector(".log-rows")); String(getSelection())',
    );
    const lines = copied.trim().split("\n").map(Number);
    expect(lines).toEqual(lines.map((_, i) => 200_001 - lines.length + i));
    await close();
  });
});
