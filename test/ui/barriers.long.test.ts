import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";

const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["forced colors", { forcedColors: "active" }],
] as const;

describe.skipIf(!hasBrowser)("the dashboard for people without a mouse or with weak eyes", () => {
  let at: Dashboard;
  let id: string;
  let pages: { path: string; shows: string }[];
  beforeAll(async () => {
    at = await startDashboard();
    const failed = await at.run("echo broken; exit 1", { labels: { team: "blue" } });
    await at.until(failed, "done");
    id = await at.fill();
    const waiting = await at.run("true");
    const { items } = await at.json(200, "GET", "/v1/workers");
    pages = [
      { path: "/ui", shows: "Last failed" },
      { path: "/ui/runs", shows: waiting },
      { path: "/ui/runs?state=running&label=no%3Done", shows: "No run is like this" },
      { path: `/ui/runs/${failed}`, shows: "broken" },
      { path: `/ui/runs/${failed}?tab=summary`, shows: "Placements" },
      { path: `/ui/runs/${failed}?tab=events`, shows: "Received" },
      { path: `/ui/runs/${failed}?tab=spec`, shows: "argv" },
      { path: `/ui/runs/${waiting}`, shows: "Next:" },
      { path: "/ui/workers", shows: items[0].id },
      { path: `/ui/workers/${items[0].id}`, shows: "Machine requested" },
      { path: "/ui/pools", shows: "default" },
      { path: "/ui/pools/default", shows: "Configuration" },
      { path: "/ui?ended=table", shows: "Hour (UTC)" },
      { path: "/ui/workers?gone=7d&sort=cost", shows: "By cost" },
      { path: "/ui/pools/default?range=1h", shows: "Runs waiting: now 1" },
      { path: "/ui/pools/default?range=1h&show=table&sort=cost", shows: "Machine hours" },
    ];
  });
  afterAll(() => at?.stop());

  test.each(LOOKS)("no page has a barrier that axe knows: %s", async (_, look) => {
    const { page, close } = await at.open("/ui", look);
    for (const { path, shows } of pages) {
      await page.goto(`${at.url}${path}`);
      await page.locator("main").getByText(shows).filter({ visible: true }).first().waitFor();
      expect([path, await barriersOf(page)]).toEqual([path, []]);
    }
    await close();
  });

  test.each(LOOKS)("neither has the sign-in, nor a question: %s", async (_, look) => {
    const { page, close } = await at.open(`/ui/runs/${pages[7]?.path.split("/").at(-1)}`, look);
    await page.getByRole("button", { name: "Abort" }).click();
    await page.getByRole("dialog").getByText("The same in a shell").waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await close();
  });

  test("a run is found and aborted by keyboard alone", async () => {
    const { page, close } = await at.open("/ui");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    const press = async (name: string, isThere: () => Promise<boolean>) => {
      for (let steps = 0; !(await isThere()); steps += 1) {
        expect(steps, `Tab does not reach ${name}`).toBeLessThan(100);
        await page.keyboard.press("Tab");
      }
      await page.keyboard.press("Enter");
    };
    const onto = (name: string) => () =>
      page.evaluate<boolean>(`document.activeElement?.textContent.trim() === ${JSON.stringify(name)}`);
    await press("Runs", onto("Runs"));
    await page.getByRole("row").filter({ hasText: id }).waitFor();
    await press(id, onto(id));
    await page.getByRole("button", { name: "Abort" }).waitFor();
    await press("Abort", onto("Abort"));
    await page.getByRole("dialog").waitFor();
    expect(await onto("Cancel")()).toBe(true);
    await press("Abort in the question", onto("Abort"));
    await page.locator(".state").filter({ hasText: "aborted" }).waitFor();
    await close();
  });
});
