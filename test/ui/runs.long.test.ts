import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";
import { heldBack } from "./support/held.ts";

describe.skipIf(!hasBrowser)("the list of runs in the dashboard", () => {
  let at: Dashboard;
  let failed: string;
  let waiting: string;
  beforeAll(async () => {
    at = await startDashboard();
    failed = await at.run("exit 3", { labels: { team: "blue" } });
    await at.until(failed, "done");
    await at.fill();
    waiting = await at.run("true", { labels: { team: "red" } });
  });
  afterAll(() => at?.stop());

  test("D16: a state has its word, an icon and a color; what waits says why (ui.md#d16)", async () => {
    const { page, close } = await at.open("/ui/runs");
    const row = page.getByRole("row").filter({ hasText: waiting });
    await row.getByText(/; next: /).waitFor();
    const mark = row.locator(".state");
    expect(await mark.textContent()).toBe("pending");
    expect(await mark.locator("svg").count()).toBe(1);
    const other = page.getByRole("row").filter({ hasText: failed }).locator(".state");
    expect(await other.textContent()).toContain("exit code 3");
    const color = (tone: string): Promise<string> =>
      page.evaluate(`getComputedStyle(document.querySelector("td .state.${tone}")).color`);
    expect(await color("waits")).not.toBe(await color("bad"));
    await close();
  });

  test("D15: filters are in the address: Back, reload and a link show the same (ui.md#d15)", async () => {
    const { page, context, close } = await at.open("/ui/runs");
    await page.getByRole("row").filter({ hasText: waiting }).waitFor();
    await page.getByLabel("done", { exact: true }).check();
    await page.getByRole("row").filter({ hasText: waiting }).waitFor({ state: "detached" });
    expect(page.url()).toBe(`${at.url}/ui/runs?state=done`);
    await page.getByRole("link", { name: "team=blue" }).click();
    await page.waitForURL(`${at.url}/ui/runs?state=done&label=team%3Dblue`);
    await page.reload();
    await page.getByRole("row").filter({ hasText: failed }).waitFor();
    expect(await page.getByLabel("done", { exact: true }).isChecked()).toBe(true);
    expect(await page.getByLabel("Labels", { exact: true }).inputValue()).toBe("team=blue");
    const copy = await context.newPage();
    await copy.goto(page.url());
    await copy.getByRole("row").filter({ hasText: failed }).waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByRole("row").filter({ hasText: waiting }).waitFor();
    expect(await page.getByLabel("done", { exact: true }).isChecked()).toBe(false);
    await close();
  });

  test("D12: a click keeps what is shown, dimmed, until the answer is there (ui.md#d12)", async () => {
    const { page, close } = await at.open("/ui/runs");
    await page.getByRole("row").filter({ hasText: failed }).waitFor();
    const letThrough = await heldBack(page, /\/v1\/runs\?.*state=pending/);
    await page.getByLabel("pending", { exact: true }).check();
    await page.locator("[aria-busy=true]").getByText(failed).waitFor();
    letThrough();
    await page.locator("[aria-busy=false]").getByText(waiting).waitFor();
    expect(await page.getByText(failed).count()).toBe(0);
    await close();
  });

  test("D11: a list has 50 rows however many runs there are, and goes on by cursor (ui.md#d11)", async () => {
    const many = Array.from({ length: 60 }, (_, index) => ({
      id: `many-${index}`,
      argv: ["true"],
      labels: { of: "many" },
    }));
    await at.json(201, "POST", "/v1/runs", { runs: many });
    const { page, asked, close } = await at.open("/ui/runs?label=of%3Dmany");
    await page.getByRole("link", { name: "Older" }).waitFor();
    const newest = await page.locator("tbody tr td:nth-child(3) a").allTextContents();
    expect(newest).toHaveLength(50);
    const lists = asked.filter((path) => path.startsWith("/v1/runs?"));
    expect(lists.every((path) => path.includes("limit=50"))).toBe(true);
    await page.getByRole("link", { name: "Older" }).click();
    await page.getByRole("link", { name: "Newest" }).waitFor();
    await page.getByText(newest[0] ?? "", { exact: true }).waitFor({ state: "detached" });
    const older = await page.locator("tbody tr td:nth-child(3) a").allTextContents();
    expect(new Set([...newest, ...older])).toEqual(new Set(many.map(({ id }) => id)));
    await page.goBack();
    await page.getByText(newest[0] ?? "", { exact: true }).waitFor();
    await close();
  });

  test("everything with a label is aborted from its list, which names the label (ui.md#d19)", async () => {
    const { page, close } = await at.open("/ui/runs?label=of%3Dmany&state=pending");
    await page.getByRole("button", { name: "Abort all" }).click();
    const dialog = page.getByRole("dialog", { name: "Abort every run with of=many?" });
    await dialog.getByText("drover abort --label of=many").waitFor();
    await dialog.getByRole("button", { name: "Abort all" }).click();
    await page.getByText("No run is like this").waitFor();
    const { items } = await at.json(200, "GET", "/v1/runs?label=of:many&limit=100");
    expect(new Set(items.map(({ state }: { state: string }) => state))).toEqual(new Set(["aborted"]));
    await close();
  });

  test("D19: what is left of everything is said with its reason, and the question stays", async () => {
    const id = await at.run("true", { labels: { of: "left" } });
    const { page, close } = await at.open("/ui/runs?label=of%3Dleft");
    // A pool that does not answer, as the page hears of it.
    const silent = { pool: "gpu", initialized: true, healthy: false, error: "it is starting" };
    await page.route(/\/v1\/runs\/abort$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), service: [silent] } });
    });
    await page.getByRole("button", { name: "Abort all" }).click();
    const dialog = page.getByRole("dialog", { name: "Abort every run with of=left?" });
    await dialog.getByRole("button", { name: "Abort all" }).click();
    await dialog.getByRole("alert").getByText("the pool gpu does not answer. it is starting").waitFor();
    await dialog.getByText("Do it again: what is done already stays as it is.").waitFor();
    // What was done is shown behind it.
    await page.locator("tr").filter({ hasText: id }).locator(".state").getByText("aborted").waitFor();
    await close();
  });

  test("what is no label ends nothing: the button for all is not there (ui.md#d19)", async () => {
    const { page, close } = await at.open("/ui/runs?label=team%3Dred&label=nightly&pool=default");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await page.getByRole("alert").or(page.getByText("No run is like this")).first().waitFor();
    expect(await page.getByRole("button", { name: "Abort all" }).count()).toBe(0);
    await page.goto(`${at.url}/ui/runs?label=team%3Dred&pool=default`);
    await page.getByRole("button", { name: "Abort all" }).click();
    await page.getByRole("dialog", { name: "Abort every run with team=red in the pool default?" }).waitFor();
    await close();
  });

  test("another filter selects nothing that the reader has not seen (ui.md#d19)", async () => {
    const { page, close } = await at.open("/ui/runs?label=team%3Dred&all=1");
    await page.getByText("All runs that match are selected").waitFor();
    await page.getByRole("checkbox", { name: "pending" }).check();
    await page.getByText("No run is selected").waitFor();
    expect(page.url()).not.toContain("all=1");
    await close();
  });
});
