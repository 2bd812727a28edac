import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GoneWorker, HistoryItem, PoolSample, PoolTally } from "../../src/generated/api.ts";
import { until } from "../local/support/scratch.ts";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";

const MINUTE = 60_000;
const PATH = "/ui/pools/default";

/** The names of the bars, which say all that the bars show. */
const names = (page: Page): Promise<string[]> =>
  page
    .locator(".gantt ol li a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("aria-label") ?? ""));
/** The rows of the table of machines, cell by cell. */
const rows = (page: Page): Promise<string[][]> =>
  page
    .locator(".machines tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.children].map(({ textContent }) => textContent ?? "")));
/** The boxes that are drawn for a part of the first bar, in minutes before now. */
async function boxes(page: Page, kind: string, minutes: number): Promise<number[][]> {
  const picture = page.locator(".gantt ol li svg").first();
  // Until the page knows how wide the picture may be, it is one pixel wide.
  const width = await until("the picture has its width", async () => {
    const pixels = Number(await picture.getAttribute("width"));
    return pixels > 1 ? pixels : undefined;
  });
  const drawn = (await picture.locator(`.part.${kind}`).getAttribute("d")) ?? "";
  return [...drawn.matchAll(/M(\d+) .*?H(\d+)/g)].map(([, ...ends]) =>
    ends.map((px) => Math.round((Number(px) / width - 1) * minutes)),
  );
}

describe.skipIf(!hasBrowser)("the fleet of a pool over time (ui.md#fleet)", () => {
  let at: Dashboard;
  let gone: GoneWorker;
  let live: string;
  beforeAll(async () => {
    at = await startDashboard();
    await at.until(await at.run("true"), "done");
    const first = (await at.json(200, "GET", "/v1/workers")).items[0].id;
    await at.json(200, "POST", `/v1/workers/${first}/kill`);
    gone = await until("it is gone", async () => {
      const { items } = await at.json(200, "GET", "/v1/pools/default/gone-workers");
      return items[0];
    });
    await at.fill();
    const { items } = await at.json(200, "GET", "/v1/workers?state=running");
    live = items[0].id;
    await at.run("true");
  });
  afterAll(() => at?.stop());

  test("D17: each machine has a bar that keys reach, and whose name says it all (ui.md#d17)", async () => {
    const { page, close } = await at.open(`${PATH}?range=1h`);
    await page.locator(".gantt ol li").nth(1).waitFor();
    const [first = "", second = ""] = await names(page);
    expect(first).toMatch(
      new RegExp(`^${gone.id}, local, gone; asked .* UTC, gone .* UTC; booting .*; cost 0.00$`),
    );
    expect(second).toMatch(
      new RegExp(`^${live}, local, running; asked .* UTC; booting .*running .*; cost 0.00$`),
    );
    await page.getByRole("link", { name: "Tables" }).focus();
    await page.keyboard.press("Tab");
    const label = "document.activeElement.getAttribute('aria-label')";
    // Of each name the id: times grow when the pool is read again.
    const focused = () => page.evaluate<string>(`${label}.split(",")[0]`);
    const walk: string[] = [await focused()];
    for (const key of ["ArrowDown", "ArrowDown", "Home", "End", "ArrowUp", "ArrowDown"]) {
      await page.keyboard.press(key);
      walk.push(await focused());
    }
    expect(walk).toEqual([gone.id, live, live, gone.id, live, gone.id, live]);
    await page.locator(".gantt .told").filter({ hasText: live }).waitFor();
    const isTold = () => page.evaluate(`document.querySelector(".gantt .told").textContent === ${label}`);
    await until("the line below the bars says what the bar says", async () => (await isTold()) || undefined);
    // Only one of the bars is on the way of Tab.
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('.gantt')")).toBeNull();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${at.url}/ui/workers/${live}`);
    await page.goBack();
    await page.locator(".gantt ol li").nth(1).waitFor();
    for (const [index, id] of [gone.id, live, gone.id].entries()) {
      await page
        .locator(".gantt ol li")
        .nth(index % 2)
        .hover();
      await page.locator(".gantt .told").filter({ hasText: id }).waitFor();
    }
    await close();
  });

  test("D17: the table says what the picture says, and the totals are numbers (ui.md#d17)", async () => {
    const { page, close } = await at.open(`${PATH}?range=1h`);
    await page.locator(".gantt ol li").nth(1).waitFor();
    const [first] = await names(page);
    await page.getByRole("link", { name: "Tables" }).click();
    await page.locator(".machines").waitFor();
    expect(page.url()).toBe(`${at.url}${PATH}?range=1h&show=table`);
    const [[id, type, state, asked, end, times, cost] = [], other = []] = await rows(page);
    expect(`${id}, ${type}, ${state}; asked ${asked}, gone ${end}; ${times}; cost ${cost}`).toBe(first);
    expect([other[0], other[2], other[4]]).toEqual([live, "running", "–"]);
    const totals = await page.locator(".totals tfoot tr").textContent();
    expect(totals).toMatch(/^all21\d+\.\d\d0\.001 running$/);
    // The queue is a table, too: one run waits.
    expect(await page.locator(".queue tbody tr").first().locator("td").first().textContent()).toBe("1");
    await close();
  });

  test("the lines of the queue are drawn in the colors of the theme, and again when it changes", async () => {
    const { page, close } = await at.open(`${PATH}?range=1h`, { colorScheme: "light" });
    await page.locator(".chart canvas").nth(1).waitFor();
    const grid = () =>
      page.evaluate<string>("getComputedStyle(document.querySelector('.chart .grid')).color");
    /** Waits until the first chart has pixels of this color. */
    const has = (color: string) =>
      until(`the chart has pixels of ${color}`, async () =>
        (await page.evaluate(
          `(() => {
            const { data } = document.querySelector(".chart canvas").getContext("2d")
              .getImageData(0, 0, 4000, 200);
            const [r, g, b] = ${JSON.stringify(color.match(/\d+/g)?.map(Number))};
            for (let i = 0; i < data.length; i += 4)
              if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255) return true;
            return false;
          })()`,
        ))
          ? true
          : undefined,
      );
    const light = await grid();
    await has(light);
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await grid();
    expect(dark).not.toBe(light);
    await has(dark);
    await page.locator("figcaption").filter({ hasText: "Runs waiting: now 1, at most 1" }).waitFor();
    await close();
  });

  test("charts and bars share one cursor, which says what was then", async () => {
    const { page, close } = await at.open(`${PATH}?range=1h`);
    await page.locator(".chart canvas").nth(1).waitFor();
    const box = await page.locator(".gantt ol li svg").first().boundingBox();
    if (box === null) throw new Error("the bar is not shown");
    await page.mouse.move(box.x + box.width / 2, box.y + 5);
    for (const chart of [0, 1]) {
      await page
        .locator(".chart figcaption")
        .nth(chart)
        .getByText(/UTC: unknown$/)
        .waitFor();
      expect(await page.locator(".chart").nth(chart).locator(".u-cursor-x").boundingBox()).toMatchObject({
        x: expect.closeTo(box.x + box.width / 2, -1),
      });
    }
    await page.mouse.move(box.x + box.width - 1, box.y + 5);
    await page
      .locator(".chart figcaption")
      .first()
      .getByText(/UTC: 1$/)
      .waitFor();
    await close();
  });

  test("charts that are drawn again under the pointer keep their cursor", async () => {
    const { page, close } = await at.open("/ui");
    await page.clock.install();
    await page.goto(`${at.url}${PATH}?range=1h`);
    await page.locator(".chart canvas").nth(1).waitFor();
    const box = await page.locator(".gantt ol li svg").first().boundingBox();
    if (box === null) throw new Error("the bar is not shown");
    const x = box.x + box.width / 2;
    await page.mouse.move(x, box.y + 5);
    await page.evaluate(`document.querySelectorAll(".uplot").forEach((chart) => chart.id = "old")`);
    // The pool is read again after each minute. Its time is the server's, which goes on slowly.
    await until("both charts are drawn again, with their cursors", async () => {
      await page.clock.fastForward(61_000);
      const lines = page.locator(".uplot:not(#old) .u-cursor-x");
      const shown = await lines.evaluateAll((all) => all.map((line) => line.getBoundingClientRect().x));
      return (shown.length === 2 && shown.every((left) => left > box.x && left < x + 5)) || undefined;
    });
    await close();
  });

  interface Past {
    gone: GoneWorker[];
    samples?: PoolSample[];
    items?: HistoryItem[];
  }
  /** The instant so many minutes before the end of the hour that the page shows. */
  type Ago = (minutes: number) => string;

  /**
   * Puts machines, samples and runs of the past, in the API's own form, in place of the real ones. Returns
   * the end of the hour that the page has asked for last.
   */
  async function withPast(page: Page, past: Past | ((ago: Ago) => Past)): Promise<() => number> {
    let endMs = 0;
    const ago: Ago = (minutes) => new Date(endMs - minutes * MINUTE).toISOString();
    const whole = () => (typeof past === "function" ? past(ago) : past);
    const answer = (route: string, bodyOf: () => unknown) =>
      page.route(`**/v1/pools/default/${route}?**`, (asked) => asked.fulfill({ json: bodyOf() }));
    await page.route("**/v1/pools/default/gone-workers?**", (asked) => {
      // The page asks for this first.
      const since = new URL(asked.request().url()).searchParams.get("since") ?? "";
      endMs = Date.parse(since) + 60 * MINUTE;
      return asked.fulfill({ json: { items: whole().gone, next: null } });
    });
    const { samples, items } = whole();
    if (samples) await answer("samples", () => ({ items: whole().samples, next: null }));
    const completeSince = new Date(0).toISOString();
    if (items) await answer("history", () => ({ items: whole().items, next: null, completeSince }));
    return () => endMs;
  }

  test("D17: a time without a look is unknown, in bars, tables and the queue (ui.md#fleet)", async () => {
    const { page, close } = await at.open("/ui");
    const looked = [...Array.from({ length: 26 }, (_, index) => 55 - index), 15, 14, 13, 12, 11, 10, 9, 8];
    const of = { run: "r", worker: "past", project: "default", text: "" };
    await withPast(page, (ago) => {
      const times = { askedAt: ago(50), readyAt: ago(40), endingAt: ago(10), goneAt: ago(8) };
      const samples = looked.map((minutes) => {
        const isRunning = minutes > 32 && minutes <= 35;
        return {
          at: ago(minutes),
          queue: { depth: 3, oldestAgeMs: MINUTE },
          runs: { pending: 3, running: 0 },
          workers: { [isRunning ? "running" : "idle"]: 1 },
          filled: isRunning ? 0.5 : 0,
        };
      });
      const items = [
        { ...of, at: ago(35), what: "run_placed" as const },
        { ...of, at: ago(32), what: "run_ended" as const },
      ];
      return { gone: [{ ...gone, id: "past", ...times }], samples, items };
    });
    await page.goto(`${at.url}${PATH}?range=1h`);
    await page.locator(".gantt ol li").first().waitFor();
    const [name] = await names(page);
    expect(name).toContain("; booting 10m, running 3m, idle 22m, ending 2m, unknown 5m; cost");
    expect(await boxes(page, "booting", 60)).toEqual([[-50, -40]]);
    expect(await boxes(page, "running", 60)).toEqual([[-35, -32]]);
    expect(await boxes(page, "unknown", 60)).toEqual([[-25, -20]]);
    expect(await boxes(page, "idle", 60)).toEqual([
      [-40, -35],
      [-32, -25],
      [-20, -10],
    ]);
    expect(await boxes(page, "ending", 60)).toEqual([[-10, -8]]);
    await page.getByRole("link", { name: "Tables" }).click();
    await page.locator(".machines").getByText("unknown 5m").waitFor();
    const depths = await page.locator(".queue tbody tr td:nth-child(2)").allTextContents();
    // A row of two minutes is 20 minutes ago, another one half an hour and more.
    expect([depths[10], depths[16]]).toEqual(["unknown", "3"]);
    await close();
  });

  test("runs too many for one answer are read for the latest part of the time (ui.md#fleet)", async () => {
    const { page, close } = await at.open("/ui");
    const idle = { queue: { depth: 0, oldestAgeMs: null }, runs: { pending: 0, running: 0 }, filled: 0 };
    const endMs = await withPast(page, (ago) => {
      const times = { askedAt: ago(59), readyAt: ago(58), endingAt: ago(1), goneAt: ago(1) };
      const samples = Array.from({ length: 60 }, (_, index) => ({
        ...idle,
        at: ago(60 - index),
        workers: { idle: 1 },
      }));
      return { gone: [{ ...gone, id: "past", ...times }], samples };
    });
    const asked: number[] = [];
    await page.route("**/v1/pools/default/history?**", (route) => {
      const since = Date.parse(new URL(route.request().url()).searchParams.get("since") ?? "");
      const minutes = (endMs() - since) / MINUTE;
      asked.push(minutes);
      const [next, completeSince] = [since + MINUTE, 0].map((ms) => new Date(ms).toISOString());
      return route.fulfill({ json: { items: [], next: minutes > 20 ? next : null, completeSince } });
    });
    await page.goto(`${at.url}${PATH}?range=1h`);
    await page.locator(".gantt ol li").nth(1).waitFor();
    // It reads all of it again once a minute.
    expect(asked.slice(0, 3)).toEqual([60, 30, 15]);
    expect(await boxes(page, "unknown", 60)).toEqual([[-58, -15]]);
    expect(await boxes(page, "idle", 60)).toEqual([[-15, -1]]);
    await close();
  });

  test("samples are read answer by answer, and later only new ones are asked for (ui.md#fleet)", async () => {
    const { page, close } = await at.open("/ui");
    await page.clock.install();
    const [sample] = (await at.json(200, "GET", "/v1/pools/default/samples")).items;
    const days = (count: number) => new Date(Date.now() - count * 24 * 60 * MINUTE).toISOString();
    const answers = [
      { items: [{ ...sample, at: days(6) }], next: days(5) },
      { items: [{ ...sample, at: days(4) }], next: days(3) },
      { items: [{ ...sample, at: days(2) }], next: null },
    ];
    const asked: string[] = [];
    await page.route("**/v1/pools/default/samples?**", (route) => {
      const since = new URL(route.request().url()).searchParams.get("since") ?? "";
      asked.push(since);
      const isNew = since > (answers[2]?.items[0]?.at ?? "");
      const answer = answers.find(({ next }) => next === null || next > since);
      return route.fulfill({ json: isNew ? { items: [], next: null } : answer });
    });
    await page.goto(`${at.url}${PATH}?range=7d&show=table`);
    await page.locator(".machines").waitFor();
    // Each of the three samples is in a row of its own; the others are unknown, but for the one of now.
    const known = page.locator(".queue tbody td:nth-child(2)").filter({ hasNotText: "unknown" });
    await known.nth(3).waitFor();
    expect(await known.count()).toBe(4);
    expect(asked.slice(1)).toEqual([answers[0]?.next, answers[1]?.next]);
    const again = page.waitForResponse("**/v1/pools/default/samples?**");
    await page.clock.fastForward(61_000);
    await again;
    const after = new Date(Date.parse(answers[2]?.items[0]?.at ?? "") + 1).toISOString();
    expect(asked.slice(3)).toEqual([after]);
    await known.nth(3).waitFor();
    await close();
  });

  test("D15: which machine cost most today is the first row by cost, 50 at a time (ui.md#d15)", async () => {
    const { page, close } = await at.open("/ui");
    const costs = Array.from({ length: 120 }, (_, index) => (index * 37) % 120);
    await withPast(page, {
      gone: costs.map((cost, index) => ({ ...gone, id: `m-${index}`, cost: cost === 7 ? null : cost })),
    });
    await page.goto(`${at.url}${PATH}?range=24h`);
    await page.getByRole("link", { name: "Tables" }).click();
    await page.getByRole("link", { name: "By cost" }).click();
    await page.waitForURL(`${at.url}${PATH}?range=24h&show=table&sort=cost`);
    await page.reload();
    await page.locator(".machines").waitFor();
    const found = await rows(page);
    expect(found.map((row) => row[6])).toEqual(costs.map((_, index) => `${119 - index}.00`).slice(0, 50));
    await page.getByRole("link", { name: "More" }).click();
    await page.getByRole("link", { name: "More" }).click();
    await page.getByText("101–121 of 121").waitFor();
    // What has no known price is last, and beside the sum.
    expect((await rows(page)).at(-1)?.[6]).toBe("unknown");
    expect(await page.locator(".totals tfoot").textContent()).toContain("7133.00, and 1 of unknown price");
    await close();
  });

  test("D17: above 200 machines a type has one bar, which leads to them (ui.md#fleet)", async () => {
    const { page, close } = await at.open("/ui");
    const many = (count: number, instanceType: string) =>
      Array.from({ length: count }, (_, index) => ({
        ...gone,
        id: `${instanceType}-${index}`,
        instanceType,
      }));
    await withPast(page, { gone: [...many(190, "small"), ...many(40, "big")] });
    await page.goto(`${at.url}${PATH}?range=1h`);
    await page.getByText("231 machines are too many for a bar each").waitFor();
    const all = await names(page);
    expect(all.map((name) => name.split(";")[0])).toEqual(
      expect.arrayContaining(["small (190)", "big (40)", "local (1)"]),
    );
    await page.locator(".gantt ol li a").filter({ hasText: "big" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${at.url}${PATH}?range=1h&type=big`);
    await page.locator(".gantt ol li").nth(39).waitFor();
    expect(await page.locator(".gantt ol li").count()).toBe(40);
    await page.goBack();
    await page.getByText("231 machines").waitFor();
    await close();
  });

  test("D17: another type of as many machines has its own bars (ui.md#fleet)", async () => {
    const { page, close } = await at.open("/ui");
    const many = (instanceType: string) =>
      Array.from({ length: 3 }, (_, index) => ({ ...gone, id: `${instanceType}-${index}`, instanceType }));
    await withPast(page, { gone: [...many("small"), ...many("big")] });
    await page.goto(`${at.url}${PATH}?range=1h&type=big`);
    await page.locator(".gantt ol li").nth(2).waitFor();
    await page.locator(".totals").getByRole("link", { name: "small" }).click();
    await page.locator(".gantt ol li a[aria-label^='small-']").nth(2).waitFor();
    expect((await names(page)).filter((name) => !name.startsWith("small-"))).toEqual([]);
    await close();
  });

  test("D17: the totals say how many types they have no row for (ui.md#fleet)", async () => {
    const { page, close } = await at.open("/ui");
    const types = Array.from({ length: 52 }, (_, index) => `type-${index}`);
    await withPast(page, {
      gone: types.map((instanceType) => ({ ...gone, id: `of-${instanceType}`, instanceType })),
    });
    await page.goto(`${at.url}${PATH}?range=1h`);
    // The machine that is there is of one more type.
    await page.getByText("3 more types, each of which cost no more").waitFor();
    expect(await page.locator(".totals tbody tr").count()).toBe(50);
    await close();
  });

  test("D15: the list of workers has those that are gone, by cost if wanted (ui.md#d15)", async () => {
    const { page, close } = await at.open("/ui/workers");
    await page.getByRole("row").filter({ hasText: live }).waitFor();
    await page.getByRole("combobox", { name: "Machines" }).selectOption("gone in the last 7 days");
    await page.waitForURL(`${at.url}/ui/workers?gone=7d`);
    const row = page.getByRole("row").filter({ hasText: gone.id });
    await row.getByText("0.00").waitFor();
    await page.getByText("Machines: 1; cost: 0.00").waitFor();
    expect(await page.getByRole("row").filter({ hasText: live }).count()).toBe(0);
    const costs = [3, null, 9, 0.5];
    await withPast(page, { gone: costs.map((cost, index) => ({ ...gone, id: `m-${index}`, cost })) });
    await page.getByRole("link", { name: "By cost" }).click();
    await page.waitForURL(`${at.url}/ui/workers?gone=7d&sort=cost`);
    await page.reload();
    await page.getByText("Machines: 4; cost: 12.50, and 1 of unknown price").waitFor();
    expect(await page.locator("main tbody td:nth-child(6)").allTextContents()).toEqual([
      "9.00",
      "3.00",
      "0.50",
      "unknown",
    ]);
    await page.goBack();
    await page.locator("main tbody").waitFor();
    await page.getByRole("combobox", { name: "Machines" }).selectOption("present");
    await page.getByRole("row").filter({ hasText: live }).waitFor();
    expect(page.url()).toBe(`${at.url}/ui/workers`);
    await close();
  });

  test("Now shows what ended in the last day, as a picture and in numbers (ui.md#last-day)", async () => {
    // What ended is counted when the pool is looked at next, within a minute.
    const complete = await until("what ended is counted", async () => {
      const { items } = await at.json(200, "GET", "/v1/pools/default/tallies");
      const count = items.reduce((sum: number, { ended }: PoolTally) => sum + (ended.complete ?? 0), 0);
      return count === 0 ? undefined : count;
    });
    const { page, close } = await at.open("/ui");
    const ended = page.getByRole("region", { name: "Ended in the last 24 hours" });
    await ended.getByText(`${complete} complete, exit code 0`).first().waitFor();
    expect(await ended.locator(".strip .complete").count()).toBeGreaterThan(0);
    expect(await ended.locator(".strip .failed").count()).toBe(0);
    await ended.getByRole("link", { name: "As a table" }).click();
    await page.waitForURL(`${at.url}/ui?ended=table`);
    await page.reload();
    await ended.locator("tbody tr").nth(23).waitFor();
    const counts = await ended
      .locator("tbody tr")
      .evaluateAll((rows) => rows.map((row) => Number(row.querySelector("td")?.textContent)));
    expect(counts).toHaveLength(24);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(complete);
    await close();
  });
});
