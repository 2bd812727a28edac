import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { keptIn } from "../support/kept.ts";

describe.skipIf(!hasBrowser)("the tokens in the dashboard", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  const make = (name: string, more: object = {}) =>
    at.json(201, "POST", "/v1/tokens", { name, preset: "viewer", ...more });

  test("a token is created by a form, shown once, and kept nowhere (ui.md#forms)", async () => {
    const { page, asked, close } = await at.open("/ui/admin/tokens");
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a token?" });
    await dialog.getByLabel("Name").fill("by-form");
    await dialog.getByLabel("Preset").selectOption("submitter");
    await dialog.getByLabel("enroll").check();
    await dialog.getByLabel("Valid for").fill("30d");
    const command = "drover tokens create --name by-form --preset submitter --scope enroll --expires 30d";
    await dialog.getByText(command, { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Create token" }).click();
    const once = page.getByRole("region", { name: "The token by-form" });
    const text = (await once.locator("code").textContent()) ?? "";
    expect(text).toMatch(/^drv_[0-9A-Za-z]{48}$/);
    const caller = await at.send("GET", "/v1/caller", { authorization: `Bearer ${text}` });
    expect(await caller.json()).toMatchObject({ by: "token:by-form", expiresAt: expect.any(String) });
    await once.getByRole("button", { name: "I have it" }).click();
    await page.getByRole("row").filter({ hasText: "by-form" }).waitFor();
    await expect.poll(() => keptIn(page, asked)).not.toContain(text);
    await close();
  });

  test("what is no number is refused at its field: it does not mean that there is no limit", async () => {
    const { page, close } = await at.open("/ui/admin/tokens");
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a token?" });
    await dialog.getByLabel("Name").fill("unlimited");
    await dialog.getByLabel("Preset").selectOption("viewer");
    await dialog.getByLabel("Cost per hour").fill("abc");
    await dialog.getByText("--max-cost abc").waitFor();
    await dialog.getByText('"maxCostPerHour":"abc"').waitFor();
    await dialog.getByRole("button", { name: "Create token" }).click();
    expect(await page.evaluate("document.activeElement.name")).toBe("maxCost");
    expect(await page.evaluate("document.activeElement.validity.patternMismatch")).toBe(true);
    await dialog.getByLabel("Cost per hour").fill("2.5");
    await dialog.getByRole("button", { name: "Create token" }).click();
    await page.getByRole("region", { name: "The token unlimited" }).waitFor();
    const { items } = await at.json(200, "GET", "/v1/tokens");
    const made = items.find(({ name }: { name: string }) => name === "unlimited");
    expect(made.limits).toEqual({ maxCostPerHour: 2.5 });
    await close();
  });

  test("what is shown once is forgotten when its reader goes elsewhere, too", async () => {
    const { id } = await make("rotated");
    const { page, asked, close } = await at.open(`/ui/admin/tokens?token=${id}`);
    await page.getByRole("button", { name: "Rotate" }).click();
    const dialog = page.getByRole("dialog", { name: "Give rotated another secret?" });
    await dialog.getByText(`drover tokens rotate ${id} --overlap 1h`).waitFor();
    await dialog.getByRole("button", { name: "Rotate" }).click();
    const text =
      (await page.getByRole("region", { name: "secret of rotated" }).locator("code").textContent()) ?? "";
    expect(text).toMatch(new RegExp(`^drv_${id}`));
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("row").filter({ hasText: "rotated" }).waitFor();
    await expect.poll(() => keptIn(page, asked)).not.toContain(text);
    await page.goBack();
    await page.getByRole("button", { name: "Rotate" }).waitFor();
    await expect.poll(() => keptIn(page, asked)).not.toContain(text);
    await close();
  });

  test("D19: a revocation names what lives on, and what ends with it (ui.md#d19)", async () => {
    const parent = await make("parent", { preset: undefined, scopes: ["tokens:write", "runs:read"] });
    const auth = { authorization: `Bearer ${parent.token}` };
    const child = await at.json(201, "POST", "/v1/tokens", { name: "child", scopes: ["runs:read"] }, auth);
    const { page, close } = await at.open("/ui/admin/tokens");
    await page.getByRole("link", { name: "parent", exact: true }).click();
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    const lives = page.getByRole("dialog", { name: "Revoke parent for good?" });
    await lives.getByText("What it has made lives on: token child.").waitFor();
    await lives.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Revoke with all it made" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke parent and what it has made, for good?" });
    await dialog.getByText("With it ends token child.").waitFor();
    await dialog.getByText(`drover tokens revoke ${parent.id} --with-children`).waitFor();
    await dialog.getByRole("button", { name: "Revoke with all it made" }).click();
    await page.locator(".state").filter({ hasText: "revoked" }).waitFor();
    expect((await at.json(200, "GET", `/v1/tokens/${child.id}`)).state).toBe("revoked");
    // The list shows the valid ones at first; the state is in the address (ui.md#d15).
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
    await page.getByLabel("State").selectOption("revoked");
    await page.getByRole("row").filter({ hasText: "child" }).locator(".state").getByText("revoked").waitFor();
    expect(page.url()).toBe(`${at.url}/ui/admin/tokens?state=revoked`);
    await page.reload();
    await page.getByRole("row").filter({ hasText: "child" }).waitFor();
    await close();
  });

  test("Drover's reason is shown to whoever may not see the tokens, or not end one (ui.md#d19)", async () => {
    const viewer = await make("only-looks");
    const outside = await at.openAs(viewer.token, "/ui/admin/tokens");
    await outside.page.getByRole("alert").getByText("tokens:write").waitFor();
    expect(await outside.page.getByRole("button", { name: "Create token" }).count()).toBe(0);
    await outside.close();
    const stronger = await make("stronger", { preset: "operator" });
    const weak = await make("weak", { preset: undefined, scopes: ["tokens:write"] });
    const { page, close } = await at.openAs(weak.token, `/ui/admin/tokens?token=${stronger.id}`);
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByRole("alert").getByText("may do more than").waitFor();
    expect((await at.json(200, "GET", `/v1/tokens/${stronger.id}`)).state).toBe("active");
    await close();
  });

  test("D13: what Drover refuses is not asked again by itself (ui.md#d13)", async () => {
    const viewer = await make("looks-on");
    const { page, asked, close } = await at.openAs(viewer.token, "/ui");
    // Timers that were set before are not those of this clock.
    await page.clock.install();
    await page.goto(`${at.url}/ui/admin`);
    await page.getByRole("alert").getByText("tokens:write").waitFor();
    const count = (path: string) => asked.filter((one) => one === path).length;
    const before = count("/v1/tokens");
    // Meanwhile the top bar, which is not refused, asks again.
    const pools = count("/v1/pools");
    await page.clock.fastForward("02:00");
    await expect.poll(() => count("/v1/pools")).toBeGreaterThan(pools);
    expect(count("/v1/tokens")).toBe(before);
    await close();
  });

  test("D14: of many tokens 50 are in the document, and the address says which (ui.md#d14)", async () => {
    for (let index = 0; index < 51; index += 1) await make(`many-${index}`);
    const { page, close } = await at.open("/ui/admin/tokens?q=many-");
    const rows = page.locator("main tbody tr");
    await page.getByText("1–50 of 51").waitFor();
    expect(await rows.count()).toBe(50);
    await page.getByRole("link", { name: "More" }).click();
    await page.getByText("51–51 of 51").waitFor();
    expect(await rows.count()).toBe(1);
    expect(page.url()).toBe(`${at.url}/ui/admin/tokens?q=many-&page=2`);
    await close();
  });
});
