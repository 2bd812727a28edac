import { execFileSync } from "node:child_process";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { strikeWorkerd } from "../crash/support/strikes.ts";
import { poolConfigOf } from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";
import { heldBack } from "./support/held.ts";
import { numberedRowsOf, numbersOf, rowsOf, rowTops, scrollBy, scrollTo, statusOf } from "./support/log.ts";

/** Writes numbered lines for as long as it runs. */
const COUNTING = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done";
/** Output is stored in rows of at most this size, whose lines have been counted. */
const ROW_BYTES = 4 * 1024 * 1024;

describe.skipIf(!hasBrowser)("the output of a run in the dashboard", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  /** A run whose output is complete. */
  async function ended(script: string, more = {}): Promise<string> {
    const id = await at.run(script, more);
    await at.until(id, "done");
    return id;
  }

  /** The last visible row. */
  const lastRow = async (page: Page) => (await rowsOf(page)).at(-1);

  test("D1: a failed run opens at the end of its output, and says how stderr ends (ui.md#d1)", async () => {
    const id = await ended("seq 1 500; for i in 1 2 3 4; do echo fault $i >&2; done; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await until("the end is shown", async () => (await lastRow(page)) === "500");
    const errors = page.getByRole("region", { name: "The last lines of stderr" });
    expect(await errors.locator("pre").textContent()).toBe("fault 2\nfault 3\nfault 4");
    await page.locator(".log-status").getByText("This output is complete.").waitFor();
    await close();
  });

  test("the end stays in view when the window changes its size (ui.md#log-rows)", async () => {
    const id = await ended("seq 1 60; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await until("the end is shown", async () => (await lastRow(page)) === "60");
    await page.setViewportSize({ width: 1_280, height: 2_400 });
    await until("all rows are shown", async () => (await rowsOf(page))[0] === "1");
    await page.setViewportSize({ width: 900, height: 600 });
    await until("the end is shown again", async () => (await lastRow(page)) === "60");
    expect(await page.getByRole("button", { name: "End" }).isDisabled()).toBe(true);
    await close();
  });

  test("D1: the output of a running run is followed (ui.md#d1)", async () => {
    const id = await at.run(COUNTING);
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    const numberOf = async () => Number((await lastRow(page))?.slice("line ".length) ?? 0);
    await until("there is more than fits", async () => (await numberOf()) > 60);
    const before = await numberOf();
    await until("more has come", async () => (await numberOf()) > before + 5);
    expect(await page.getByRole("button", { name: "End" }).isDisabled()).toBe(true);
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });

  test("D2: scrolling up ends following, and nothing moves what is visible (ui.md#d2)", async () => {
    const id = await at.run(COUNTING);
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await until("there is more than fits", async () => Number((await numbersOf(page)).at(-1)) > 80);
    await scrollBy(page, -150);
    const resume = page.getByRole("button", { name: /^\d+ new lines?$/ });
    await resume.waitFor();
    const before = await rowTops(page);
    await until(
      "20 lines have come",
      async () => Number.parseInt((await resume.textContent()) ?? "", 10) > 20,
    );
    expect(await rowTops(page)).toEqual(before);
    await resume.click();
    await page.getByRole("button", { name: "End" }).waitFor();
    const last = async () => Number((await numbersOf(page)).at(-1));
    const now = await last();
    await until("it follows again", async () => (await last()) > now);
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });

  test("D2: a scroll stands, though lines are drawn before the page hears of it (ui.md#d2)", async () => {
    const id = await at.run("seq 1 500; exec sleep 1000");
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await until("the end is shown", async () => (await lastRow(page)) === "500");
    const end = page.locator("[data-follow]");
    expect(await end.isDisabled()).toBe(true);
    // The event of the scroll comes with the next frame. Without a frame for a second, the page draws before.
    const isDrawnBetween = () =>
      page.evaluate<boolean>(`(() => {
        const { requestAnimationFrame } = window;
        const draws = [];
        window.requestAnimationFrame = (draw) => draws.push(draw);
        [...document.querySelectorAll("label")].find((label) => label.textContent.includes("Wrap")).click();
        window.requestAnimationFrame = requestAnimationFrame;
        // A draw that was asked for before the click comes with the next frame.
        if (draws.length === 0) return false;
        document.querySelector(".log").scrollBy(0, -150);
        for (const draw of draws) draw(performance.now());
        return true;
      })()`);
    await until("it is drawn between the two", async () => (await isDrawnBetween()) || undefined);
    await until("it follows no more", () => end.isEnabled());
    expect(Number(await lastRow(page))).toBeLessThan(500);
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });

  test("D3: a restart adds a boundary, and clears nothing (ui.md#d3)", async () => {
    const script = "if [ -e again ]; then echo second; else touch again; echo first; fi; sleep 600";
    const id = await at.run(script);
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "first" }).waitFor();
    expect((await at.call("POST", `/v1/runs/${id}/restart`)).ok).toBe(true);
    await page.locator(".log-row", { hasText: "second" }).waitFor();
    expect(await rowsOf(page)).toEqual(["first", "Attempt 1.2 starts here", "second"]);
    await at.call("POST", `/v1/runs/${id}/abort`);
    await close();
  });

  test("D4: an answer about another stream is dropped (ui.md#d4)", async () => {
    const id = await ended("echo to stdout; echo to stderr >&2; exit 1");
    const { page, close } = await at.open("/ui/runs");
    // The answer about stdout comes after the view has gone on to stderr.
    const letThrough = await heldBack(page, "**/logs/main/stdout*");
    await page.goto(`${at.url}/ui/runs/${id}?tab=log`);
    await page.getByRole("link", { name: "stderr", exact: true }).click();
    await page.locator(".log-row", { hasText: "to stderr" }).waitFor();
    letThrough();
    await page.getByRole("link", { name: "summary" }).click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.goBack();
    await page.locator(".log-row", { hasText: "to stderr" }).waitFor();
    expect(await rowsOf(page)).toEqual(["to stderr"]);
    await close();
  });

  test("D5: after a SIGKILL of the control plane the view goes on at the exact byte (ui.md#d5)", async () => {
    const id = await at.run(COUNTING);
    await at.until(id, "running");
    const { page, context } = await at.open(`/ui/runs/${id}`);
    const last = async () => Number((await numbersOf(page)).at(-1));
    await until("there is more than fits", async () => (await last()) > 60);
    const rows = (await rowsOf(page)).length;
    await strikeWorkerd({ pid: process.pid, stateDir: at.stateDir });
    await page.getByText(/^Resuming at byte \d+/).waitFor();
    // Nothing that was shown goes away.
    expect((await rowsOf(page)).length).toBe(rows);
    const before = await last();
    await until("more has come", async () => (await last()) > before + 20);
    // Lines are counted from the beginning: a byte too few or too many would part a line from its number.
    const shown = await numberedRowsOf(page);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.map(([, text]) => text)).toEqual(shown.map(([number]) => `line ${number}`));
    expect(await statusOf(page)).toMatch(/^Live/);
    await at.call("POST", `/v1/runs/${id}/abort`);
    // The browser has logged that the connection broke.
    await context.close();
  });

  test("D6: only the end of a large log is fetched, and only visible rows exist (ui.md#d6)", async () => {
    const id = await ended("seq 1 1250000; exit 1");
    const { page, close } = await at.open("/ui/runs");
    /** What each request for bytes of output asks for: a tail, a range, or everything. */
    const spans: string[] = [];
    page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      const span = request.headers().range ?? searchParams.get("tail") ?? "everything";
      if (pathname.endsWith("/stdout")) spans.push(span);
    });
    await page.goto(`${at.url}/ui/runs/${id}`);
    await until("the end is shown", async () => (await lastRow(page)) === "1250000");
    expect(spans[0]).toEqual(String(272 * 1024));
    expect(await page.locator(".log-row").count()).toBeLessThan(300);
    await until("earlier lines are read", async () => {
      await scrollTo(page, 0);
      // The first row in memory may be the rest of its line, which is a smaller number.
      return Number((await rowsOf(page))[1]) < 1_200_000;
    });
    expect(await page.locator(".log-row").count()).toBeLessThan(300);
    // What is read next is a range of at most a mebibyte; and once, to count lines, the rest of a stored row.
    const ranges = spans.slice(1).map((span) => /^bytes=(\d+)-(\d+)$/.exec(span)?.slice(1).map(Number));
    const lengths = ranges.map(([from = 0, to = 0] = []) => ({ length: to + 1 - from }));
    const others = lengths.filter(({ length }) => length !== 1024 * 1024);
    expect(lengths.length).toBeGreaterThan(others.length);
    expect(others.length).toBeLessThanOrEqual(1);
    for (const { length } of others) expect(length).toBeLessThan(ROW_BYTES);
    await close();
  });

  test("D7: a search says how much it has searched, and offers the rest (ui.md#d7)", async () => {
    const id = await ended("echo a Needle; seq 1 200000; echo another needle; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "another needle" }).waitFor();
    await page.getByRole("searchbox", { name: "Search this output" }).fill("needle");
    await page.keyboard.press("Enter");
    await page
      .getByText(/^Attempt 1\.1: 1 hit in 2\d\d(\.\d)?KiB of 1\.\dMiB, bytes \d+ to \d+\.$/)
      .waitFor();
    await page.getByRole("button", { name: "Search all" }).click();
    await page.getByText("Attempt 1.1: 2 hits in the whole log.").waitFor();
    await page.getByRole("button", { name: "Next hit" }).click();
    await page.locator(".log-marked", { hasText: "a Needle" }).waitFor();
    await page.getByRole("button", { name: "Previous hit" }).click();
    await page.locator(".log-marked", { hasText: "another needle" }).waitFor();
    await close();
  });

  test("D8: a link to bytes or lines opens there, in an earlier attempt, too (ui.md#d8)", async () => {
    const restart = { attempts: 1, delay: "50ms", interval: "1h" };
    const script = "if [ -e again ]; then echo second; else touch again; seq 1 200000; fi; exit 1";
    const id = await ended(script, { restart });
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log&attempt=1.1&l=777-779`);
    await page.locator(".log-marked", { hasText: "778" }).waitFor();
    expect(await page.locator(".log-marked").allInnerTexts()).toEqual(["777", "778", "779"]);
    const link = page.locator(".log-row", { hasText: /^780$/ }).getByRole("link", { includeHidden: true });
    await link.click();
    const first = new URL(page.url()).searchParams;
    expect([first.get("attempt"), first.get("l"), first.get("b")]).toEqual(["1.1", null, "3008-3012"]);
    await page
      .locator(".log-row", { hasText: /^782$/ })
      .getByRole("link")
      .click({ modifiers: ["Shift"] });
    const address = page.url();
    await page.goto(`${at.url}/ui`);
    await page.goto(address);
    await page.locator(".log-marked", { hasText: "781" }).waitFor();
    expect(await page.locator(".log-marked").allInnerTexts()).toEqual(["780", "781", "782"]);
    await close();
  });

  test("D8: a link beyond the end of an output says so, and shows the end (ui.md#d8)", async () => {
    const id = await ended("seq 1 20; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log&l=100`);
    await page.getByText("The link names line 100, and this output has fewer lines.").waitFor();
    await page.locator(".log-row", { hasText: "20" }).waitFor();
    await page.goto(`${at.url}/ui/runs/${id}?tab=log&b=5000-5010`);
    await page.getByText("The link names byte 5000, and this output has fewer.").waitFor();
    await close();
  });

  test("D8: a link to output that is not kept any more says so, and why (ui.md#d8)", async () => {
    const config = await poolConfigOf(at);
    await at.json(201, "PUT", "/v1/pools/brief", { ...config, retention: { runs: "1h", logs: "1s" } });
    const id = await ended("echo gone; exit 1", { pool: "brief" });
    await until("its output is gone", async () => {
      return (await at.call("GET", `/v1/runs/${id}/logs/main/stdout`)).status === 410;
    });
    const { page, close } = await at.open(`/ui/runs/${id}?tab=log&attempt=1.1&b=0-5`);
    const alert = page.locator(".log-page").getByRole("alert");
    await alert.getByText(/were deleted at .* retention/).waitFor();
    await alert.getByText("The pool's retention says how long output is kept.").waitFor();
    expect(await page.locator(".log-row").count()).toBe(0);
    await close();
  });

  test("D9: long lines wrap or scroll, and copied text has no numbers (ui.md#d9)", async () => {
    const id = await ended("echo short; printf 'long %01000d\\n' 7; echo end; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "end" }).waitFor();
    const long = page.locator(".log-row").nth(1);
    const size = async () => (await long.boundingBox()) ?? { width: 0, height: 0 };
    const view = (await page.locator(".log-view").boundingBox())?.width ?? 0;
    expect((await size()).height).toBeGreaterThan(39);
    expect((await size()).width).toBeLessThanOrEqual(view);
    await page.getByRole("checkbox", { name: "Wrap long lines" }).uncheck();
    await until("it scrolls", async () => (await size()).height === 20 && (await size()).width > view);
    const copied = await page.evaluate<string>(
      'getSelection().selectAllChildren(document.querySelector(".log-rows")); String(getSelection())',
    );
    expect(copied.trim().split("\n")).toEqual(["short", `long ${"7".padStart(1_000, "0")}`, "end"]);
    await close();
  });

  test("D10: the raw output is one click away, and curl takes its address (ui.md#d10)", async () => {
    const id = await ended("printf 'a\\033[31mb\\000c\\377\\n'; exit 1");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    const raw = page.getByRole("link", { name: "Raw" });
    const [download] = await Promise.all([page.waitForEvent("download"), raw.click()]);
    expect(download.suggestedFilename()).toBe(`${id}-main-1.1-stdout.log`);
    const address = `${at.url}${await raw.getAttribute("href")}`;
    const bytes = execFileSync("curl", ["-sSf", "-H", `Authorization: Bearer ${at.token}`, address]);
    expect(bytes).toEqual(Buffer.from("a\u001b[31mb\u0000c\u00ff\n", "latin1"));
    await close();
  });

  test("hostile bytes are shown, and run nothing (ui.md#log-text)", async () => {
    const script = [
      "printf '<script>document.title=1</script><img src=x onerror=document.title=2>\\n'",
      "printf '\\033]8;;javascript:document.title=3\\033\\\\click me\\033]8;;\\033\\\\\\n'",
      "printf '\\033]8;;https://example.com/\\033\\\\a link\\033]8;;\\033\\\\\\n'",
      "printf '\\033]0;a title that never ends\\n'",
      "printf '10%%\\r50%%\\r100%%\\n'",
      "printf '\\000\\001\\002\\003\\004\\005\\006\\007\\n'",
      "printf 'x\\010\\013\\014\\016\\017\\020\\021\\022\\023\\024\\025\\n'",
      "printf '\\377\\376 \\342\\200\\256reversed\\n'",
      "printf '\\033[31mred\\033[0m\\n'; exit 1",
    ].join("; ");
    const id = await ended(script);
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.locator(".log-row", { hasText: "red" }).last().waitFor();
    const rows = await rowsOf(page);
    expect(rows[0]).toBe("<script>document.title=1</script><img src=x onerror=document.title=2>");
    expect(rows.slice(1, 5)).toEqual(["click me", "a link", "\u241b]0;a title that never ends", "100%"]);
    expect(rows[5]).toBe("\u2400\u2401\u2402\u2403\u2404\u2405\u2406\u2407");
    expect(rows[7]).toBe("\ufffd\ufffd \u2039202E\u203areversed");
    expect(await page.locator(".log-text a").evaluateAll((links) => links.map(String))).toEqual([
      "https://example.com/",
    ]);
    expect(await page.locator(".log-text .log-red").textContent()).toBe("red");
    expect(await page.locator(".log img, .log script").count()).toBe(0);
    expect(await page.title()).not.toMatch(/^\d$/);
    await close();
  });
});
