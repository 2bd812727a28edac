import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { keptIn } from "../support/kept.ts";

describe.skipIf(!hasBrowser)("secrets, projects and trust rules in the dashboard", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("the value of a secret is nowhere once it is sent, and in no command (ui.md#forms)", async () => {
    const value = "s3cret with spaces\nand a second line\n";
    const { page, asked, close } = await at.open("/ui/admin/secrets");
    await page.getByText("There is no secret yet").waitFor();
    await page.getByRole("button", { name: "Set secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Store a secret?" });
    await dialog.getByLabel("Name").fill("DEPLOY_KEY");
    await dialog.getByLabel("Value").fill(value);
    await dialog.getByText("drover secrets set DEPLOY_KEY -", { exact: true }).waitFor();
    await dialog.getByText('{"value":"VALUE"}').waitFor();
    await dialog.getByRole("button", { name: "Set secret" }).click();
    await page.getByRole("link", { name: "DEPLOY_KEY" }).waitFor();
    expect(await keptIn(page, asked)).not.toContain("s3cret");
    const run = await at.run('printf %s "$KEY" | wc -c', {
      secrets: { KEY: { secret: "DEPLOY_KEY", as: "env" } },
    });
    await at.until(run, "done");
    const output = await at.call("GET", `/v1/runs/${run}/logs/main/stdout`);
    expect(Number(await output.text())).toBe(value.length);
    await close();
  });

  test("a value that somebody has typed and not sent is forgotten with the question", async () => {
    const { page, asked, close } = await at.open("/ui/admin/secrets");
    await page.getByRole("button", { name: "Set secret" }).click();
    await page.getByRole("dialog").getByLabel("Value").fill("half-typed");
    await page.keyboard.press("Escape");
    await expect.poll(() => keptIn(page, asked)).not.toContain("half-typed");
    await close();
  });

  test("D19: a secret is deleted after a question that says what then fails (ui.md#d19)", async () => {
    await at.json(200, "PUT", "/v1/secrets/OLD_KEY", { value: "old" });
    const { page, close } = await at.open("/ui/admin/secrets?secret=OLD_KEY");
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete the secret OLD_KEY for good?" });
    await dialog.getByText("fail to start").waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Secrets" }).waitFor();
    const { items } = await at.json(200, "GET", "/v1/secrets");
    expect(items.map(({ name }: { name: string }) => name)).not.toContain("OLD_KEY");
    await close();
  });

  test("a project is created, shows its use of a pool, and stays while a pool names it", async () => {
    const { page, close } = await at.open("/ui/admin/projects");
    await page.getByRole("button", { name: "Create project" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("ml");
    await page.getByRole("dialog").getByRole("button", { name: "Create project" }).click();
    await page.getByRole("link", { name: "ml" }).click();
    await page.getByText("No pool serves it").waitFor();
    const { config } = await at.json(200, "GET", "/v1/pools/default");
    const projects = { default: {}, ml: { maxRuns: 7 } };
    await at.json(200, "PUT", "/v1/pools/default", { ...config, projects });
    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "default" });
    await row.getByText("0 of at most 7").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete the project ml for good?" });
    await dialog.getByText("as now: default").waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("alert").getByText("default").waitFor();
    await at.json(200, "PUT", "/v1/pools/default", config);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    const { items } = await at.json(200, "GET", "/v1/projects");
    expect(items.map(({ name }: { name: string }) => name)).toEqual(["default"]);
    await close();
  });

  test("things of another project are shown, and not changed by name (ui.md#administration)", async () => {
    await at.json(201, "POST", "/v1/projects", { name: "other" });
    const inOther = { "drover-project": "other" };
    await at.json(200, "PUT", "/v1/secrets/SAME", { value: "theirs" }, inOther);
    await at.json(200, "PUT", "/v1/secrets/SAME", { value: "ours" });
    const { page, close } = await at.open("/ui/admin/secrets");
    await page.getByRole("link", { name: "other/SAME" }).click();
    await page.getByText("It belongs to the project other").waitFor();
    expect(await page.getByRole("button", { name: "Delete" }).count()).toBe(0);
    await page.goBack();
    await page.getByRole("link", { name: "SAME", exact: true }).click();
    await page.getByRole("button", { name: "Delete" }).waitFor();
    await close();
  });

  test("limits of a trust rule that the form lacks stay as they are (ui.md#administration)", async () => {
    const limits = { maxCostPerHour: 2.5, labels: { team: "blue" }, secrets: ["KEY"], maxPriority: 40 };
    const path = "/v1/trust-rules/limited";
    const claims = { project_id: "42" };
    const rule = {
      issuer: "https://gitlab.com",
      audience: "drover",
      claims,
      scopes: ["secrets:use"],
      limits,
    };
    await at.json(201, "PUT", path, { ...rule, labels: {} });
    const { page, close } = await at.open("/ui/admin/trust?rule=limited");
    await page.getByRole("button", { name: "Change" }).click();
    const change = page.getByRole("dialog", { name: "Change the trust rule limited?" });
    await change.getByText("team=blue, cost 2.5 per hour, secret KEY").waitFor();
    await change.getByText('"maxCostPerHour":2.5').waitFor();
    // A command that replaces the rule without them would give its tokens more.
    expect(
      await change
        .locator(".command")
        .filter({ hasText: /^drover / })
        .count(),
    ).toBe(0);
    await change.getByLabel("Highest priority").fill("");
    await change.getByRole("button", { name: "Change" }).click();
    await change.waitFor({ state: "hidden" });
    const { maxPriority: _removed, ...kept } = limits;
    expect((await at.json(200, "GET", path)).limits).toEqual(kept);
    await at.call("DELETE", path);
    await close();
  });

  test("a trust rule is created by a form, changed, and deleted", async () => {
    const { page, close } = await at.open("/ui/admin/trust");
    await page.getByText("There is no trust rule yet").waitFor();
    await page.getByRole("button", { name: "Create rule" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a trust rule?" });
    await dialog.getByLabel("Name", { exact: true }).fill("ci");
    await dialog.getByLabel("Audience").fill("drover");
    await dialog.getByLabel("Claims", { exact: true }).fill("repository_id=1296269\nref=refs/heads/main");
    await dialog.getByLabel("Preset").selectOption("submitter");
    const issuer = "https://token.actions.githubusercontent.com";
    await dialog
      .getByText(`drover trust set ci --issuer ${issuer} --claim repository_id=1296269`)
      .first()
      .waitFor();
    await dialog.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("link", { name: "ci", exact: true }).click();
    expect(await at.json(200, "GET", "/v1/trust-rules/ci")).toMatchObject({
      issuer,
      audience: "drover",
      claims: { repository_id: "1296269", ref: "refs/heads/main" },
      labels: { "gh.repo": "repository" },
      lifetime: "15m",
    });
    const before = await at.json(200, "GET", "/v1/trust-rules/ci");
    await page.getByRole("button", { name: "Change" }).click();
    const change = page.getByRole("dialog", { name: "Change the trust rule ci?" });
    await change.getByLabel("Tokens valid for").fill("1h");
    await change.getByRole("button", { name: "Change" }).click();
    await page.locator("dd").getByText("1h", { exact: true }).waitFor();
    // What the form did not change stays.
    const { createdAt: _then, ...rest } = before;
    expect(await at.json(200, "GET", "/v1/trust-rules/ci")).toMatchObject({ ...rest, lifetime: "1h" });
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByText("No token that it gave is valid now").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There is no trust rule yet").waitFor();
    await close();
  });
});
