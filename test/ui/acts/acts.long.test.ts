import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";

/** Holds the answers to calls of this kind back until `letThrough`; `count` says how many were sent. */
async function heldBack(page: Page, method: string, path: RegExp) {
  const { promise: isOver, resolve: letThrough } = Promise.withResolvers<void>();
  let count = 0;
  await page.route(path, async (route) => {
    if (route.request().method() !== method) return await route.fallback();
    count += 1;
    const response = await route.fetch();
    await isOver;
    // Whoever asked may have left.
    await route.fulfill({ response }).catch(() => undefined);
  });
  return { letThrough, count: () => count };
}

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

  test("what is submitted twice at once is sent once", async () => {
    const { page, close } = await at.open("/ui/admin/tokens");
    const held = await heldBack(page, "POST", /\/v1\/tokens$/);
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a token?" });
    await dialog.getByLabel("Name").fill("once");
    await dialog.getByLabel("Preset").selectOption("viewer");
    await page.evaluate(`{
      const form = document.querySelector("dialog[open] form");
      form.requestSubmit();
      form.requestSubmit();
    }`);
    await dialog.getByText("Sending").waitFor();
    held.letThrough();
    await page.getByRole("region", { name: "The token once" }).waitFor();
    expect(held.count()).toBe(1);
    await close();
  });

  test.each([
    ["a reader", (page: Page) => page.keyboard.press("Escape")],
    ["the browser", (page: Page) => page.evaluate(`document.querySelector("dialog[open]").close()`)],
  ])(
    "a question that %s closes while it is sent says that nobody waited for the answer",
    async (who, leave) => {
      const name = who.replace(" ", "-");
      const { page, close } = await at.open("/ui/admin/projects");
      const held = await heldBack(page, "POST", /\/v1\/projects$/);
      await page.getByRole("button", { name: "Create project" }).click();
      const dialog = page.getByRole("dialog", { name: "Create a project?" });
      await dialog.getByLabel("Name").fill(name);
      await page.keyboard.press("Enter");
      await dialog.getByText("Sending").waitFor();
      await leave(page);
      await dialog.getByRole("alert").getByText("Look whether it has happened").waitFor();
      expect(await dialog.getByLabel("Name").inputValue()).toBe(name);
      held.letThrough();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "hidden" });
      await page.reload();
      await page.getByRole("link", { name }).waitFor();
      await close();
    },
  );

  test("a page that the reader has left meanwhile leads nowhere when its answer arrives", async () => {
    const id = await at.run("true");
    await at.until(id, "done");
    const { page, close } = await at.open("/ui/events");
    await page.getByRole("heading", { name: "Events" }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByRole("row").getByRole("link", { name: id, exact: true }).click();
    const held = await heldBack(page, "DELETE", /\/v1\/runs\//);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByText("Sending").waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByRole("heading", { name: "Events" }).waitFor();
    const answered = page.waitForResponse((response) => response.request().method() === "DELETE");
    held.letThrough();
    await (await answered).finished();
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
    expect(new URL(page.url()).pathname).toBe("/ui/events");
    await close();
  });

  /** Opens the question `verb` at one address, goes Back to another thing, and resolves with what is open. */
  async function openAfterBack(paths: { back: string; asked: string }, verb: string) {
    const { page, close } = await at.open(paths.back);
    await page.locator("h1 .name").waitFor();
    await page.evaluate(`{
      history.pushState(null, "", ${JSON.stringify(paths.asked)});
      dispatchEvent(new PopStateEvent("popstate"));
    }`);
    await page.getByRole("button", { name: verb, exact: true }).click();
    await page.getByRole("dialog").waitFor();
    await page.goBack();
    await page.waitForURL((url) => url.href.endsWith(paths.back));
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
    const count = await page.getByRole("dialog").count();
    await close();
    return count;
  }

  test("a question is about what it names: it is gone when Back leads elsewhere (ui.md#acts)", async () => {
    await at.json(200, "PUT", "/v1/secrets/ONE", { value: "1" });
    await at.json(200, "PUT", "/v1/secrets/TWO", { value: "2" });
    const paths = { back: "/ui/admin/secrets?secret=ONE", asked: "/ui/admin/secrets?secret=TWO" };
    expect(await openAfterBack(paths, "Delete")).toBe(0);
  });

  test("also if both have the same name, in two projects (ui.md#acts)", async () => {
    await at.json(201, "POST", "/v1/projects", { name: "other" });
    const make = async (project: string) => {
      const body = { name: "twin", preset: "viewer" };
      const { id } = await at.json(201, "POST", "/v1/tokens", body, { "drover-project": project });
      return `/ui/admin/tokens?token=${id}`;
    };
    const paths = { back: await make("other"), asked: await make("default") };
    expect(await openAfterBack(paths, "Revoke")).toBe(0);
  });
});
