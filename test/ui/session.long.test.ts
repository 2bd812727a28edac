import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";

describe.skipIf(!hasBrowser)("signing in to the dashboard (ui.md#security)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  const kept = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])";

  test("a pasted token starts a session, and is kept nowhere", async () => {
    const { page, asked, close } = await at.openOutside("/ui/runs?state=failed");
    await page.getByLabel("Token").fill(at.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    expect(page.url()).toBe(`${at.url}/ui/runs?state=failed`);
    expect(await page.evaluate(kept)).toBe(JSON.stringify([{}, {}, ""]));
    expect(await page.content()).not.toContain(at.token);
    expect(asked.join(" ")).not.toContain(at.token);
    await close();
  });

  test("a code in the fragment starts a session once, and leaves the address", async () => {
    const { code } = await at.json(201, "POST", "/v1/sessions");
    const first = await at.openOutside(`/ui/workers#code=${code}`);
    await first.page.getByRole("heading", { name: "Workers" }).waitFor();
    expect(first.page.url()).toBe(`${at.url}/ui/workers`);
    expect(first.asked.join(" ")).not.toContain(code);
    await first.close();
    const second = await at.openOutside(`/ui/workers#code=${code}`);
    await second.page.getByRole("alert").waitFor();
    expect(second.page.url()).toBe(`${at.url}/ui/workers`);
    await second.close();
  });

  test("a wrong token is refused with the reason, and leaves the field", async () => {
    const { page, close } = await at.openOutside("/ui");
    await page.getByLabel("Token").fill("drv_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Token").inputValue()).toBe("");
    await close();
  });

  test("signing out ends the session at Drover, too", async () => {
    const { page, context, close } = await at.open("/ui");
    const [cookie] = await context.cookies();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await context.cookies()).toEqual([]);
    const answer = await fetch(`${at.url}/v1/caller`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}`, "sec-fetch-site": "same-origin" },
    });
    expect(answer.status).toBe(401);
    await close();
  });

  // The last one: requests of a page whose session has ended count as wrong secrets of this address.
  test("a session that somebody ends is over in the page, which says so and stays where it is", async () => {
    const { page, close } = await at.open("/ui/runs?failed=1");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    const { items } = await at.json(200, "GET", "/v1/sessions");
    for (const { id } of items) await at.call("DELETE", `/v1/sessions/${id}`);
    // No click: the page learns it from its own next request, and a link could vanish under the pointer.
    await page.getByRole("alert").filter({ hasText: "ended" }).waitFor();
    expect(page.url()).toBe(`${at.url}/ui/runs?failed=1`);
    await page.getByLabel("Token").fill(at.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    expect(page.url()).toBe(`${at.url}/ui/runs?failed=1`);
    await close();
  });
});
