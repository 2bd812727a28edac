import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { accept, type Got, isSignedBy, Receiver, refuse } from "../../edge/support/receiver.ts";
import { type Dashboard, hasBrowser, startDashboard } from "../support/dashboard.ts";
import { keptIn } from "../support/kept.ts";

const PATIENCE = { timeout: 120_000 };
/** The clock of a page must not run away from the answers that it waits for. */
const SLOWLY = { ...PATIENCE, interval: 500 };

describe.skipIf(!hasBrowser)("the webhooks in the dashboard", () => {
  let at: Dashboard;
  let receiver: Receiver;
  beforeAll(async () => {
    [at, receiver] = [await startDashboard({ allowLocalWebhooks: true }), new Receiver()];
    await receiver.up();
  });
  afterAll(async () => {
    await receiver?.down();
    await at?.stop();
  });
  beforeEach(() => {
    receiver.answer = accept;
    receiver.got.length = 0;
  });

  const make = (name: string) =>
    at.json(201, "POST", "/v1/webhooks", { name, url: new URL(`/${name}`, receiver.url) });

  test("a webhook is created by a form; its secret is shown once, and signs (ui.md#forms)", async () => {
    const { page, asked, close } = await at.open("/ui/admin/webhooks");
    await page.getByText("There is no webhook yet").waitFor();
    await page.getByRole("button", { name: "Create webhook" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a webhook?" });
    await dialog.getByLabel("Name").fill("by-form");
    await dialog.getByLabel("Receiver").fill(receiver.url);
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    const once = page.getByRole("region", { name: "The secret that signs the events for by-form" });
    const secret = (await once.locator("code").textContent()) ?? "";
    await page.getByRole("link", { name: "by-form" }).click();
    await page.getByRole("button", { name: "Test" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Test" }).click();
    const chosen = page.getByRole("region", { name: "Delivery" });
    await chosen.getByText("status 204").waitFor();
    const [got] = receiver.got;
    expect(got && isSignedBy(secret, got)).toBe(true);
    expect(new URL(page.url()).searchParams.get("delivery")).toBe(got?.id);
    expect(await keptIn(page, asked)).not.toContain(secret);
    await page.reload();
    await chosen.getByText("status 204").waitFor();
    await close();
  });

  test("a delivery shows what the receiver answered, and arrives again by a replay", async () => {
    await make("replayed");
    receiver.answer = refuse(500);
    const run = await at.run("true");
    await at.until(run, "done");
    const { page, close } = await at.open("/ui/admin/webhooks?webhook=replayed");
    await page.getByText("Attempts in a row that failed").waitFor();
    const row = page.getByRole("row").filter({ hasText: run });
    await row.locator("td:nth-child(7)").getByText("500").waitFor();
    const id = (await row.locator("td:nth-child(2)").textContent()) ?? "";
    await row.getByRole("link", { name: id }).click();
    const chosen = page.getByRole("region", { name: `Delivery ${id}` });
    await chosen.getByText("status 500", { exact: true }).waitFor();
    // The second try comes by itself, too. The third one would come five minutes later.
    await expect.poll(() => receiver.got.filter((got) => got.id === id).length, PATIENCE).toBeGreaterThan(1);
    receiver.answer = accept;
    const before = receiver.got.length;
    await chosen.getByRole("button", { name: "Replay" }).click();
    const dialog = page.getByRole("dialog", { name: `Send ${id} again?` });
    await dialog.getByText(`drover webhooks replay replayed ${id}`).waitFor();
    await dialog.getByRole("button", { name: "Replay" }).click();
    await vi.waitFor(() => expect(receiver.got.slice(before).map((got) => got.id)).toContain(id), PATIENCE);
    await row.locator(".state").getByText("delivered").waitFor();
    await page.locator(".state").getByText("active").first().waitFor();
    await close();
  });

  test("the deliveries of a range arrive again, with the same ids", async () => {
    await make("ranged");
    const run = await at.run("true");
    await at.until(run, "done");
    // The webhooks of other tests get news of this run, too.
    const isOurs = ({ path, event }: Got) => path === "/ranged" && event.data.run === run;
    await vi.waitFor(() => expect(receiver.got.find(isOurs)).toBeDefined(), PATIENCE);
    const id = receiver.got.find(isOurs)?.id;
    const { page, close } = await at.open("/ui/admin/webhooks?webhook=ranged");
    await page.locator(".state").getByText("delivered").first().waitFor();
    const before = receiver.got.length;
    await page.getByRole("button", { name: "Replay a range" }).click();
    const dialog = page.getByRole("dialog", { name: "Send the deliveries of ranged since a time again?" });
    await dialog.getByLabel("Made at most this long ago").fill("10m");
    await dialog.getByLabel("Also those that were delivered").check();
    await dialog.getByText("drover webhooks replay ranged --since 10m --all").waitFor();
    await dialog.getByRole("button", { name: "Replay a range" }).click();
    await vi.waitFor(() => expect(receiver.got.slice(before).map((got) => got.id)).toContain(id), PATIENCE);
    await close();
  });

  test("it is changed, disabled, enabled and deleted; what is chosen is in the address", async () => {
    await make("changed");
    const { page, close } = await at.open("/ui/admin/webhooks?webhook=changed");
    const act = async (verb: string, fill: () => Promise<void> = async () => {}) => {
      await page.getByRole("button", { name: verb, exact: true }).click();
      await fill();
      await page.getByRole("dialog").getByRole("button", { name: verb, exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    };
    await act("Change", () => page.getByRole("dialog").getByLabel("Receiver").fill(`${receiver.url}?two`));
    await page.locator("dd").getByText("?two").waitFor();
    await act("Disable");
    await page.getByText("Disabled by").waitFor();
    await act("Enable");
    await page.locator(".state").getByText("active").waitFor();
    await page.getByLabel("State").selectOption("failed");
    await page.getByText("They are listed for 30 days").waitFor();
    expect(page.url()).toBe(`${at.url}/ui/admin/webhooks?webhook=changed&state=failed`);
    await act("Delete");
    await page.getByRole("heading", { name: "Webhooks" }).waitFor();
    expect((await at.call("GET", "/v1/webhooks/changed")).status).toBe(404);
    await close();
  });

  test("an address that may not be used is refused with Drover's reason, and the form stays", async () => {
    const { page, close } = await at.open("/ui/admin/webhooks");
    await page.getByRole("button", { name: "Create webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("wrong");
    await dialog.getByLabel("Receiver").fill("ftp://example.com/");
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    await dialog.getByRole("alert").getByText("/url").waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("wrong");
    // Another try begins anew.
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Create webhook" }).click();
    await expect.poll(() => dialog.getByLabel("Name").inputValue()).toBe("");
    await expect.poll(() => dialog.getByRole("alert").count()).toBe(0);
    await close();
  });

  test("D13: the list asks for a latest delivery once, until something changes (ui.md#d13)", async () => {
    await make("quiet");
    const isKnown = async () => (await at.json(200, "GET", "/v1/webhooks/quiet")).behind;
    await expect.poll(isKnown, PATIENCE).toEqual([]);
    const { page, asked, close } = await at.open("/ui");
    // Timers that were set before are not those of this clock.
    await page.clock.install();
    await page.goto(`${at.url}/ui/admin/webhooks`);
    const row = page.getByRole("row").filter({ hasText: "quiet" });
    await row.waitFor();
    const count = (path: string) => asked.filter((one) => one.split("?")[0] === path).length;
    const latest = "/v1/webhooks/quiet/deliveries";
    await expect.poll(() => count(latest), PATIENCE).toBe(1);
    const after = async (ms: number, path: string) => {
      await page.clock.runFor(ms);
      return count(path);
    };
    const looks = count("/v1/webhooks");
    await expect.poll(() => after(1_000, "/v1/webhooks"), SLOWLY).toBeGreaterThan(looks + 1);
    expect(count(latest)).toBe(1);
    await at.call("POST", "/v1/webhooks/quiet/disable", {});
    await expect.poll(() => after(1_000, latest), SLOWLY).toBe(2);
    await row.getByText("disabled").waitFor();
    await expect.poll(() => after(10_000, latest), SLOWLY).toBe(3);
    await close();
  });
});
