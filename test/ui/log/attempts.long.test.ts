import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { rowsOf } from "../support/log.ts";

describe.skipIf(!hasBrowser)("the attempts of a task", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("each attempt that starts is in the switch at once (ui.md#d15)", async () => {
    const script = "if [ -e again ]; then echo second; else touch again; echo first; fi; sleep 600";
    const id = await at.run(script);
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "first" }).waitFor();
    expect(await page.getByRole("navigation", { name: "Attempts" }).count()).toBe(0);
    expect((await at.call("POST", `/v1/runs/${id}/restart`)).ok).toBe(true);
    const attempts = page.getByRole("navigation", { name: "Attempts" });
    await attempts.getByRole("link", { name: "1.2" }).waitFor();
    await page.locator(".log-row", { hasText: "second" }).waitFor();
    expect(await rowsOf(page)).toEqual(["first", "Attempt 1.2 starts here", "second"]);
    await attempts.getByRole("link", { name: "1.2" }).click();
    await until("only the second one is shown", async () => (await rowsOf(page)).join() === "second");
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });
});
