import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { strikeWorkerd } from "../../crash/support/strikes.ts";
import { until } from "../../local/support/scratch.ts";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { numberedRowsOf, rowsOf, rowTops, scrollBy, scrollTo, statusOf } from "../support/log.ts";

/** Writes numbered lines to both streams in turn. */
const COUNTING =
  "i=0; while :; do i=$((i+1)); echo out $i; sleep 0.1; i=$((i+1)); echo err $i >&2; sleep 0.1; done";

describe.skipIf(!hasBrowser)("both streams of a run in one view", () => {
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

  /** Starts to count, and opens the view. */
  async function counting() {
    const id = await at.run(COUNTING);
    await at.until(id, "running");
    return { id, ...(await at.open(`/ui/runs/${id}?tab=log&stream=both`)) };
  }

  const lastNumber = async (page: Page) => Number((await rowsOf(page)).at(-1)?.split(" ")[1] ?? 0);

  test("are in the order of their arrival, each row with its stream and time (ui.md#both)", async () => {
    // Each signal lets it go on to what it writes next, once an agent has stored what is there.
    const awaits = (count: number) => `while [ $n -lt ${count} ]; do sleep 0.1; done`;
    const script = `n=0; trap 'n=$((n+1))' USR1; echo one; ${awaits(1)}; echo two >&2; ${awaits(2)}`;
    const id = await at.run(`${script}; echo three; printf four >&2; exit 1`);
    for (const stream of ["stdout", "stderr"]) {
      await until(`what it wrote on ${stream} is stored`, async () => {
        const { stored } = await at.json(200, "GET", `/v1/runs/${id}/logs/main`);
        return stored[stream] >= "one\n".length;
      });
      await at.json(200, "POST", `/v1/runs/${id}/signal`, { signal: "SIGUSR1" });
    }
    await at.until(id, "done");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log`);
    await page.getByRole("link", { name: "both", exact: true }).click();
    await until("all is shown", async () => (await rowsOf(page)).length === 4);
    expect(await numberedRowsOf(page)).toEqual([
      ["stdout", "one"],
      ["stderr", "two"],
      ["stdout", "three"],
      ["stderr", "four"],
    ]);
    expect(new URL(page.url()).searchParams.get("stream")).toBe("both");
    expect(await statusOf(page)).toBe("This output is complete.");
    await page.getByText("may be in another order").waitFor();
    expect(await page.getByText("Only the last").count()).toBe(0);
    const titles = await page
      .locator(".log-number")
      .evaluateAll((links) => links.map((link) => link.getAttribute("title") ?? ""));
    for (const title of titles) expect(title).toMatch(/^Arrived \d{4}-\d\d-\d\dT[\d:.]+Z \(UTC\)$/);
    expect(titles.slice(0, 3)).toEqual(titles.slice(0, 3).toSorted());
    const copied = await page.evaluate<string>(
      'getSelection().selectAllChildren(document.querySelector(".log-rows")); String(getSelection())',
    );
    expect(copied.trim().split("\n")).toEqual(["one", "two", "three", "four"]);
    expect(await barriersOf(page)).toEqual([]);
    await close();
  });

  test("lead from each row to the same line of its stream (ui.md#d8)", async () => {
    const id = await ended("echo one; sleep 1; echo two >&2; echo three >&2; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log&stream=both`);
    const row = page.locator(".log-row", { hasText: "three" });
    await row.getByRole("link", { includeHidden: true }).click();
    await page.locator(".log-marked", { hasText: "three" }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(["stream", "attempt", "b"].map((name) => searchParams.get(name))).toEqual([
      "stderr",
      "1.1",
      "4-10",
    ]);
    await page.goBack();
    await until("both are shown again", async () => (await rowsOf(page)).length === 3);
    await close();
  });

  test("are never read whole, and the view says what it leaves out (ui.md#d6)", async () => {
    const id = await ended("echo early >&2; sleep 1; seq 1 1250000; sleep 1; echo late >&2; exit 1");
    const { page, close } = await at.open("/ui/runs");
    /** How many bytes each request for output asks for. */
    const spans: number[] = [];
    page.on("request", (request) => {
      if (!/\/logs\/main\/std(out|err)$/.test(new URL(request.url()).pathname)) return;
      const [, from, to = Number.POSITIVE_INFINITY] =
        /^bytes=(\d+)-(\d+)$/.exec(request.headers().range ?? "") ?? [];
      spans.push(Number(to) + 1 - Number(from));
    });
    await page.goto(`${at.url}/ui/runs/${id}?tab=log&stream=both`);
    await until("the end is shown", async () => (await rowsOf(page)).at(-1) === "late");
    expect(await statusOf(page)).toBe("This output is complete.");
    await page.getByText("Only the last 1MiB of each stream, as far back as both reach").waitFor();
    // Each byte is read once, and those before the last mebibyte of stdout never.
    expect(spans.reduce((sum, span) => sum + span, 0)).toBeLessThanOrEqual(1024 * 1024 + 20);
    await scrollTo(page, 0);
    // What stderr has from before the shown part of stdout is left out.
    await until("the beginning is shown", async () => /^11\d{5}$/.test((await rowsOf(page))[0] ?? ""));
    await page.getByRole("link", { name: "stderr alone" }).click();
    await until("stderr is shown", async () => (await rowsOf(page)).join() === "early,late");
    await close();
  });

  test("D2: nothing that arrives moves what is visible, and a button follows again (ui.md#d2)", async () => {
    const { id, page, close } = await counting();
    await until("there is more than fits", async () => (await lastNumber(page)) > 60);
    await scrollBy(page, -150);
    const resume = page.getByRole("button", { name: /^\d+ new lines?$/ });
    await resume.waitFor();
    const before = await rowTops(page);
    await until("more has come", async () => Number.parseInt((await resume.textContent()) ?? "", 10) > 10);
    expect(await rowTops(page)).toEqual(before);
    await resume.click();
    const now = await lastNumber(page);
    await until("it follows again", async () => (await lastNumber(page)) > now);
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });

  test("D3: a restart adds a boundary, and clears nothing (ui.md#d3)", async () => {
    const first = "touch again; echo first; sleep 1; printf second >&2";
    const script = `if [ -e again ]; then echo third; else ${first}; fi; sleep 600`;
    const id = await at.run(script);
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log&stream=both`);
    await page.locator(".log-row", { hasText: "second" }).waitFor();
    expect((await at.call("POST", `/v1/runs/${id}/restart`)).ok).toBe(true);
    await page.locator(".log-row", { hasText: "third" }).waitFor();
    expect(await rowsOf(page)).toEqual(["first", "second", "Attempt 1.2 starts here", "third"]);
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });

  test("D5: after a SIGKILL of the control plane no line is doubled or missing (ui.md#d5)", async () => {
    const { id, page, context } = await counting();
    await until("some is shown", async () => (await lastNumber(page)) > 6);
    const resuming = page.getByText(/^Resuming where both streams broke off/);
    // The view asks twice a second, and does not notice a control plane that is back before it asks.
    await until("a step breaks", async () => {
      await strikeWorkerd({ pid: process.pid, stateDir: at.stateDir });
      return resuming.waitFor({ timeout: 2_000 }).then(
        () => true,
        () => undefined,
      );
    });
    const before = await lastNumber(page);
    await until("more has come", async () => (await lastNumber(page)) > before + 10);
    const rows = await rowsOf(page);
    // What both streams got between two looks of the agent is in order by stream alone.
    for (const stream of ["out", "err"]) {
      const of = rows.filter((row) => row.startsWith(`${stream} `));
      const numbers = of.map((row) => Number(row.split(" ")[1]));
      expect(numbers.length).toBeGreaterThan(1);
      expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] ?? 0) + 2 * i));
    }
    expect(await statusOf(page)).toMatch(/^Live/);
    await at.call("POST", `/v1/runs/${id}/abort`);
    // The browser has logged that the connection broke.
    await context.close();
  });
});
