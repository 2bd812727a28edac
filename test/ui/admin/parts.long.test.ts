import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

const DROVER = join(import.meta.dirname, "../../../bin/drover.mjs");

describe.skipIf(!hasBrowser)("the administration in the dashboard", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("who only looks is told which scope each part takes, and gets no buttons (ui.md#d19)", async () => {
    const { token } = await at.json(201, "POST", "/v1/tokens", { name: "looks", preset: "viewer" });
    const { page, close } = await at.openAs(token, "/ui/admin");
    for (const [part, scope] of [
      ["Tokens", "tokens:write"],
      ["Browser sessions", "tokens:write"],
      ["Projects", "projects:write"],
      ["Secrets", "secrets:write"],
      ["Webhooks", "webhooks:write"],
      ["Trust rules", "tokens:write"],
    ] as const) {
      await page.getByRole("link", { name: part, exact: true }).click();
      await page.getByRole("heading", { name: part, exact: true }).waitFor();
      await page.getByRole("alert").getByText(scope).waitFor();
      await page.getByText("Ask who manages the tokens of this Drover for the scope").waitFor();
      expect(await page.locator("main .actions button").count()).toBe(0);
    }
    await close();
    // The refusals are entries of the log, and shown as what they are.
    const admin = await at.open("/ui/events?action=request");
    const row = admin.page.getByRole("row").filter({ hasText: "session:looks" }).first();
    await row.locator(".state").getByText("denied").waitFor();
    await admin.close();
  });

  test("a part that is not there is said, and the others are one click away", async () => {
    const { page, close } = await at.open("/ui/admin/users");
    await page.getByRole("alert").getByText("The administration has no part users").waitFor();
    await page.getByRole("link", { name: "Secrets" }).click();
    await page.getByText("There is no secret yet").waitFor();
    // The parts belong to no pool, so another one leads nowhere else.
    await page.getByLabel("Pool").selectOption("default");
    await page.waitForURL(`${at.url}/ui/admin/secrets?pool=default`);
    await page.getByRole("heading", { name: "Secrets" }).waitFor();
    await close();
  });

  /** Runs a command of the page in a shell, as somebody who has copied it. */
  function inShell(command: string): string {
    const drover = `drover() { '${process.execPath}' '${DROVER}' "$@"; }`;
    const env = { ...process.env, DROVER_URL: at.url, DROVER_TOKEN: at.token };
    return execFileSync("sh", ["-c", `${drover}\n${command}`], { env, encoding: "utf8", stdio: "pipe" });
  }

  /** The command of a form, once it shows what was filled in last: a change is drawn with the next frame. */
  async function commandWith(form: Locator, last: string): Promise<string> {
    const command = form.getByText(/^drover /).filter({ hasText: last });
    return (await command.textContent()) ?? "";
  }

  test("D20: what a form says as a command does the same in a shell (ui.md#d20)", async () => {
    const { page, close } = await at.open("/ui/admin/tokens");
    await page.getByRole("button", { name: "Create token" }).click();
    const token = page.getByRole("dialog", { name: "Create a token?" });
    await token.getByLabel("Name").fill("by-command");
    await token.getByLabel("runs:read").check();
    await token.getByLabel("secrets:use").check();
    await token.getByLabel("Pools", { exact: true }).fill("default, other");
    await token.getByLabel("Highest priority").fill("60");
    await token.getByLabel("Networks").fill("10.0.0.0/8 127.0.0.1");
    await token.getByLabel("Labels", { exact: true }).fill("team=the blue one\nsite=a=b");
    await token.getByLabel("Secrets", { exact: true }).fill("KEY");
    await token.getByLabel("Cost per hour").fill("2.5");
    await token.getByLabel("Valid for").fill("2h");
    inShell(await commandWith(token, "--expires 2h"));
    await token.getByRole("button", { name: "Cancel" }).click();
    const { items } = await at.json(200, "GET", "/v1/tokens");
    expect(items.find(({ name }: { name: string }) => name === "by-command")).toMatchObject({
      scopes: ["runs:read", "secrets:use"],
      limits: {
        pools: ["default", "other"],
        maxPriority: 60,
        sources: ["10.0.0.0/8", "127.0.0.1"],
        labels: { team: "the blue one", site: "a=b" },
        secrets: ["KEY"],
        maxCostPerHour: 2.5,
      },
      expiresAt: expect.any(String),
    });
    await page.getByRole("link", { name: "Trust rules" }).click();
    await page.getByRole("button", { name: "Create rule" }).click();
    const rule = page.getByRole("dialog", { name: "Create a trust rule?" });
    await rule.getByLabel("Name", { exact: true }).fill("by-command");
    await rule.getByLabel("Audience").fill("drover");
    await rule.getByLabel("Claims", { exact: true }).fill("repository_id=1296269");
    await rule.getByLabel("Preset").selectOption("operator");
    await rule.getByLabel("No labels").check();
    inShell(await commandWith(rule, "--no-labels"));
    expect(await at.json(200, "GET", "/v1/trust-rules/by-command")).toMatchObject({
      claims: { repository_id: "1296269" },
      labels: {},
    });
    await close();
  });
});
