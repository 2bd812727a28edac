import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";
import { workerdPids } from "./support/workerd.ts";

const mark = (page: Page, text: RegExp) => page.locator(".stream").filter({ hasText: text });
const row = (page: Page, id: string) => page.getByRole("row").filter({ hasText: id });
const trouble = (page: Page) => page.locator("main .trouble");
const LIST = "**/v1/runs?**";

describe.skipIf(!hasBrowser)("the dashboard when something goes wrong", () => {
  let at: Dashboard;
  let known: string;
  beforeAll(async () => {
    at = await startDashboard();
    known = await at.run("exit 3");
    await at.until(known, "done");
  });
  afterAll(() => at?.stop());

  test("no change is lost when Drover is killed while a list is watched (ui.md#live-data)", async () => {
    const { page, context } = await at.open("/ui/runs");
    await mark(page, /^live$/).waitFor();
    const before = await Promise.all([11, 12, 13].map((code) => at.run(`exit ${code}`)));
    for (const pid of workerdPids()) process.kill(pid, "SIGKILL");
    await mark(page, /resuming|connecting again/).waitFor();
    await mark(page, /^live$/).waitFor();
    const later = await Promise.all([14, 15].map((code) => at.run(`exit ${code}`)));
    for (const [index, id] of [...before, ...later].entries()) {
      await row(page, id)
        .getByText(`exit code ${11 + index}`)
        .waitFor();
    }
    // What the browser logs of lost connections is no fault of the page.
    await context.close();
  });

  test("a session that is revoked while its page only watches ends there, too (ui.md#security)", async () => {
    const { page, close } = await at.open("/ui/runs");
    await mark(page, /^live$/).waitFor();
    const { items } = await at.json(200, "GET", "/v1/sessions");
    for (const { id } of items) await at.call("DELETE", `/v1/sessions/${id}`);
    await page.getByRole("alert").filter({ hasText: "ended" }).waitFor();
    await page.getByLabel("Token").waitFor();
    expect(page.url()).toBe(`${at.url}/ui/runs`);
    await close();
  });

  for (const [what, wrongMs] of [
    ["slow", -3_600_000],
    ["fast", 3_600_000],
  ] as const) {
    test(`a browser whose clock is an hour ${what} shows true ages (ui.md#time)`, async () => {
      const { page, close } = await at.open("/ui/pools");
      await page.clock.install({ time: Date.now() + wrongMs });
      await page.goto(`${at.url}/ui/runs`);
      const age = row(page, known).locator("time").first();
      await age.waitFor();
      expect(await age.textContent()).toMatch(/^(?:now|\d+ (?:sec|min)\. ago)$/);
      await close();
    });
  }

  const refusals = [
    ["a proxy's page with 503", 503, "text/html", "<h1>Unavailable</h1>", /answered 503 without a reason/],
    ["a proxy's page with 200", 200, "text/html", "<h1>Sign in</h1>", /text\/html instead of JSON/],
    [
      ...["Drover's 429", 429, "application/problem+json"],
      JSON.stringify({ code: "rate_limited", detail: "too many requests", status: 429, temporary: true }),
      /too many requests/,
    ],
  ] as [string, number, string, string, RegExp][];
  for (const [what, status, contentType, body, told] of refusals) {
    test(`${what} instead of a list is said, and what is shown stays (ui.md#d12)`, async () => {
      const { page, context } = await at.open("/ui/runs");
      await row(page, known).waitFor();
      await context.route(LIST, (route) => route.fulfill({ status, contentType, body }));
      await page.getByRole("checkbox", { name: "Failed, for any reason" }).check();
      await trouble(page).getByText(told).waitFor();
      expect(await row(page, known).count()).toBe(1);
      await context.unroute(LIST);
      // The page tries again by itself if the refusal may pass, perhaps before the click.
      const click = page.getByRole("button", { name: "Try again" }).click({ timeout: 10_000 });
      await click.catch(() => undefined);
      await trouble(page).waitFor({ state: "detached" });
      expect(await row(page, known).count()).toBe(1);
      await context.close();
    });
  }

  test("without network the page says so, keeps what it shows, and goes on later (ui.md#d12)", async () => {
    const { page, context } = await at.open("/ui/runs");
    await row(page, known).waitFor();
    await mark(page, /^live$/).waitFor();
    await context.setOffline(true);
    await page.getByRole("checkbox", { name: "Failed, for any reason" }).check();
    await trouble(page).getByText("Drover does not answer").waitFor();
    expect(await row(page, known).count()).toBe(1);
    await context.setOffline(false);
    await trouble(page).waitFor({ state: "detached" });
    const id = await at.run("exit 9");
    await row(page, id).getByText("exit code 9").waitFor();
    await context.close();
  });

  test("a stream from before what the pool keeps gets all that is live, once (ui.md#live-data)", async () => {
    const { page, context, asked } = await at.open("/ui/pools");
    // The page of another day has heard of a change long ago.
    await context.route("**/v1/events?**", (route) => {
      const url = new URL(route.request().url());
      url.searchParams.set("after", "1");
      return route.continue({ url: url.href });
    });
    await page.goto(`${at.url}/ui/runs`);
    await mark(page, /^live$/).waitFor();
    const id = await at.run("exit 8");
    await row(page, id).getByText("exit code 8").waitFor();
    expect(asked.filter((path) => path.startsWith("/v1/events"))).toHaveLength(1);
    await context.close();
  });
});
