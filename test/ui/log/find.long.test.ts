import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { rowsOf } from "../support/log.ts";

const field = (page: Page) => page.getByRole("searchbox", { name: "Search this output" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const result = (page: Page) => page.locator(".log-find output");

/** A search of a whole log reads it in parts of this size. */
const SEARCHED_AT_ONCE = 8 * 1_024 * 1_024;

/** Looks for a regular expression, as somebody does. */
async function findPattern(page: Page, expression: string): Promise<void> {
  await field(page).fill(expression);
  await page.getByRole("checkbox", { name: "Regular expression" }).check();
  await button(page, "Search").click();
}

describe.skipIf(!hasBrowser)("a search of an output (ui.md#searches)", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  async function ended(script: string): Promise<string> {
    const id = await at.run(script);
    await at.until(id, "done");
    return id;
  }

  test("D15: an expression is in the address, and a reload searches the same (ui.md#d15)", async () => {
    const id = await ended("echo Warn 17; seq 1 300; echo warn 4; echo größe 5; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "größe 5" }).waitFor();
    await findPattern(page, "^(warn|gr..e) \\d+$");
    await result(page).getByText("Attempt 1.1: 3 hits in the whole log.").waitFor();
    await page.locator(".log-marked", { hasText: "größe 5" }).waitFor();
    const query = new URL(page.url()).searchParams;
    expect([query.get("find"), query.get("regex")]).toEqual(["^(warn|gr..e) \\d+$", "1"]);
    await page.getByRole("checkbox", { name: "Match case" }).check();
    await button(page, "Search").click();
    await result(page).getByText("2 hits in the whole log.").waitFor();
    await page.reload();
    await result(page).getByText("2 hits in the whole log.").waitFor();
    expect(await page.getByRole("checkbox", { name: "Regular expression" }).isChecked()).toBe(true);
    await page.goBack();
    await result(page).getByText("3 hits in the whole log.").waitFor();
    expect(await page.getByRole("checkbox", { name: "Match case" }).isChecked()).toBe(false);
    expect(await barriersOf(page)).toEqual([]);
    await close();
  });

  test("a text that is no expression is said to be none, with the reason, and found as a text", async () => {
    const id = await ended("echo 'call(1'; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "call(1" }).waitFor();
    await findPattern(page, "call(");
    await page
      .getByRole("alert")
      .getByText(/^"call\(" is no regular expression: .*group\. Correct it/)
      .waitFor();
    expect(await result(page).count()).toBe(0);
    await page.getByRole("checkbox", { name: "Regular expression" }).uncheck();
    await button(page, "Search").click();
    await result(page).getByText("1 hit in the whole log.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await close();
  });

  /** A page that ends a search after half a minute instead of five seconds, so that a test can act before. */
  async function openPatient(path: string) {
    const opened = await at.open("/ui/pools");
    await opened.page.addInitScript(`{
      const { setTimeout } = window;
      window.setTimeout = (act, ms, ...more) => setTimeout(act, ms === 5_000 ? 30_000 : ms, ...more);
    }`);
    await opened.page.goto(`${at.url}${path}`);
    return opened;
  }

  test("an expression that would take for ever is ended, and the page lives meanwhile", async () => {
    const id = await ended("printf '%060dX\\n' 0; echo the end; exit 1");
    const { page, close } = await openPatient(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "the end" }).waitFor();
    await findPattern(page, "^(0+)+$");
    await result(page).getByText("and the search goes on").waitFor();
    // Frames are drawn, and keys work, while the thread is busy.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await page.getByRole("checkbox", { name: "Wrap long lines" }).uncheck();
    await result(page).getByText("and the search goes on").waitFor();
    await page
      .getByRole("alert")
      .getByText(/^The search ended at byte 0: .* longer than 5 s\./)
      .waitFor();
    await findPattern(page, "^the");
    await result(page).getByText("1 hit in the whole log.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await close();
  });

  test("such an expression can be stopped before", async () => {
    const id = await ended("printf '%060dX\\n' 0; exit 1");
    const { page, close } = await openPatient(`/ui/runs/${id}?tab=log&find=%5E(0%2B)%2B%24&regex=1`);
    await button(page, "Stop").click();
    await result(page).getByText("and the search has stopped").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await close();
  });

  test("D7: a search of all can be stopped, and goes on where it was (ui.md#d7)", async () => {
    const id = await ended("echo needle; seq 1 3000000; echo a needle; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    const spans: string[] = [];
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    // The second range waits, so the search is stopped when it has the first one.
    await page.route("**/logs/main/stdout*", async (route) => {
      const { range = "" } = route.request().headers();
      const [from, last] = range.replace("bytes=", "").split("-").map(Number);
      // The numbers of lines ask for the same log, in smaller parts.
      if (from !== undefined && last === from + SEARCHED_AT_ONCE - 1) spans.push(range);
      if (range.startsWith("bytes=8388608-") && spans.length === 2) await held;
      await route.continue().catch(() => undefined);
    });
    await page.locator(".log-row", { hasText: "a needle" }).waitFor();
    await field(page).fill("needle");
    await page.keyboard.press("Enter");
    await result(page)
      .getByText(/^Attempt 1\.1: 1 hit in 2\d\d(\.\d)?KiB of/)
      .waitFor();
    spans.length = 0;
    await button(page, "Search all").click();
    await result(page)
      .getByText(/1 hit in 8MiB of .*, bytes 0 to 8388608, and the search goes on\./)
      .waitFor();
    await button(page, "Stop").click();
    release();
    await result(page)
      .getByText(/bytes 0 to 8388608, and the search has stopped\./)
      .waitFor();
    await button(page, "Go on").click();
    await result(page).getByText("Attempt 1.1: 2 hits in the whole log.").waitFor();
    // It goes on at the line that was not complete.
    expect(spans.slice(0, 2)).toEqual(["bytes=0-8388607", "bytes=8388608-16777215"]);
    expect(spans[2]).toMatch(/^bytes=8388\d{3}-/);
    await button(page, "Next hit").click();
    await until("the first hit is shown", async () => (await rowsOf(page))[0] === "needle");
    await close();
  });

  test("the page may start this one thread, and no other (ui.md#security)", async () => {
    const id = await ended("echo x; exit 1");
    const { page, context } = await at.open(`/ui/runs/${id}?tab=log&find=x`);
    await result(page).getByText("1 hit in the whole log.").waitFor();
    const refused = (code: string) =>
      page.evaluate<string>(`(() => { try { ${code}; return "done"; } catch (e) { return e.name; } })()`);
    expect(await refused('new Worker("/ui/files/main.js")')).toBe("TypeError");
    expect(await refused('new Worker(URL.createObjectURL(new Blob(["1"])))')).toBe("TypeError");
    expect(await refused('trustedTypes.createPolicy("drover-worker", {})')).toBe("TypeError");
    expect(await refused('trustedTypes.createPolicy("default", {})')).toBe("TypeError");
    // The browser has logged each of these.
    await context.close();
  });
});
