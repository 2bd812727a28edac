import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";
import { heldBack } from "./support/held.ts";
import { workerdPids } from "./support/workerd.ts";

const LIVE = /^live$/;
const mark = (page: Page, text: RegExp) => page.locator(".stream").filter({ hasText: text });
const streams = (asked: readonly string[]) => asked.filter((path) => path.startsWith("/v1/events"));

describe.skipIf(!hasBrowser)("live data of the dashboard (ui.md#live-data)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("what happens elsewhere appears by itself", async () => {
    const { page, close } = await at.open("/ui/runs");
    await mark(page, LIVE).waitFor();
    const id = await at.run("exit 4");
    const row = page.getByRole("row").filter({ hasText: id });
    await row.getByText("complete, exit code 4").waitFor();
    await close();
  });

  test("a stream that breaks goes on after the last change, and the page says what it does", async () => {
    const { page, asked } = await at.open("/ui/runs");
    await mark(page, LIVE).waitFor();
    const known = await at.run("exit 6");
    await page.getByRole("row").filter({ hasText: known }).getByText("exit code 6").waitFor();
    for (const pid of workerdPids()) process.kill(pid, "SIGKILL");
    await mark(page, /resuming at \d+/).waitFor();
    await mark(page, LIVE).waitFor();
    expect(streams(asked).at(-1)).toMatch(/[?&]after=\d+/);
    const id = await at.run("exit 5");
    await page.getByRole("row").filter({ hasText: id }).getByText("exit code 5").waitFor();
    // What the browser logs of lost connections is no fault of the page.
    await page.context().close();
  });

  test("a run that ends before the stream begins is shown as ended (ui.md#live-data)", async () => {
    const id = await at.run("sleep 1000");
    await at.until(id, "running");
    const { page, close } = await at.open("/ui/admin");
    const letThrough = await heldBack(page, "**/v1/events?*");
    const asksForStream = page.waitForRequest("**/v1/events?*");
    await page.goto(`${at.url}/ui/runs/${id}`);
    await page.locator("main .state").filter({ hasText: "running" }).first().waitFor();
    await asksForStream;
    await at.json(200, "POST", `/v1/runs/${id}/abort`, {});
    await at.until(id, "done");
    letThrough();
    await page.locator("main .state").filter({ hasText: "aborted" }).first().waitFor();
    await close();
  });

  test("eight tabs hold one stream, and another one takes over when its tab is closed", async () => {
    const first = await at.open("/ui/runs");
    await mark(first.page, LIVE).waitFor();
    const asked: string[][] = [];
    const tabs = await Promise.all(
      Array.from({ length: 7 }, async () => {
        const tab = await first.context.newPage();
        const paths: string[] = [];
        asked.push(paths);
        tab.on("request", (request) => paths.push(request.url().slice(at.url.length)));
        await tab.goto(`${at.url}/ui/runs`);
        await tab.getByRole("heading", { name: "Runs" }).waitFor();
        return tab;
      }),
    );
    const id = await at.run("exit 6");
    for (const tab of tabs)
      await tab.getByRole("row").filter({ hasText: id }).getByText("exit code 6").waitFor();
    expect(asked.flatMap(streams)).toEqual([]);
    await first.page.close();
    const next = await at.run("exit 7");
    for (const tab of tabs) {
      await tab.getByRole("row").filter({ hasText: next }).getByText("exit code 7").waitFor();
    }
    expect(asked.flatMap(streams)).toHaveLength(1);
    await first.close();
  });

  test("D13: a page hidden for a minute stops, and later goes on without a gap (ui.md#d13)", async () => {
    const { page, asked, close } = await at.open("/ui/runs");
    await page.clock.install();
    await page.reload();
    await mark(page, LIVE).waitFor();
    // Of a stream without any event there would be no place to go on.
    const seen = await at.run("exit 9");
    await page.getByRole("row").filter({ hasText: seen }).getByText("exit code 9").waitFor();
    const show = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
         document.dispatchEvent(new Event("visibilitychange"));`,
      );
    await show("hidden");
    await page.clock.fastForward(61_000);
    await mark(page, /paused/).waitFor();
    const id = await at.run("exit 8");
    await at.until(id, "done");
    // What was on its way when the page was hidden has ended by now.
    const before = asked.length;
    await page.clock.fastForward(600_000);
    expect(asked.slice(before)).toEqual([]);
    await show("visible");
    await page.getByRole("row").filter({ hasText: id }).getByText("exit code 8").waitFor();
    expect(streams(asked).at(-1)).toMatch(/[?&]after=\d+/);
    await close();
  });

  test("D14: many changes are drawn once per frame, in at most 50 rows (ui.md#d14)", async () => {
    const known = await at.run("true");
    await at.until(known, "done");
    const run = (await at.json(200, "GET", `/v1/runs?prefix=${known}`)).items[0];
    const { page, context } = await at.open("/ui/pools");
    // 5,000 changes at once, in the API's own form; of each run the last one counts.
    const feed = Array.from({ length: 5_000 }, (_, index) => {
      const change = { ...run, id: index % 2 ? known : `other-${index}`, version: run.version + index + 1 };
      change.labels = { change: String(index) };
      return `id: ${1_000_000 + index}\nevent: run\ndata: ${JSON.stringify(change)}\n\n`;
    });
    await context.route("**/v1/events?**", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: feed.join("") }),
    );
    await context.addInitScript(`
      window.draws = {};
      let frame = 0;
      let frameAt = performance.now();
      const begin = () => {
        frame += 1;
        frameAt = performance.now();
      };
      const next = () => {
        begin();
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
      new MutationObserver((changes) => {
        if (!changes.some(({ target }) => target.parentElement?.closest?.("tbody"))) return;
        // Without a frame for a second, the page draws by a timer.
        if (performance.now() - frameAt >= 1_000) begin();
        window.draws[frame] = (window.draws[frame] ?? 0) + 1;
      }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    `);
    await page.goto(`${at.url}/ui/runs`);
    await page.getByText("change=4999").waitFor();
    expect(await page.locator("tbody tr").count()).toBeLessThanOrEqual(50);
    const draws: number[] = await page.evaluate("Object.values(window.draws)");
    expect(draws.length).toBeGreaterThan(0);
    expect(Math.max(...draws)).toBe(1);
    await context.close();
  });
});
