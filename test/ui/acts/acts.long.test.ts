import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

describe.skipIf(!hasBrowser)("what a reader does in the dashboard (ui.md#d19)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("a question has its first choices again when it is opened again (ui.md#forms)", async () => {
    const id = await at.run("sleep 1000");
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=summary`);
    const dialog = page.getByRole("dialog", { name: `Send a signal to ${id}?` });
    for (const chosen of ["SIGUSR1", "SIGINT"]) {
      await page.getByRole("button", { name: "Signal" }).click();
      expect(await dialog.getByLabel("Signal").inputValue()).toBe("SIGTERM");
      await dialog.getByText(`drover signal ${id} SIGTERM`, { exact: true }).waitFor();
      await dialog.getByLabel("Signal").selectOption(chosen);
      await dialog.getByText(`drover signal ${id} ${chosen}`, { exact: true }).waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
    }
    await at.call("POST", `/v1/runs/${id}/abort`, {});
    await close();
  });
});
