import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

const failing = (retry: object) => ({
  spec: { argv: ["sh", "-c", "exit 3"], resources: { vcpus: 0 }, retry: { park: true, ...retry } },
});
const TRIED = { on: ["exit"], max: 1, backoff: { first: "1s", jitter: 0 } };

describe.skipIf(!hasBrowser)("runs that have failed for good, in the dashboard (jobs.md#redrive)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  const put = (name: string, retry: object = {}) => at.json(201, "PUT", `/v1/jobs/${name}`, failing(retry));
  /** A run of the job that is parked. */
  const parked = async (job: string, key: string): Promise<string> => {
    const { id } = await at.json(201, "POST", `/v1/jobs/${job}/trigger`, { key });
    await at.until(id, "done");
    return id;
  };

  test("the page of a run shows its tries, that it is parked, and then which run repeats it", async () => {
    await put("tried", TRIED);
    const id = await parked("tried", "one");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=summary`);
    const tries = page.getByRole("region", { name: "Tries" });
    await tries.getByText("its command failed: ended with exit code 3").waitFor();
    expect(await tries.locator("tbody tr").count()).toBe(2);
    await page.getByText("Try 2 of 2").waitFor();
    await page.getByText("after 2 tries: ended with exit code 3").waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Redrive", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: `Redrive ${id}?` });
    await dialog.getByText(`drover redrive ${id}`, { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Redrive", exact: true }).click();
    await page.waitForURL(/\/ui\/runs\/k-/);
    const { redriven } = await at.json(200, "GET", `/v1/runs/${id}`);
    expect(page.url()).toContain(redriven.run);
    await page.goto(`${at.url}/ui/runs/${id}?tab=summary`);
    await page.getByRole("link", { name: redriven.run }).waitFor();
    await close();
  });

  test("the page of a job lists them with reason and tries, and redrives one, or all", async () => {
    await put("import");
    const { page, close } = await at.open("/ui/jobs/import");
    await page.getByText("None yet").waitFor();
    expect(await page.getByRole("heading", { name: "Parked runs" }).count()).toBe(0);
    const [one, two] = [await parked("import", "one"), await parked("import", "two")];
    const table = page.getByRole("region", { name: "Parked runs" });
    const row = table.getByRole("row").filter({ hasText: one });
    await row.getByText("after one try: ended with exit code 3").waitFor();
    await table.getByRole("link", { name: two, exact: true }).waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await row.getByRole("button", { name: "Redrive" }).click();
    const dialog = page.getByRole("dialog", { name: `Redrive ${one}?` });
    await dialog.getByText(`drover jobs redrive import ${one}`, { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Redrive", exact: true }).click();
    await row.waitFor({ state: "hidden" });
    const { redriven } = await at.json(200, "GET", `/v1/runs/${one}`);
    expect(redriven.run).toMatch(/^k-/);
    await page.getByRole("button", { name: "Redrive all" }).click();
    const question = page.getByRole("dialog", { name: "Redrive all parked runs of import?" });
    await question.getByText("drover jobs redrive import --all", { exact: true }).waitFor();
    await question.getByRole("button", { name: "Redrive all" }).click();
    await table.getByRole("link", { name: two, exact: true }).waitFor({ state: "hidden" });
    expect((await at.json(200, "GET", `/v1/runs/${two}`)).redriven).toBeDefined();
    await close();
  });
});
