import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";
import { goByKeys } from "./support/keys.ts";

const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["forced colors", { forcedColors: "active" }],
] as const;

/** Whether the focus is on what has this text. */
function isOn(page: Page, text: string): Promise<boolean> {
  return page.evaluate(`document.activeElement?.textContent.trim() === ${JSON.stringify(text)}`);
}

/** Moves the focus by Tab to what has this text, and presses Enter. */
async function pressIn(page: Page, text: string): Promise<void> {
  for (let steps = 0; !(await isOn(page, text)); steps += 1) {
    expect(steps, `Tab does not reach ${text}`).toBeLessThan(100);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
}

/** The parts of the administration, each with one thing, and the pages of these things. */
async function administration(at: Dashboard) {
  const token = await at.json(201, "POST", "/v1/tokens", { name: "mila", preset: "operator" });
  await at.json(200, "PUT", "/v1/secrets/KEY", { value: "hidden" });
  const url = "https://ci.example.com/hook";
  await at.json(201, "POST", "/v1/webhooks", { name: "ci", url });
  const issuer = "https://token.actions.githubusercontent.com";
  const rule = { issuer, audience: "drover", claims: { repository_id: "1296269" }, preset: "submitter" };
  await at.json(201, "PUT", "/v1/trust-rules/jobs", rule);
  return [
    { path: "/ui/admin", shows: "mila" },
    { path: `/ui/admin/tokens?token=${token.id}`, shows: "What it has made" },
    { path: "/ui/admin/sessions", shows: "Ends, if not used" },
    { path: "/ui/admin/projects?project=default", shows: "What it uses" },
    { path: "/ui/admin/secrets", shows: "Wrapping keys" },
    { path: "/ui/admin/webhooks", shows: url },
    { path: "/ui/admin/webhooks?webhook=ci", shows: "Deliveries" },
    { path: "/ui/admin/trust", shows: issuer },
    { path: "/ui/admin/trust?rule=jobs", shows: "Claims that a token must have" },
  ];
}

/** The list of jobs, and one that has a schedule, parameters and a run. */
async function jobs(at: Dashboard) {
  await at.json(201, "PUT", "/v1/jobs/nightly", {
    spec: { argv: ["echo", "${param.target}"] },
    params: { target: { type: "string", default: "all" } },
    schedule: { cron: "30 2 * * *", zone: "Europe/Berlin" },
  });
  const { id } = await at.json(201, "POST", "/v1/jobs/nightly/trigger", {});
  await at.until(id, "done");
  return [
    { path: "/ui/jobs", shows: "daily at 02:30" },
    { path: "/ui/jobs/nightly", shows: id },
    { path: "/ui/jobs/nightly?tab=versions&version=1", shows: "it made the job" },
    { path: `/ui/runs/${id}?tab=summary`, shows: "none: it was triggered" },
  ];
}

describe.skipIf(!hasBrowser)("the dashboard for people without a mouse or with weak eyes", () => {
  let at: Dashboard;
  let id: string;
  let pages: { path: string; shows: string }[];
  beforeAll(async () => {
    at = await startDashboard();
    const failed = await at.run("echo broken; exit 1", { labels: { team: "blue" } });
    await at.until(failed, "done");
    const ofJobs = await jobs(at);
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
      { path: "/ui/events", shows: "run.submit" },
      ...ofJobs,
      ...(await administration(at)),
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

  test.each(LOOKS)("neither has a form, nor what is shown once: %s", async (name, look) => {
    const { page, close } = await at.open("/ui/admin/tokens", look);
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a token?" });
    await dialog.getByLabel("Name").fill(`for-${name.replace(" ", "-")}`);
    await dialog.getByLabel("Preset").selectOption("viewer");
    expect(await barriersOf(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Create token" }).click();
    await page.getByRole("button", { name: "I have it" }).waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await close();
  });

  test("a token is found and revoked by keyboard alone", async () => {
    const { id: revoked } = await at.json(201, "POST", "/v1/tokens", { name: "leaver", preset: "viewer" });
    const { page, close } = await at.open("/ui");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await goByKeys(page, "gm", "/ui/admin");
    await page.getByRole("row").filter({ hasText: "leaver" }).waitFor();
    await pressIn(page, "leaver");
    await page.getByRole("button", { name: "Revoke" }).waitFor();
    await pressIn(page, "Revoke");
    await page.getByRole("dialog", { name: "Revoke leaver for good?" }).waitFor();
    await expect.poll(() => isOn(page, "Cancel")).toBe(true);
    await pressIn(page, "Revoke");
    await page.locator(".state").filter({ hasText: "revoked" }).waitFor();
    expect((await at.json(200, "GET", `/v1/tokens/${revoked}`)).state).toBe("revoked");
    await close();
  });

  test("a run is found and aborted by keyboard alone", async () => {
    const { page, close } = await at.open("/ui");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await pressIn(page, "Runs");
    await page.getByRole("row").filter({ hasText: id }).waitFor();
    await pressIn(page, id);
    await page.getByRole("button", { name: "Abort" }).waitFor();
    await pressIn(page, "Abort");
    await page.getByRole("dialog").waitFor();
    await expect.poll(() => isOn(page, "Cancel")).toBe(true);
    await pressIn(page, "Abort");
    await page.locator(".state").filter({ hasText: "aborted" }).waitFor();
    await close();
  });
});
