import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { type Allowed, type Server, startServer } from "../../edge/support/server.ts";

const CHROMIUM = "/usr/bin/chromium";
/** Whether this machine has the browser: `describe.skipIf(!hasBrowser)`. */
export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser) {
  process.stderr.write(
    `the tests of the dashboard are skipped: they need ${CHROMIUM} (apt-get install chromium)\n`,
  );
}

/** How the browser is started. */
export const CHROMIUM_OPTIONS = {
  executablePath: CHROMIUM,
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
};

/** How long a page may take on a busy machine until it shows what a test waits for. */
export const PATIENCE_MS = 90_000;

/** A Drover with machines, and a browser. */
export interface Dashboard extends Server {
  browser: Browser;
  /** A page in a browser of its own, signed in. Faults of the page fail the test that closes it. */
  open(path: string, options?: Parameters<Browser["newContext"]>[0]): Promise<OpenPage>;
  /** The same, signed in with another token than that of the deployment. */
  openAs(token: string, path: string): Promise<OpenPage>;
  /** The same, without a session. */
  openOutside(path: string): Promise<OpenPage>;
  /** Submits a run of a shell command, and resolves with its id. */
  run(script: string, more?: Record<string, unknown>): Promise<string>;
  /** Starts a run that needs the whole machine, so that all others wait. Resolves with its id. */
  fill(): Promise<string>;
  /** Waits until a run is in one of these states. */
  until(id: string, state: string): Promise<void>;
}

/** A page, and what went wrong in it. */
export interface OpenPage {
  page: Page;
  context: BrowserContext;
  /** The paths with queries that the page has asked for, in order. */
  asked: string[];
  /** Closes the browser context. Rejects if the page logged an error or broke its policy. */
  close(): Promise<void>;
}

/** Starts both. */
export async function startDashboard(allowed: Allowed = {}): Promise<Dashboard> {
  const [server, browser] = await Promise.all([startServer(allowed), chromium.launch(CHROMIUM_OPTIONS)]);
  const openIn = async (context: BrowserContext, path: string): Promise<OpenPage> => {
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const faults: string[] = [];
    const asked: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
      // A refusal is an answer like others, which the browser reports by itself. So is 503 on a busy machine,
      // after which the page asks again.
      const isRefusal = /status of (4\d\d|503)/.test(message.text());
      if (message.type() === "error" && !isRefusal) faults.push(message.text());
    });
    page.on("request", (request) => asked.push(request.url().slice(server.url.length)));
    await page.goto(`${server.url}${path}`);
    return {
      page,
      context,
      asked,
      async close() {
        await context.close();
        expect(faults, faults.join("; ")).toEqual([]);
      },
    };
  };
  const signedIn = async (token: string, options?: Parameters<Browser["newContext"]>[0]) => {
    const context = await browser.newContext(options);
    const answer = await context.request.post(`${server.url}/ui/session`, { data: { token } });
    expect(answer.status()).toBe(204);
    return context;
  };
  const run: Dashboard["run"] = async (script, more = {}) => {
    const spec = { argv: ["sh", "-c", script], ...more };
    return (await server.json(201, "POST", "/v1/runs", spec)).id;
  };
  const until: Dashboard["until"] = async (id, state) => {
    for (;;) {
      const { state: now } = await server.json(200, "GET", `/v1/runs/${id}?wait=30s&state=${state}`);
      if (now === state || (state === "done" && !["pending", "running"].includes(now))) return;
    }
  };
  return {
    ...server,
    browser,
    run,
    until,
    async open(path, options) {
      return await openIn(await signedIn(server.token, options), path);
    },
    async openAs(token, path) {
      return await openIn(await signedIn(token), path);
    },
    async openOutside(path) {
      return await openIn(await browser.newContext(), path);
    },
    async fill() {
      const id = await run("sleep 1000", { resources: { vcpus: 4 } });
      await until(id, "running");
      return id;
    },
    async stop() {
      await browser.close();
      await server.stop();
    },
  };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** What the page lacks for people who see little or use no mouse (WCAG AA), by axe-core. */
export async function barriersOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const run = `axe.run({ runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) => violations)`;
  const violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] =
    await page.evaluate(run);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}
