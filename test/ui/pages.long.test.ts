import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";
import { heldBack } from "./support/held.ts";

/** Frames in which a page that is drawn twice has been drawn twice. */
const FRAMES = 30;

/**
 * Follows the link to mila's token, and presses Revoke in the step in which the button is drawn. Resolves
 * some frames later with where the focus was in that step, and which question is still open.
 */
const REVOKE_AT_ONCE = `new Promise((resolve, reject) => {
  const heading = () => document.querySelector("main h1")?.textContent;
  new MutationObserver((_, observer) => {
    if (heading() !== "Token mila") return;
    observer.disconnect();
    const focus = document.activeElement.id;
    const revoke = document.querySelector("button[data-verb=revoke]");
    if (revoke === null) reject(new Error("The page was drawn without its buttons."));
    else revoke.click();
    const later = (frames) => {
      if (frames > 0) requestAnimationFrame(() => later(frames - 1));
      else resolve({ focus, question: document.querySelector("dialog[open]")?.ariaLabel });
    };
    later(${FRAMES});
  }).observe(document.querySelector("main"), { childList: true, subtree: true });
  [...document.querySelectorAll("main a")].find((link) => link.textContent === "mila").click();
})`;

describe.skipIf(!hasBrowser)("one page after another", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
    await at.json(201, "POST", "/v1/tokens", { name: "mila", preset: "viewer" });
  });
  afterAll(() => at?.stop());

  test("is drawn once, has the focus, and keeps a question that was opened at once (ui.md#d12)", async () => {
    const { page, close } = await at.open("/ui/admin");
    await page.getByRole("row").filter({ hasText: "mila" }).waitFor();
    const question = "Revoke mila for good?";
    expect(await page.evaluate(REVOKE_AT_ONCE)).toEqual({ focus: "main", question });
    await close();
  });

  test("the former one stays as it is until the next one is loaded (ui.md#d12)", async () => {
    const { page, asked, close } = await at.open("/ui/runs?label=team%3Dblue");
    await page.getByText("No run is like this").waitFor();
    const letThrough = await heldBack(page, "**/files/workers-*.js");
    const lists = () =>
      asked.filter((path) => path.startsWith("/v1/runs?") && !path.includes("label=")).length;
    const before = lists();
    try {
      const isAsked = page.waitForRequest("**/files/workers-*.js");
      await page.getByRole("link", { name: "Workers", exact: true }).click();
      await isAsked;
      expect(new URL(page.url()).pathname).toBe("/ui/workers");
      await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`);
      expect(await page.getByLabel("Labels", { exact: true }).inputValue()).toBe("team=blue");
      expect(lists()).toBe(before);
    } finally {
      letThrough();
    }
    await page.getByRole("heading", { name: "Workers", exact: true }).waitFor();
    await close();
  });

  // The second is what every object of JavaScript has.
  test.each(["/ui/nothing", "/ui/constructor"])("no page is at %s, and that is said", async (path) => {
    const { page, close } = await at.open(path);
    await page.getByText(`There is no page ${path}. The pages are at the top.`).waitFor();
    await close();
  });
});
