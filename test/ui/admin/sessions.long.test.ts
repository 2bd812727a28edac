import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

describe.skipIf(!hasBrowser)("the browser sessions in the dashboard", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  const make = (name: string, scopes: string[]) => at.json(201, "POST", "/v1/tokens", { name, scopes });
  const sessionOf = async (name: string) => {
    const { items } = await at.json(200, "GET", "/v1/sessions");
    return items.find((one: { name: string }) => one.name === name)?.id;
  };

  test("D19: a session ends after a question that names it; its browser is signed out", async () => {
    const guest = await make("guest", ["runs:read"]);
    const theirs = await at.openAs(guest.token, "/ui/runs");
    await theirs.page.getByRole("heading", { name: "Runs" }).waitFor();
    const id = await sessionOf("guest");
    const { page, close } = await at.open("/ui/admin/sessions");
    const row = page.getByRole("row").filter({ hasText: "guest" });
    await row.locator("time").nth(2).waitFor();
    await row.getByRole("link", { name: id }).click();
    await page.getByRole("button", { name: "End session" }).click();
    const dialog = page.getByRole("dialog", { name: `End the session ${id} of guest?` });
    await dialog.getByText("refused everywhere within 30 s").waitFor();
    expect(await dialog.getByText("you are signed out").count()).toBe(0);
    await dialog.getByText(`drover sessions end ${id}`, { exact: true }).waitFor();
    await dialog.getByText(`/v1/sessions/${id}`).waitFor();
    await dialog.getByRole("button", { name: "End session" }).click();
    await page.getByRole("heading", { name: "Browser sessions" }).waitFor();
    await row.waitFor({ state: "detached" });
    expect(await sessionOf("guest")).toBeUndefined();
    await theirs.page.reload();
    await theirs.page.getByLabel("Token").waitFor();
    await theirs.close();
    await close();
  });

  test("whoever ends their own session is told before, and signed out", async () => {
    const { token } = await make("self", ["tokens:write"]);
    const { page, close } = await at.openAs(token, `/ui/admin/sessions`);
    const id = await sessionOf("self");
    await page.getByRole("link", { name: id }).click();
    await page.getByRole("button", { name: "End session" }).click();
    await page.getByRole("dialog").getByText("if this is your session, you are signed out").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "End session" }).click();
    await page.getByLabel("Token").waitFor();
    await close();
  });

  test("nobody ends the session of whoever may do more, and is told why (sessions.md#life)", async () => {
    const strong = await make("strong", ["tokens:write", "runs:write"]);
    const theirs = await at.openAs(strong.token, "/ui/runs");
    const id = await sessionOf("strong");
    const weak = await make("weak", ["tokens:write"]);
    const { page, close } = await at.openAs(weak.token, `/ui/admin/sessions?session=${id}`);
    await page.getByRole("button", { name: "End session" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "End session" }).click();
    await dialog.getByRole("alert").getByText("may do more than").waitFor();
    expect(await sessionOf("strong")).toBe(id);
    await theirs.close();
    await close();
  });
});
