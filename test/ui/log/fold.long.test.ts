import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { numbersOf, rowsOf, rowTops, scrollBy, scrollTo } from "../support/log.ts";

const fold = (page: Page, name: string) => page.locator(".log").getByRole("button", { name });
const row = (page: Page, text: string | RegExp) => page.locator(".log-row", { hasText: text });

describe.skipIf(!hasBrowser)("the groups of an output (ui.md#groups)", () => {
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

  const THREE =
    "echo begin; echo ::group::build; seq 1 20; echo ::endgroup::; echo +++ test; seq 21 22; " +
    "echo --- upload; seq 31 32";

  test("fold as they say, and the last one of a failed run is open", async () => {
    const id = await ended(`${THREE}; exit 1`);
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await row(page, "32").waitFor();
    expect(await rowsOf(page)).toEqual("begin,::group::build,+++ test,21,22,--- upload,31,32".split(","));
    expect(await fold(page, "::group::build, 21 rows").getAttribute("aria-expanded")).toBe("false");
    expect(await fold(page, "+++ test, 2 rows").getAttribute("aria-expanded")).toBe("true");
    const box = await fold(page, "+++ test").boundingBox();
    expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(24);
    expect(await barriersOf(page)).toEqual([]);
    await close();
  });

  test("of a run that has succeeded are closed, the last one, too", async () => {
    const id = await ended(THREE);
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log`);
    await row(page, "--- upload").waitFor();
    expect((await rowsOf(page)).at(-1)).toBe("--- upload");
    await close();
  });

  test("are opened and closed by keyboard, where they stand, or all at once", async () => {
    const id = await ended(`seq 100 200; ${THREE}; exit 1`);
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await row(page, "32").waitFor();
    const topOf = async () => (await rowTops(page)).find(([text]) => text === "::group::build")?.[1];
    await fold(page, "::group::build").focus();
    const before = await topOf();
    await page.keyboard.press("Enter");
    await until("it is open", async () => (await rowsOf(page)).includes("2"));
    expect(await topOf()).toBe(before);
    await page.keyboard.press("Space");
    await until("it is closed", async () => !(await rowsOf(page)).includes("2"));
    expect(await topOf()).toBe(before);
    await page.getByRole("button", { name: "Expand all" }).click();
    // The view stays at its end, so the last rows of the group are in it.
    await until("all are open", async () => (await rowsOf(page)).includes("20"));
    await page.getByRole("button", { name: "Collapse all" }).click();
    await until("all are closed", async () => (await rowsOf(page)).at(-1) === "--- upload");
    expect(await fold(page, "--- upload").getAttribute("aria-expanded")).toBe("false");
    await close();
  });

  test("open for a hit of a search and for a linked line (ui.md#d8)", async () => {
    const id = await ended(`${THREE}; echo ::endgroup::; echo the end`);
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log`);
    await row(page, "the end").waitFor();
    expect(await row(page, /^17$/).count()).toBe(0);
    await page.getByRole("searchbox", { name: "Search this output" }).fill("17");
    await page.keyboard.press("Enter");
    await page.locator(".log-marked", { hasText: "17" }).waitFor();
    await page.goto(`${at.url}/ui/runs/${id}?tab=log&attempt=1.1&l=5-6`);
    await page.locator(".log-marked", { hasText: "4" }).waitFor();
    expect(await page.locator(".log-marked").allInnerTexts()).toEqual(["3", "4"]);
    await close();
  });

  test("D2: fold while somebody follows, and stay for who does not follow (ui.md#d2)", async () => {
    const wait = (signals: number) => `while [ $n -lt ${signals} ]; do sleep 0.1; done`;
    const script =
      `n=0; trap 'n=$((n+1))' USR1; seq 1 100; echo --- one; seq 101 120; ${wait(1)}; ` +
      `echo --- two; seq 201 205; ${wait(2)}; echo --- three; seq 301 400; sleep 600`;
    const id = await at.run(script);
    await at.until(id, "running");
    const goOn = () => at.call("POST", `/v1/runs/${id}/signal`, { signal: "SIGUSR1" });
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await row(page, "120").waitFor();
    expect((await goOn()).ok).toBe(true);
    await row(page, "205").waitFor();
    await until("the first one is folded", async () => {
      const rows = await rowsOf(page);
      return rows.includes("--- one") && !rows.includes("120");
    });
    await scrollBy(page, -60);
    await page
      .getByRole("button", { name: /^(End|\d+ new lines?)$/ })
      .and(page.locator(":enabled"))
      .waitFor();
    const before = await rowTops(page);
    expect(before.map(([text]) => text)).toContain("--- two");
    expect((await goOn()).ok).toBe(true);
    await page.getByRole("button", { name: "101 new lines" }).waitFor();
    expect(await rowTops(page)).toEqual(before);
    expect(await fold(page, "--- two").getAttribute("aria-expanded")).toBe("true");
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });

  test("D6: a log of groups alone is not read to its beginning (ui.md#d6)", async () => {
    const id = await ended('i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo "--- part $i"; seq 1 40000; done');
    const { page, asked, close } = await at.open(`/ui/runs/${id}?tab=log`);
    const reads = () => asked.filter((path) => path.includes("/logs/")).length;
    await row(page, "--- part 40").waitFor();
    await until("what is near has been read", async () => (await rowsOf(page)).length > 8);
    // A frame that asked for more would have asked by now, for each answer leads to another frame.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    expect(reads()).toBeLessThanOrEqual(4);
    // Their numbers are asked for in two steps.
    await until("lines have numbers", async () => (await numbersOf(page)).every((number) => number !== ""));
    const before = reads();
    await scrollTo(page, 0);
    await until("earlier ones are read for who goes up", () => reads() > before);
    await close();
  });
});
