// `npm run pictures`: the pictures of the dashboard in docs/pictures, of a Drover that runs real things.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { cacheDir, root } from "../env.mjs";
import { drover, started } from "./drover.mjs";
import { check, isOpen, killProcessesWith, until } from "./expect.mjs";

const CHROMIUM = "/usr/bin/chromium";
const FOLDER = join(root, "docs/pictures");
const WITHIN_MS = 60_000;
/** A test suite that fails, as somebody would read it. */
const SUITE = `printf '\\033[32m✓\\033[0m GET /users answers with a page\\n'
printf '\\033[32m✓\\033[0m GET /users/1 answers with one\\n'
printf '\\033[31m✗\\033[0m POST /users keeps the address\\n    expected 201, got 500\\n'
printf '\\033[31m✗\\033[0m DELETE /users/1 needs a token\\n    expected 401, got 204\\n'
printf '\\n\\033[31m2 failed\\033[0m, 2 passed\\n'
exit 1`;
const SIZE = { width: 1280, height: 640 };
/** What all pictures may have together: everybody who clones the repository gets them. */
const MAX_BYTES = 1_000_000;

/** Each picture: its name, the page, what must be visible in it, and the heading before which it ends. */
const PICTURES = [
  { name: "now", path: "/ui", shows: "deploy-docs" },
  { name: "runs", path: "/ui/runs", shows: "train-3" },
  { name: "run", path: "/ui/runs/test-api?tab=log", shows: "2 failed" },
  { name: "pool", path: "/ui/pools/default?range=1h", shows: "running", before: "Configuration" },
  { name: "worker", path: (worker) => `/ui/workers/${worker}`, shows: "ready" },
];

mkdirSync(cacheDir, { recursive: true });
const scratch = mkdtempSync(join(cacheDir, "pictures-"));
const stateDir = join(scratch, ".drover");
const up = drover(scratch, ["up", "--state", stateDir, "--machines", "3", "--vcpus", "4"], { quiet: true });
try {
  const context = await until("`drover up` has started", WITHIN_MS, contextOf);
  const worker = await runThings(context);
  mkdirSync(FOLDER, { recursive: true });
  await takeAll(context, worker);
} finally {
  up.child.kill("SIGINT");
  await Promise.race([up.ended, new Promise((done) => setTimeout(done, 20_000))]);
  for (const { child } of started) child.kill("SIGKILL");
  killProcessesWith(stateDir);
  rmSync(scratch, { recursive: true, force: true });
}
const bytes = readdirSync(FOLDER).reduce((sum, name) => sum + statSync(join(FOLDER, name)).size, 0);
check(bytes <= MAX_BYTES, `The pictures have ${bytes} bytes; ${MAX_BYTES} are allowed. Show less in them.`);
console.log(`${readdirSync(FOLDER).length} pictures, ${(bytes / 1_024).toFixed(0)} KiB, in docs/pictures`);

/** The address and the token, once Drover listens. */
async function contextOf() {
  check(up.child.exitCode === null, `\`drover up\` ended: ${up.output}`);
  try {
    const context = JSON.parse(readFileSync(join(stateDir, "context.json"), "utf8"));
    return (await isOpen(Number(new URL(context.url).port))) ? context : undefined;
  } catch {
    return undefined;
  }
}

/** Runs what the pictures show: what ends well and badly, runs, and waits. Returns a busy worker. */
async function runThings(context) {
  const submit = async (id, script, more) => {
    await call(context, "POST", "/v1/runs", { id, argv: ["sh", "-c", script], ...more });
  };
  const core = { labels: { team: "core" } };
  await submit("build-web", "echo bundling; echo done", core);
  await submit("lint", "echo no faults", core);
  await submit("test-api", 'eval "$SUITE"', { ...core, env: { SUITE } });
  await submit("deploy-docs", "exit 4", { labels: { team: "docs" } });
  for (const id of ["build-web", "lint", "test-api", "deploy-docs"]) {
    await until(`${id} has ended`, WITHIN_MS, async () => (await runOf(context, id)).finishedAt !== null);
  }
  const tasks = [
    { name: "db", lifecycle: { hook: "prestart", sidecar: true }, argv: ["sleep", "600"] },
    { name: "web", argv: ["sleep", "600"] },
  ];
  await call(context, "POST", "/v1/runs", { id: "preview-17", tasks, labels: { team: "web" } });
  for (let n = 1; n <= 5; n += 1) {
    const resources = { vcpus: 3 };
    await submit(`train-${n}`, "echo epoch 1; exec sleep 600", { resources, labels: { team: "ml" } });
  }
  await until("three machines work", WITHIN_MS, async () => {
    const { items } = await call(context, "GET", "/v1/workers?state=running");
    return items.filter(({ runs }) => runs.length > 0).length === 3;
  });
  const { worker } = (await call(context, "GET", "/v1/runs?prefix=train-1")).items[0];
  return worker;
}

async function runOf(context, id) {
  return await call(context, "GET", `/v1/runs/${id}`);
}

async function call({ url, token }, method, path, body) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const answer = await fetch(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) });
  check(answer.ok, `${method} ${path} answered ${answer.status}: ${await answer.clone().text()}`);
  return await answer.json();
}

/** Takes each picture in both themes. */
async function takeAll({ url, token }, worker) {
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  try {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport: SIZE, colorScheme, reducedMotion: "reduce" });
      await context.request.post(`${url}/ui/session`, { data: { token } });
      const page = await context.newPage();
      for (const { name, path, shows, before } of PICTURES) {
        await page.goto(`${url}${typeof path === "string" ? path : path(worker)}`);
        await page.locator("main").getByText(shows).filter({ visible: true }).first().waitFor();
        await page.locator(".stale").waitFor({ state: "detached" });
        const height = before === undefined ? SIZE.height : await topOf(page, before);
        const clip = { x: 0, y: 0, width: SIZE.width, height };
        await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`), clip });
      }
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

/** Where a heading begins, in pixels from the top; the height of a picture if it is further down. */
async function topOf(page, name) {
  const box = await page.getByRole("heading", { name, exact: true }).boundingBox();
  return Math.min(SIZE.height, Math.floor(box?.y ?? SIZE.height));
}
