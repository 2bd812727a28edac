import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { barriersOf, type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

describe.skipIf(!hasBrowser)("runs selected in the list of the dashboard", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
    await at.fill();
  });
  afterAll(() => at?.stop());

  /** Runs that wait, oldest first. */
  async function waiting(team: string, count: number): Promise<string[]> {
    const runs = Array.from({ length: count }, (_, index) => ({
      id: `${team}-${index}`,
      argv: ["true"],
      labels: { team, half: index < count / 2 ? "first" : "second" },
    }));
    await at.json(201, "POST", "/v1/runs", { runs });
    return runs.map(({ id }) => id);
  }
  const stateOf = async (id: string) => (await at.json(200, "GET", `/v1/runs/${id}`)).state;

  test("D19: two runs are selected and aborted by keyboard alone, and named before (ui.md#d19)", async () => {
    const [first = "", second = "", third = ""] = await waiting("keys", 3);
    const { page, close } = await at.open("/ui/runs?label=team%3Dkeys");
    await page.getByRole("row").filter({ hasText: third }).waitFor();
    for (const key of ["j", "x", "j", "x"]) await page.keyboard.type(key);
    await page.getByText("2 selected").waitFor();
    const press = async (name: string) => {
      for (let steps = 0; ; steps += 1) {
        expect(steps, `Tab does not reach ${name}`).toBeLessThan(100);
        const text = await page.evaluate("document.activeElement?.textContent.trim()");
        if (text === name) break;
        await page.keyboard.press("Shift+Tab");
      }
      await page.keyboard.press("Enter");
    };
    await press("Abort…");
    const dialog = page.getByRole("dialog", { name: "Abort runs" });
    await dialog.getByRole("heading", { name: "Abort 2 runs?" }).waitFor();
    await press("Abort 2 runs");
    await dialog.waitFor({ state: "hidden" });
    // A list is sorted by time and id, so which two it was is asked of the API.
    const states = await Promise.all([first, second, third].map(stateOf));
    expect(states.sort()).toEqual(["aborted", "aborted", "pending"]);
    await page.getByText("No run is selected").waitFor();
    await close();
  });

  test("D14: keys and clicks that come within one frame are all taken", async () => {
    await waiting("frame", 3);
    const { page, close } = await at.open("/ui/runs?label=team%3Dframe");
    await page.getByRole("row").filter({ hasText: "frame-2" }).waitFor();
    await page.evaluate(`for (const key of ["j", "x", "j", "x"]) {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(event);
    }`);
    await page.getByText("2 selected").waitFor();
    const boxes = '[...document.querySelectorAll(".states input")].slice(0, 3)';
    await page.evaluate(`${boxes}.forEach((box) => box.click())`);
    await expect.poll(() => new URL(page.url()).searchParams.getAll("state")).toHaveLength(3);
    await close();
  });

  test("D15: the selection is in the address, also after a reload; Shift selects a range", async () => {
    const all = await waiting("range", 4);
    const { page, close } = await at.open("/ui/runs?label=team%3Drange");
    const boxes = page.getByRole("checkbox", { name: /^Select range-/ });
    await boxes.nth(3).waitFor();
    await boxes.nth(0).click();
    await page.getByText("1 selected").waitFor();
    await boxes.nth(2).click({ modifiers: ["Shift"] });
    await page.getByText("3 selected").waitFor();
    await page.reload();
    await page.getByText("3 selected").waitFor();
    expect(await boxes.nth(3).isChecked()).toBe(false);
    await page.getByRole("checkbox", { name: "Select all that are shown" }).check();
    await page.getByText(`${all.length} selected`).waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await close();
  });

  test("D19: all that match are ended, on other pages too, with the progress in numbers", async () => {
    const all = await waiting("many", 60);
    const { page, close } = await at.open("/ui/runs?label=team%3Dmany");
    await page.getByRole("button", { name: "Select all that match" }).click();
    await page.getByRole("button", { name: "Abort…" }).click();
    const dialog = page.getByRole("dialog", { name: "Abort runs" });
    await dialog.getByRole("heading", { name: "Abort 60 runs?" }).waitFor();
    expect(await barriersOf(page)).toEqual([]);
    let sent = 0;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route(/\/v1\/runs\/[^/]+\/abort$/, async (route) => {
      sent += 1;
      if (sent > 10) await held;
      await route.continue();
    });
    await dialog.getByRole("button", { name: "Abort 60 runs" }).click();
    await dialog.getByText("10 of 60").waitFor();
    release();
    await dialog.waitFor({ state: "hidden" });
    expect(new Set(await Promise.all(all.map(stateOf)))).toEqual(new Set(["aborted"]));
    await close();
  });

  test("D19: what is refused is listed with its reason, and the others are done (ui.md#d19)", async () => {
    const [kept = "", gone = ""] = await waiting("refused", 2);
    await at.json(200, "POST", "/v1/runs/abort", { ids: [kept, gone] });
    const { page, close } = await at.open("/ui/runs?label=team%3Drefused&all=1");
    await page.getByRole("button", { name: "Rerun…" }).click();
    const dialog = page.getByRole("dialog", { name: "Rerun runs" });
    await dialog.getByRole("heading", { name: "Rerun 2 runs?" }).waitFor();
    // Somebody else deletes one of them before the answer.
    const other = await fetch(`${at.url}/v1/runs/${gone}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${at.token}` },
    });
    expect(other.ok).toBe(true);
    await dialog.getByRole("button", { name: "Rerun 2 runs" }).click();
    await dialog.getByText("2 of 2, 1 refused").waitFor();
    await dialog.getByRole("listitem").filter({ hasText: gone }).waitFor();
    const { items } = await at.json(200, "GET", "/v1/runs?label=team:refused");
    expect(items.map(({ rerunOf }: { rerunOf?: string }) => rerunOf).filter(Boolean)).toEqual([kept]);
    await close();
  });

  test.each(["Stop", "Escape"])("D19: %s says how many were done, and how many were not", async (by) => {
    const team = `by-${by.toLowerCase()}`;
    const all = await waiting(team, 20);
    const { page, close } = await at.open(`/ui/runs?label=team%3D${team}&all=1`);
    const { promise: held, resolve: letThrough } = Promise.withResolvers<void>();
    let sent = 0;
    await page.route(/\/v1\/runs\/[^/]+\/abort$/, async (route) => {
      sent += 1;
      await held;
      await route.continue();
    });
    await page.getByRole("button", { name: "Abort…" }).click();
    const dialog = page.getByRole("dialog", { name: "Abort runs" });
    await dialog.getByRole("button", { name: "Abort 20 runs" }).click();
    await expect.poll(() => sent).toBe(3);
    if (by === "Stop") await dialog.getByRole("button", { name: "Stop" }).click();
    else await page.keyboard.press(by);
    await dialog.getByRole("button", { name: "Stopping…" }).waitFor();
    letThrough();
    await dialog.getByText("Stopped: 3 done, 17 not sent.").waitFor();
    const states = await Promise.all(all.map(stateOf));
    expect(states.filter((state) => state === "aborted")).toHaveLength(3);
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "hidden" });
    await close();
  });

  test("D20: the commands for many runs are shown for ten, and copied for all (ui.md#d20)", async () => {
    const all = await waiting("long", 12);
    const { page, context, close } = await at.open("/ui/runs?label=team%3Dlong&all=1");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Abort…" }).click();
    const command = page
      .getByRole("dialog")
      .locator(".command")
      .filter({ hasText: /^drover abort/ });
    expect(((await command.locator("code").textContent()) ?? "").split(" ")).toHaveLength(12);
    // It stands there for two seconds.
    const isSaid = command.evaluate(`(box) => new Promise((done) => {
      const look = () => box.textContent.includes("Copied") && done();
      new MutationObserver(look).observe(box, { subtree: true, childList: true, characterData: true });
    })`);
    await command.getByRole("button", { name: "Copy" }).click();
    await isSaid;
    const copied: string = await page.evaluate("navigator.clipboard.readText()");
    expect(new Set(copied.split(" "))).toEqual(new Set(["drover", "abort", ...all]));
    await close();
  });

  test("D20: the same as drover and as curl, which does it (ui.md#d20)", async () => {
    const [one = "", two = ""] = await waiting("shell", 2);
    const { page, close } = await at.open(`/ui/runs?selected=${one}&selected=${two}`);
    await page.getByRole("button", { name: "Abort…" }).click();
    const dialog = page.getByRole("dialog", { name: "Abort runs" });
    await dialog.getByText(/^drover abort shell-\d shell-\d$/).waitFor();
    const command = (await dialog.getByText(/^curl /).textContent()) ?? "";
    execFileSync("sh", ["-c", command], { env: { ...process.env, DROVER_TOKEN: at.token }, stdio: "pipe" });
    expect(await Promise.all([one, two].map(stateOf))).toEqual(["aborted", "aborted"]);
    await close();
  });

  test("what an action does not fit is left, and said (ui.md#d19)", async () => {
    const [ended = "", waits = ""] = await waiting("fits", 2);
    await at.json(200, "POST", `/v1/runs/${ended}/abort`, {});
    const { page, close } = await at.open("/ui/runs?label=team%3Dfits&all=1");
    await page.getByRole("button", { name: "Abort…" }).click();
    const dialog = page.getByRole("dialog", { name: "Abort runs" });
    await dialog.getByRole("heading", { name: "Abort 1 run?" }).waitFor();
    await dialog.getByText(waits, { exact: true }).waitFor();
    await dialog.getByText("1 of the 2 selected stay unchanged: they have ended already.").waitFor();
    await close();
  });

  test("D15: several states are one filter; groups by a label say what they count", async () => {
    await waiting("groups", 3);
    const { page, close } = await at.open("/ui/runs?label=team%3Dgroups");
    await page.getByRole("checkbox", { name: "pending" }).check();
    await page.getByRole("checkbox", { name: "failed", exact: true }).check();
    await page.waitForURL(/state=pending&state=failed/);
    await page.getByLabel("Group by label").fill("half");
    await page.keyboard.press("Enter");
    const groups = page.getByRole("region", { name: "Runs by half" });
    await groups.getByText("Counts of all 3 runs that match.").waitFor();
    await page.reload();
    const row = groups.getByRole("row").filter({ hasText: "first" });
    await row.waitFor();
    expect(await row.locator("td").allTextContents()).toEqual(["2", "2"]);
    await row.getByRole("link", { name: "first" }).click();
    await page.waitForURL(/label=team%3Dgroups&label=half%3Dfirst/);
    await close();
  });

  test("D15: a run opened from a filtered list leads on through this list (ui.md#d15)", async () => {
    await waiting("walk", 3);
    const { page, close } = await at.open("/ui/runs?label=team%3Dwalk");
    const links = page.locator("tbody tr td:nth-child(3) a");
    await links.nth(2).waitFor();
    const order = await links.allTextContents();
    await links.nth(0).click();
    await page.getByRole("heading", { name: order[0] ?? "" }).waitFor();
    await page.keyboard.type("]");
    await page.getByRole("heading", { name: order[1] ?? "" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: order[1] ?? "" }).waitFor();
    await page.keyboard.type("]");
    await page.getByRole("heading", { name: order[2] ?? "" }).waitFor();
    await page.keyboard.type("]");
    await page.getByText("This is the oldest run of the list.").waitFor();
    await page.keyboard.type("[");
    await page.getByRole("heading", { name: order[1] ?? "" }).waitFor();
    await page.getByRole("link", { name: "List of runs" }).click();
    await page.waitForURL(`${at.url}/ui/runs?label=team%3Dwalk`);
    await close();
  });
});
