import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";

describe.skipIf(!hasBrowser)("the events in the dashboard", () => {
  let at: Dashboard;
  let aborted: string;
  let token: { id: string; token: string };
  beforeAll(async () => {
    at = await startDashboard();
    aborted = await at.run("sleep 1000");
    token = await at.json(201, "POST", "/v1/tokens", { name: "mila", preset: "operator" });
    const auth = { authorization: `Bearer ${token.token}` };
    await at.json(200, "POST", `/v1/runs/${aborted}/abort?wait=30s`, { reason: "wrong branch" }, auth);
  });
  afterAll(() => at?.stop());

  test("who aborted a run is one click away from its page (ui.md#events)", async () => {
    const { page, close } = await at.open(`/ui/runs/${aborted}`);
    await page.getByRole("link", { name: "Who did what to it" }).click();
    const row = page.getByRole("row").filter({ hasText: "run.abort" });
    await row.getByText("token:mila").waitFor();
    await row.getByText("wrong branch").waitFor();
    expect(page.url()).toBe(`${at.url}/ui/events?run=${aborted}`);
    const time = row.locator("time");
    expect(await time.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    await row.getByRole("link", { name: aborted, exact: true }).first().click();
    await page.waitForURL(`${at.url}/ui/runs/${aborted}`);
    await close();
  });

  test("so is who held a worker, and who changed a pool", async () => {
    await at.until(await at.run("true"), "done");
    const { items } = await at.json(200, "GET", "/v1/workers");
    const worker: string = items[0].id;
    await at.json(200, "POST", `/v1/workers/${worker}/hold`);
    const { config } = await at.json(200, "GET", "/v1/pools/default");
    await at.json(200, "PUT", "/v1/pools/default", { ...config, retention: { runs: "1d" } });
    const { page, close } = await at.open(`/ui/workers/${worker}`);
    await page.getByRole("link", { name: "Who did what to it" }).click();
    await page.getByRole("row").filter({ hasText: "worker.hold" }).waitFor();
    await page.goto(`${at.url}/ui/pools/default`);
    await page.getByRole("link", { name: "Who did what in it" }).click();
    const row = page.getByRole("row").filter({ hasText: "pool.put" }).first();
    await row.locator("li").filter({ hasText: "/retention" }).first().waitFor();
    await at.json(200, "POST", `/v1/workers/${worker}/resume`);
    await at.json(200, "PUT", "/v1/pools/default", config);
    await close();
  });

  test("D15: filters are in the address: Back, reload and a link show the same (ui.md#d15)", async () => {
    const { page, context, close } = await at.open("/ui/events");
    const abort = page.getByRole("row").filter({ hasText: "run.abort" });
    await abort.waitFor();
    await page.getByLabel("What").selectOption("token");
    await page.getByRole("row").filter({ hasText: "token.create" }).waitFor();
    await abort.waitFor({ state: "detached" });
    expect(page.url()).toBe(`${at.url}/ui/events?action=token`);
    await page.getByLabel("Who").fill("admin");
    await page.getByLabel("Since").fill("1h");
    await page.getByLabel("Since").press("Enter");
    await page.waitForURL(`${at.url}/ui/events?action=token&actor=admin&since=1h`);
    await page.reload();
    await page.getByRole("row").filter({ hasText: "mila" }).waitFor();
    expect(await page.getByLabel("What").inputValue()).toBe("token");
    expect(await page.getByLabel("Who").inputValue()).toBe("admin");
    const copy = await context.newPage();
    await copy.goto(page.url());
    await copy.getByRole("row").filter({ hasText: "mila" }).waitFor();
    await page.goBack();
    await page.goBack();
    await abort.waitFor();
    expect(await page.getByLabel("What").inputValue()).toBe("");
    // A time that is none is refused with the reason.
    await page.goto(`${at.url}/ui/events?since=yesterday`);
    await page.getByRole("alert").getByText("?since").waitFor();
    await close();
  });

  test("a text is looked for on the page that is shown, which says so (ui.md#events)", async () => {
    const { page, close } = await at.open("/ui/events?q=WRONG+branch");
    await page.getByText(/^1 of the \d+ entries of this page have the text/).waitFor();
    expect(await page.locator("main tbody tr").count()).toBe(1);
    await close();
  });

  test("what is new is counted, and moves nothing until the reader wants it (ui.md#events)", async () => {
    const { page, close } = await at.open("/ui/events");
    const rows = page.locator("main tbody tr");
    await rows.first().waitFor();
    const before = await rows.allTextContents();
    await at.json(201, "POST", "/v1/tokens", { name: "later", preset: "viewer" });
    const button = page.getByRole("button", { name: "Show 1 new entry" });
    await button.waitFor();
    const times = /(?:now|in \d+ \w+\.|\d+ \w+\. ago)/g;
    const still = (texts: string[]) => texts.map((text) => text.replaceAll(times, ""));
    expect(still(await rows.allTextContents())).toEqual(still(before));
    await button.click();
    await rows.first().getByText("later").waitFor();
    await button.waitFor({ state: "detached" });
    await close();
  });

  test("D11: 50 entries at a time, by cursor (ui.md#d11)", async () => {
    const specs = Array.from({ length: 60 }, (_, index) => ({ id: `listed-${index}`, argv: ["true"] }));
    await at.json(201, "POST", "/v1/runs", { runs: specs });
    const { page, asked, close } = await at.open("/ui/events?action=run.submit");
    await page.getByRole("link", { name: "Older" }).click();
    await page.getByRole("link", { name: "Newest" }).waitFor();
    await page.locator("[aria-busy=false] tbody tr").first().waitFor();
    const lists = asked.filter((path) => path.startsWith("/v1/audit") && !path.includes("after="));
    expect(lists.map((path) => new URLSearchParams(path.split("?")[1]).get("limit"))).toEqual(["50", "50"]);
    await close();
  });

  test("what a token may not see is said: other pools, or everything (ui.md#events)", async () => {
    const limited = {
      name: "one-pool",
      scopes: ["audit:read", "pools:read"],
      limits: { pools: ["default"] },
    };
    const { token: narrow } = await at.json(201, "POST", "/v1/tokens", limited);
    const one = await at.openAs(narrow, "/ui/events?action=run.abort");
    await one.page.getByText("Your token is limited to default").waitFor();
    await one.page.getByRole("row").filter({ hasText: "run.abort" }).first().waitFor();
    await one.close();
    const { token: viewer } = await at.json(201, "POST", "/v1/tokens", { name: "looks", preset: "viewer" });
    const two = await at.openAs(viewer, "/ui/events");
    await two.page.getByRole("alert").getByText("audit:read").waitFor();
    await two.close();
  });

  test("an entry of a token leads to the token, and from there to what it did", async () => {
    const { page, close } = await at.open("/ui/events?action=token.create&q=mila");
    await page.getByRole("link", { name: "mila", exact: true }).click();
    await page.waitForURL(`${at.url}/ui/admin/tokens?token=${token.id}`);
    await page.getByRole("link", { name: "What it did" }).click();
    await page.getByRole("row").filter({ hasText: "run.abort" }).waitFor();
    await close();
  });
});
