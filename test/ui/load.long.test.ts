import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Feed, startFeed } from "../../bench/page/feed.ts";
import { PROBE, takeSeen } from "../../bench/page/probe.ts";
import { CHROMIUM_OPTIONS, hasBrowser, PATIENCE_MS } from "./support/dashboard.ts";

const SEED = 7;
const BURST = { live: 10_000, ended: 100, workers: 1_000, changesPerSecond: 500, seed: SEED };
const PAGE = 50;
/** Changes of 20 seconds. */
const MANY = 10_000;
/** A list asks again at most every two seconds, and so does each of what else the list shows. */
const LIST_MS = 2_000;

/** Waits until the world has changed so often. */
async function untilChanged({ world }: Feed, changes: number): Promise<void> {
  const end = world.number + changes;
  await expect.poll(() => world.number, { timeout: 120_000, interval: 100 }).toBeGreaterThanOrEqual(end);
}

async function openRuns(browser: Browser, feed: Feed): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.addInitScript(PROBE);
  await page.goto(`${feed.url}/ui/runs`);
  await page
    .locator("main tbody tr")
    .nth(PAGE - 1)
    .waitFor();
  return page;
}

const ofApi = (feed: Feed) =>
  feed.asked.filter(({ path }) => path.startsWith("/v1/") && !path.startsWith("/v1/events"));

describe.skipIf(!hasBrowser)(
  "the dashboard under load, in front of a generated feed (ui.md#under-load)",
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await chromium.launch(CHROMIUM_OPTIONS);
    });
    afterAll(() => browser?.close());

    test("D14: 500 changes a second: one draw a frame, 50 rows (ui.md#d14)", async () => {
      const feed = await startFeed(BURST);
      const page = await openRuns(browser, feed);
      await page.locator(".stream.live").waitFor();
      await takeSeen(page);
      const before = ofApi(feed).length;
      const beganAt = performance.now();
      await untilChanged(feed, MANY);
      const lists = ofApi(feed)
        .slice(before)
        .filter(({ path }) => path.startsWith("/v1/runs?"));
      const most = Math.ceil((performance.now() - beganAt) / LIST_MS) + 1;
      const { draws, frames } = await takeSeen(page);
      expect(draws.length).toBeGreaterThan(0);
      expect(Math.max(...draws)).toBe(1);
      expect(draws.length).toBeLessThanOrEqual(frames.length);
      expect(await page.locator("main tbody tr").count()).toBe(PAGE);
      expect(lists.length).toBeGreaterThan(0);
      expect(lists.length).toBeLessThanOrEqual(most);
      expect(feed.asked.filter(({ path }) => path.startsWith("/v1/events"))).toHaveLength(1);
      expect(feed.faults).toEqual([]);
      await page.context().close();
      await feed.stop();
    });

    test("D11: 100,000 runs cost as many requests and bytes as a hundred (ui.md#d11)", async () => {
      const costOf = async (ended: number) => {
        const feed = await startFeed({ live: 10, ended, workers: 3, changesPerSecond: 0, seed: SEED });
        const page = await openRuns(browser, feed);
        await page.locator(".stream.live").waitFor();
        await page.getByRole("link", { name: "Older" }).click();
        await page.getByRole("link", { name: "Newest" }).waitFor();
        await page.locator(".stale").waitFor({ state: "detached" });
        // Ids of runs are longer where there are more of them; they are counted with as many digits.
        const cost = new Map<string, number>();
        for (const { path, bytes } of ofApi(feed)) {
          const key = path.replace(/run-\d+/, "run-");
          // A question may be on its way again.
          cost.set(key, Math.max(bytes, cost.get(key) ?? 0));
        }
        expect(feed.faults).toEqual([]);
        await page.context().close();
        await feed.stop();
        return cost;
      };
      const few = await costOf(100);
      const many = await costOf(100_000);
      expect([...many.keys()].sort()).toEqual([...few.keys()].sort());
      for (const [path, bytes] of many) expect(bytes, path).toBeLessThanOrEqual((few.get(path) ?? 0) * 1.05);
    });
  },
);
