import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";
import { goByKeys } from "./support/keys.ts";

describe.skipIf(!hasBrowser)("the keys of the dashboard", () => {
  let at: Dashboard;
  let id: string;
  beforeAll(async () => {
    at = await startDashboard();
    id = await at.fill();
  });
  afterAll(() => at?.stop());

  test("lead from page to page, through rows, and to the question of an abort", async () => {
    const { page, close } = await at.open("/ui");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await goByKeys(page, "gr", "/ui/runs");
    await page.getByRole("row").filter({ hasText: id }).waitFor();
    await page.keyboard.type("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${at.url}/ui/runs/${id}`);
    await page.getByRole("button", { name: "Abort" }).waitFor();
    await page.keyboard.type("a");
    await page.getByRole("dialog", { name: `Abort ${id}?` }).waitFor();
    // Keys do nothing while a question is open.
    await page.keyboard.type("gn");
    expect(page.url()).toBe(`${at.url}/ui/runs/${id}`);
    await close();
  });

  test.each([
    ["a second", 1_000, "/ui"],
    ["less than a second", 999, "/ui/runs"],
  ])(
    "two of them that were pressed %s apart, of which the page hears late (ui.md#d18)",
    async (_, ms, path) => {
      const { page, close } = await at.open("/ui");
      await page.getByRole("heading", { name: "Now" }).waitFor();
      await page.evaluate(`(async () => {
      const press = (key, timeStamp) => {
        const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
        Object.defineProperty(event, "timeStamp", { value: timeStamp });
        document.body.dispatchEvent(event);
      };
      const now = performance.now();
      press("g", now);
      const later = () => performance.now() - now > 1_500;
      while (!later()) await new Promise((done) => setTimeout(done, 50));
      press("r", now + ${ms});
    })()`);
      expect(new URL(page.url()).pathname).toBe(path);
      await close();
    },
  );

  test("lead to the events and to the administration, and from row to row there", async () => {
    await at.json(201, "POST", "/v1/tokens", { name: "mila", preset: "viewer" });
    const { page, close } = await at.open("/ui");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await goByKeys(page, "ge", "/ui/events");
    await page.getByRole("row").filter({ hasText: "run.submit" }).waitFor();
    await page.keyboard.type("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("go to Events").waitFor();
    await page.keyboard.press("Escape");
    await goByKeys(page, "gm", "/ui/admin");
    // The events have a row about her, too.
    await page.getByRole("heading", { name: "Tokens", exact: true }).waitFor();
    await page.getByRole("row").filter({ hasText: "mila" }).waitFor();
    await page.keyboard.type("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Token mila" }).waitFor();
    await close();
  });

  test("are shown by ?, and those of one letter can be turned off, in this browser for good", async () => {
    const { page, close } = await at.open("/ui");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.keyboard.type("?");
    const sheet = page.getByRole("dialog", { name: "Keys" });
    await sheet.getByText("abort the run").waitFor();
    await sheet.getByRole("checkbox").uncheck();
    await page.keyboard.press("Escape");
    await page.reload();
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.keyboard.type("gr");
    await page.getByRole("link", { name: "Workers" }).click();
    await page.getByRole("heading", { name: "Workers" }).waitFor();
    // The keys would have led to the runs, from which Back would not lead to Now.
    await page.goBack();
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await close();
  });

  test("belong to a field while somebody types into it", async () => {
    const { page, close } = await at.open("/ui/runs");
    await page.getByRole("row").filter({ hasText: id }).waitFor();
    await page.keyboard.type("/");
    await page.keyboard.type("gw?");
    expect(await page.getByLabel("Text").inputValue()).toBe("gw?");
    expect(page.url()).toBe(`${at.url}/ui/runs`);
    await close();
  });
});
