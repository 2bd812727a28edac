import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunList } from "../../../src/generated/api.ts";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

// What a list shows is what Drover says, however slow, large or incomplete the answer is.

describe.skipIf(!hasBrowser)("lists of the dashboard say what is true", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
    await at.fill();
  });
  afterAll(() => at?.stop());

  test("a slow answer arrives although there is news all the time (ui.md#under-load)", async () => {
    const { page, close } = await at.open("/ui/events");
    let isOver = false;
    // Each answer takes longer than a list waits between two questions.
    await page.route("**/v1/runs?*", async (route) => {
      await new Promise((done) => setTimeout(done, 4_000));
      await route.continue();
    });
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    const news = (async () => {
      for (let n = 0; !isOver; n += 1) {
        await at.run("true", { id: `news-${n}` });
        await new Promise((done) => setTimeout(done, 300));
      }
    })();
    await page
      .getByRole("link", { name: /^news-\d/ })
      .first()
      .waitFor();
    isOver = true;
    await news;
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });

  test("D16: a run that is far behind in the queue says so (ui.md#d16)", async () => {
    const runs = Array.from({ length: 210 }, (_, n) => ({ id: `far-${n}`, argv: ["true"] }));
    await at.json(201, "POST", "/v1/runs", { runs });
    const { page, close } = await at.open("/ui/runs?q=far-");
    await page.getByText("more than 200 runs wait before it; its page says why").first().waitFor();
    await close();
  });

  test("a silent pool is named, and nothing is done to all runs without it (ui.md#d19)", async () => {
    const { page, asked, close } = await at.open("/ui/events");
    await page.route("**/v1/runs?*", async (route) => {
      const answer = await route.fetch();
      const list = (await answer.json()) as RunList;
      const service = [{ pool: "far-away", healthy: false, error: "no answer in 5 s" }];
      await route.fulfill({ response: answer, json: { ...list, service } });
    });
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    const missing = "Runs of this pool are missing, since it does not answer: far-away: no answer in 5 s.";
    await page.getByRole("listitem").filter({ hasText: missing }).waitFor();
    await page.getByRole("checkbox", { name: "Select all that are shown" }).click();
    await page.getByRole("button", { name: /^Select all that match/ }).click();
    await page.getByRole("button", { name: "Abort…" }).click();
    await page.getByText("this pool does not answer: far-away").waitFor();
    expect(asked.filter((path) => path.endsWith("/abort"))).toEqual([]);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
  });
});
