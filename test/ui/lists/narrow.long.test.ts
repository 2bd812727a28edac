import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

const SCREENS = [
  ["a phone", { viewport: { width: 360, height: 640 } }],
  ["a page at 200 %", { viewport: { width: 640, height: 360 }, deviceScaleFactor: 2 }],
] as const;

/** What is wider than the screen, and what is too small for a finger. */
const FAULTS = `(() => {
  const faults = [];
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) {
    for (const one of document.querySelectorAll("body *")) {
      if (one.closest(".scroll, .skip, dialog:not([open])")) continue;
      const { right } = one.getBoundingClientRect();
      if (right > wide + 1) faults.push("wide: " + one.outerHTML.slice(0, 120));
    }
    if (faults.length === 0) faults.push("the page scrolls sideways");
  }
  for (const one of document.querySelectorAll("main button, main select, header a, header button, nav a")) {
    const { width, height } = one.getBoundingClientRect();
    if (width > 0 && (width < 24 || height < 24)) faults.push("small: " + one.outerHTML.slice(0, 120));
  }
  return faults;
})()`;

describe.skipIf(!hasBrowser)("the dashboard on narrow screens (ui.md#narrow-screens)", () => {
  let at: Dashboard;
  let pages: { path: string; shows: string }[];
  beforeAll(async () => {
    at = await startDashboard();
    const labels = { team: "blue", "a-label-with-a-long-name": "and-a-value-that-is-long-too" };
    const failed = await at.run(`echo ${"wide".repeat(60)}; exit 1`, { labels });
    await at.until(failed, "done");
    await at.fill();
    const waiting = await at.run("true");
    const schedule = { cron: ["30 2 * * *", "0 9 * * 1-5", "0-5 9 13 * 5"], zone: "Europe/Berlin" };
    const params = { target: { type: "string", enum: ["everything", "wide".repeat(20)] } };
    const job = { spec: { argv: ["echo", "wide".repeat(60)] }, params, schedule };
    await at.json(201, "PUT", "/v1/jobs/a-job-with-a-name-that-is-rather-long", job);
    const { items } = await at.json(200, "GET", "/v1/workers");
    pages = [
      { path: "/ui", shows: "Last failed" },
      { path: "/ui/runs", shows: waiting },
      { path: `/ui/runs?selected=${waiting}&group=team`, shows: "Counts of" },
      { path: `/ui/runs/${failed}`, shows: "wide" },
      { path: `/ui/runs/${failed}?tab=summary`, shows: "Placements" },
      { path: `/ui/runs/${failed}?tab=events`, shows: "Received" },
      { path: `/ui/runs/${failed}?tab=spec`, shows: "argv" },
      { path: `/ui/runs/${waiting}`, shows: "Next:" },
      { path: "/ui/workers", shows: items[0].id },
      { path: `/ui/workers/${items[0].id}`, shows: "Machine requested" },
      { path: "/ui/jobs", shows: "Monday to Friday" },
      { path: "/ui/jobs/a-job-with-a-name-that-is-rather-long", shows: "Next ticks" },
      { path: "/ui/pools", shows: "default" },
      { path: "/ui/pools/default", shows: "Configuration" },
    ];
  });
  afterAll(() => at?.stop());

  test.each(SCREENS)(
    "no page scrolls sideways, and what is pressed is 24 px large: %s",
    async (_, screen) => {
      const { page, close } = await at.open("/ui", screen);
      for (const { path, shows } of pages) {
        await page.goto(`${at.url}${path}`);
        await page.locator("main").getByText(shows).filter({ visible: true }).first().waitFor();
        expect.soft([path, await page.evaluate(FAULTS)]).toEqual([path, []]);
        expect.soft([path, await barriersOf(page)]).toEqual([path, []]);
      }
      await close();
    },
  );
});
