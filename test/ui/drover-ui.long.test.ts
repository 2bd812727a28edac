import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openInBrowser } from "../../cli/browser/open.ts";
import { ioOfProcess, quietly } from "../../cli/terminal/io.ts";
import { scratchDir, until } from "../local/support/scratch.ts";
import { type Dashboard, hasBrowser, PATIENCE_MS, startDashboard } from "./support/dashboard.ts";

// What `drover ui` gives the browser, in a real one.

describe.skipIf(!hasBrowser)("the file of drover ui", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  test("leads a browser to the page, signed in, and the code leaves the address (cli.md#ui)", async () => {
    const dir = scratchDir();
    const opener = join(dir, "xdg-open");
    writeFileSync(opener, `#!/bin/sh\necho "$1" >'${dir}/opened'\n`);
    chmodSync(opener, 0o755);
    const { code } = await at.json(201, "POST", "/v1/sessions");
    const { PATH } = process.env;
    process.env.PATH = `${dir}:${PATH}`;
    const env = { HOME: dir, DISPLAY: ":0" };
    const io = { ...quietly(ioOfProcess()), env, interactive: true };
    const why = await openInBrowser(io, `${at.url}/ui/workers#code=${code}`);
    process.env.PATH = PATH;
    expect(why).toBeUndefined();
    // On a busy machine the program may still be starting when it no longer counts as one that fails.
    const file = join(dir, "opened");
    const opened = await until("it is opened", () => {
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      return text.endsWith("\n") ? text.trim() : undefined;
    });
    const context = await at.browser.newContext();
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    await page.goto(opened);
    await page.getByRole("heading", { name: "Workers" }).waitFor();
    expect(page.url()).toBe(`${at.url}/ui/workers`);
    await context.close();
  });
});
