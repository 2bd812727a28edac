import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

describe.skipIf(!hasBrowser)("the dashboard with ?refresh=60 (ui.md#frugal)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("holds no stream, asks for the list once a minute, says so, and goes live again", async () => {
    const { page, asked, close } = await at.open("/ui/pools");
    await page.clock.install();
    await page.goto(`${at.url}/ui/runs?refresh=60`);
    await page.getByText("every 60 s").waitFor();
    await page.getByText("There is no run yet").waitFor();
    asked.length = 0;
    const id = await at.run("exit 9");
    const lists = () => asked.filter((path) => path.startsWith("/v1/runs?"));
    // The clock of the page goes on by itself, too, so this is not the whole minute.
    await page.clock.runFor(30_000);
    expect(lists()).toEqual([]);
    await page.clock.runFor(31_000);
    await page.getByRole("row").filter({ hasText: id }).waitFor();
    expect(lists()).toHaveLength(1);
    for (const times of [2, 3]) {
      const answer = page.waitForResponse(/\/v1\/runs\?/);
      await page.clock.runFor(61_000);
      await answer;
      expect(lists()).toHaveLength(times);
    }
    // It holds for the tab, whatever link is followed.
    await page.getByRole("link", { name: id }).click();
    await page.getByRole("heading", { name: id }).waitFor();
    await page.getByText("every 60 s").waitFor();
    expect(asked.filter((path) => path.startsWith("/v1/events"))).toEqual([]);
    await page.goto(`${at.url}/ui/runs`);
    await page.getByText("every 60 s").waitFor();
    await page.getByRole("link", { name: "go live" }).click();
    await page
      .locator(".stream")
      .filter({ hasText: /^live$/ })
      .waitFor();
    await close();
  });
});
