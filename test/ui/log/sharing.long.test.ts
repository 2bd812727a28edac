import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { numberedRowsOf } from "../support/log.ts";

describe.skipIf(!hasBrowser)("tabs that follow output (ui.md#following)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("D5: eight of them get each line once, and the page still answers (ui.md#d5)", async () => {
    const id = await at.run("i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done");
    await at.until(id, "running");
    const first = await at.open(`/ui/runs/${id}`);
    const tabs = [first.page];
    for (let tab = 1; tab < 8; tab++) {
      const page = await first.context.newPage();
      await page.goto(`${at.url}/ui/runs/${id}`);
      tabs.push(page);
    }
    const last = async (tab: number) =>
      Number((await numberedRowsOf(tabs[tab] ?? first.page)).at(-1)?.[0] ?? 0);
    for (let tab = 0; tab < 8; tab++)
      await until(`tab ${tab} shows output`, async () => (await last(tab)) > 0);
    const seen = await Promise.all(tabs.map((_, tab) => last(tab)));
    for (let tab = 0; tab < 8; tab++) {
      await until(`more has come to tab ${tab}`, async () => (await last(tab)) > (seen[tab] ?? 0) + 20);
      const rows = await numberedRowsOf(tabs[tab] ?? first.page);
      expect(rows.map(([, text]) => text)).toEqual(rows.map(([number]) => `line ${number}`));
    }
    await first.page.getByRole("link", { name: "events", exact: true }).click();
    await first.page.getByRole("table").first().waitFor();
    await at.call("POST", `/v1/runs/${id}/abort`);
    await first.close();
  });
});
