import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { goByKeys } from "../support/keys.ts";

const nightly = {
  description: "builds everything",
  spec: { argv: ["true"], timeout: "30m" },
  schedule: { cron: "30 2 * * *", zone: "Europe/Berlin", jitter: "5m" },
};
const deploy = {
  spec: { argv: ["echo", "${param.target}", "${param.count}"] },
  params: {
    target: { type: "string", required: true, description: "what is deployed" },
    count: { type: "integer", default: 2 },
    size: { type: "string", enum: ["small", "large"], default: "small" },
    dry: { type: "boolean" },
  },
};

describe.skipIf(!hasBrowser)("the jobs in the dashboard (jobs.md#the-job)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  const put = (name: string, fields: object = nightly, status = 201) =>
    at.json(status, "PUT", `/v1/jobs/${name}`, fields);

  test("without a job the page says how to make one; one is listed with its next tick", async () => {
    const { page, close } = await at.open("/ui");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await goByKeys(page, "gj", "/ui/jobs");
    await page.getByText("There is no job yet").waitFor();
    await page.getByText("drover jobs apply").waitFor();
    const { next } = await put("nightly");
    await put("by-hand", deploy);
    const row = page.getByRole("row").filter({ hasText: "nightly" });
    await row.getByText("daily at 02:30, Europe/Berlin").waitFor();
    expect(await row.locator("time").getAttribute("title")).toContain("02:30:00 +0");
    expect(await row.locator("time").getAttribute("datetime")).toBe(next[0].at);
    await page.getByRole("row").filter({ hasText: "by-hand" }).getByText("only when triggered").waitFor();
    await page.getByRole("searchbox").fill("BUILDS");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("link", { name: "by-hand" }).waitFor({ state: "hidden" });
    expect(new URL(page.url()).searchParams.get("q")).toBe("BUILDS");
    await page.getByRole("link", { name: "nightly" }).click();
    await page.getByRole("heading", { name: "nightly" }).waitFor();
    await close();
  });

  test("a job shows its next ten ticks, with offsets and the ids of their runs", async () => {
    const { next } = await put("ticks");
    const { page, close } = await at.open("/ui/jobs/ticks");
    const table = page.getByRole("region", { name: "Next ticks" });
    await table.getByText(next[0].run).waitFor();
    for (const [i, { at: tick, run, local }] of next.entries()) {
      const row = table.locator("tbody tr").nth(i);
      expect(await row.locator("time").first().getAttribute("datetime")).toBe(tick);
      expect(await row.textContent()).toContain(local.slice(0, 10));
      expect(await row.textContent()).toContain(local.slice(-6));
      expect(await row.textContent()).toContain(run);
    }
    expect(await table.locator("tbody tr").count()).toBe(10);
    await page.getByText("while an earlier run goes on: skip; missed ticks: one, for 1h").waitFor();
    await close();
  });

  test("is triggered by a form of its parameters, and the run leads back to it (ui.md#d20)", async () => {
    await put("deploy", deploy);
    const { page, close } = await at.open("/ui/jobs/deploy");
    await page.getByText("None yet").waitFor();
    await page.getByRole("button", { name: "Trigger" }).click();
    const dialog = page.getByRole("dialog", { name: "Trigger deploy?" });
    await dialog.getByText("drover jobs trigger deploy --param target=TARGET", { exact: true }).waitFor();
    await dialog.getByLabel("count").fill("two");
    await dialog.getByLabel("target").fill('"; rm -rf /');
    await dialog.getByRole("button", { name: "Trigger" }).click();
    // What is no number is refused at its field.
    expect(await dialog.locator("input:invalid").count()).toBe(1);
    await dialog.getByLabel("count").fill("-5");
    await dialog.getByLabel("size").selectOption("large");
    await dialog.getByLabel("dry").selectOption("false");
    await dialog.getByLabel("Key").fill("one");
    await dialog.getByLabel("Priority").fill("70");
    const flags = "--param count=-5 --param size=large --param dry=false --key one --priority 70";
    await dialog.getByText(flags).waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Trigger" }).click();
    await page.waitForURL(`${at.url}/ui/runs/deploy-by-one`);
    const { spec } = await at.json(200, "GET", "/v1/runs/deploy-by-one");
    expect(spec).toMatchObject({ argv: ["echo", '"; rm -rf /', "-5"], priority: 70 });
    await at.until("deploy-by-one", "done");
    await page.goto(`${at.url}/ui/runs/deploy-by-one?tab=summary`);
    await page.locator("dd").getByText("none: it was triggered").waitFor();
    await page.locator("dd").getByRole("link", { name: "deploy", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: "deploy-by-one" });
    await row.getByText("complete").waitFor();
    await row.getByText("triggered").waitFor();
    await close();
  });

  test("what Drover refuses shows its reason, and the form stays", async () => {
    await put("refused", deploy);
    const { page, close } = await at.open("/ui/jobs/refused");
    await page.getByRole("button", { name: "Trigger" }).click();
    const dialog = page.getByRole("dialog", { name: "Trigger refused?" });
    await dialog.getByLabel("target").fill("x".repeat(5_000));
    await dialog.getByRole("button", { name: "Trigger" }).click();
    await dialog.getByRole("alert").getByText("must have at most 4096 bytes").waitFor();
    await close();
  });

  test("the run of a tick says which one it is, live, also on the page of its job", async () => {
    const { next } = await put("live");
    const [{ at: tick, run }] = next;
    const { page, close } = await at.open("/ui/jobs/live");
    await page.getByText("None yet").waitFor();
    await at.json(201, "POST", "/v1/jobs/live/trigger", { tick });
    const row = page.getByRole("region", { name: "Runs and skipped ticks" }).getByRole("row");
    await row.filter({ hasText: run }).getByText("complete").waitFor();
    await row.getByRole("link", { name: run }).click();
    await page.getByRole("heading", { name: run }).waitFor();
    await page.getByRole("link", { name: "summary" }).click();
    await page.locator("dd").getByText(tick.slice(0, 10)).first().waitFor();
    await close();
  });

  test("is paused, resumed and removed after a question; skipped ticks say why (ui.md#d19)", async () => {
    await put("minutes", { ...nightly, schedule: { cron: "* * * * *", zone: "UTC", overlap: "allow" } });
    const { page, close } = await at.open("/ui/jobs/minutes");
    const act = async (verb: string, command: string) => {
      await page.getByRole("button", { name: verb, exact: true }).click();
      const dialog = page.getByRole("dialog", { name: `${verb} minutes` });
      await dialog.getByText(command, { exact: true }).waitFor();
      await dialog.getByRole("button", { name: verb, exact: true }).click();
      await dialog.waitFor({ state: "hidden" });
    };
    await act("Pause", "drover jobs pause minutes");
    await page.getByText("skipped until it is resumed").waitFor();
    await page.getByText("None: it is paused").waitFor();
    const { paused } = await at.json(200, "GET", "/v1/jobs/minutes");
    await page.goto(`${at.url}/ui/jobs`);
    await page.getByRole("row").filter({ hasText: "minutes" }).getByText("paused").waitFor();
    await page.getByRole("link", { name: "minutes", exact: true }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    const dialog = page.getByRole("dialog", { name: "Resume minutes?" });
    await dialog.getByRole("checkbox").check();
    await dialog.getByText("drover jobs resume minutes --make-up", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    // A tick of the pause has come once the next one is another.
    const nextOf = async (query: string) =>
      (await at.json(200, "GET", `/v1/jobs/minutes/ticks?count=1${query}`)).items[0].at;
    const skipped = await nextOf(`&after=${paused.at}`);
    await vi.waitFor(async () => expect(await nextOf("")).not.toBe(skipped), {
      timeout: 90_000,
      interval: 500,
    });
    await act("Resume", "drover jobs resume minutes");
    await page.getByText("skipped until it is resumed").waitFor({ state: "hidden" });
    await page.getByRole("link", { name: "Skipped ticks alone" }).click();
    await page.getByRole("row").filter({ hasText: "skipped" }).getByText("the job was paused").waitFor();
    expect(page.url()).toBe(`${at.url}/ui/jobs/minutes?show=skipped`);
    await act("Remove", "drover jobs rm minutes");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect((await at.call("GET", "/v1/jobs/minutes")).status).toBe(404);
    await close();
  });

  test("each version says what it changed, and what it said; both are in the address", async () => {
    await put("told");
    await put("told", { ...nightly, spec: { argv: ["false"], timeout: "30m" } }, 200);
    const { page, asked, close } = await at.open("/ui/jobs/told");
    await page.getByRole("heading", { name: "told" }).waitFor();
    expect(asked).not.toContain("/v1/jobs/told/versions");
    await page.getByRole("link", { name: "versions", exact: true }).click();
    await page.getByRole("row").filter({ hasText: "spec.argv" }).getByRole("link", { name: "2" }).waitFor();
    await page.getByRole("row").filter({ hasText: "it made the job" }).getByRole("link").click();
    await page.getByRole("region", { name: "What version 1 said" }).getByText('"true"').waitFor();
    expect(page.url()).toBe(`${at.url}/ui/jobs/told?tab=versions&version=1`);
    expect(await barriersOf(page)).toEqual([]);
    await close();
  });

  test("a reader's page has no buttons, a trigger's has one", async () => {
    await put("scoped");
    const buttons = async (scopes: string[]) => {
      const name = `for-${scopes.length}`;
      const { token } = await at.json(201, "POST", "/v1/tokens", { name, scopes });
      const { page, close } = await at.openAs(token, "/ui/jobs/scoped");
      await page.getByRole("region", { name: "Next ticks" }).waitFor();
      const found = await page.locator("main button[data-verb]").allTextContents();
      await close();
      return found;
    };
    expect(await buttons(["runs:read"])).toEqual([]);
    expect(await buttons(["runs:read", "jobs:trigger"])).toEqual(["Trigger"]);
    expect(await buttons(["runs:read", "jobs:trigger", "jobs:write"])).toEqual([
      "Trigger",
      "Pause",
      "Remove",
    ]);
  });

  test("with ?refresh=60 a job is asked for once a minute, without a stream (ui.md#frugal)", async () => {
    await put("frugal");
    const { page, asked, close } = await at.open("/ui/pools");
    await page.clock.install();
    await page.goto(`${at.url}/ui/jobs/frugal?refresh=60`);
    await page.getByRole("region", { name: "Next ticks" }).waitFor();
    await page.getByText("None yet").waitFor();
    asked.length = 0;
    const jobs = () => asked.filter((path) => path.startsWith("/v1/jobs/"));
    await page.clock.runFor(30_000);
    expect(jobs()).toEqual([]);
    const answer = page.waitForResponse(/\/v1\/jobs\//);
    await page.clock.runFor(31_000);
    await answer;
    expect(jobs()).toEqual(["/v1/jobs/frugal"]);
    expect(asked.filter((path) => path.startsWith("/v1/events"))).toEqual([]);
    await close();
  });

  test("a job that is not there, or belongs to another project, says so", async () => {
    const { page, close } = await at.open("/ui/jobs/none");
    await page.getByRole("alert").getByText("Somebody may have deleted it meanwhile").waitFor();
    await page.goto(`${at.url}/ui/jobs/web%2Fdeploy`);
    await page.getByText("It belongs to the project web").waitFor();
    await close();
  });
});
