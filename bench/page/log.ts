// `npm run bench:page:log`: how long a reader waits for the end of a large log, and what following costs
// (ui.md#d6). A real Drover runs the commands. Prints what it measures.
// Defaults: -- --gib 1 --opens 5 --minutes 10 --kib 1024 (a second).
import { availableParallelism, cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { type Drover, startDrover } from "../drover.ts";
import { percentile } from "../table.ts";
import { memoryOf } from "./memory-of-page.ts";

const CHROMIUM = "/usr/bin/chromium";
/** How long the run that writes the large log may take. */
const WRITTEN_WITHIN_MS = 600_000;
const MINUTE_MS = 60_000;
const LINE = 100;

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({
  options: { gib: text("1"), opens: text("5"), minutes: text("10"), kib: text("1024") },
});

const load = loadavg().map((one) => one.toFixed(2));
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const [drover, browser] = await Promise.all([
  startDrover(),
  chromium.launch({ executablePath: CHROMIUM, args }),
]);
try {
  await measureOpening(drover, browser, Number(values.gib) * 2 ** 30, Number(values.opens));
  await measureFollowing(drover, browser, Number(values.minutes), Number(values.kib));
  const machine = `${availableParallelism()} × ${cpus()[0]?.model}; Node ${process.versions.node}`;
  console.log(`${machine}; load before ${load.join(" ")}`);
} finally {
  await browser.close();
  await drover.stop();
}

/** Opens the page of a run whose log is complete, and waits until its last line is visible. */
async function measureOpening(
  { call, url, token }: Drover,
  browser: Browser,
  bytes: number,
  opens: number,
): Promise<void> {
  const script = `yes "$(printf 'x%.0s' $(seq ${LINE - 1}))" | head -c ${bytes - LINE}; echo the end; exit 1`;
  const { id } = await call<{ id: string }>("POST", "/v1/runs", { argv: ["sh", "-c", script] });
  for (const late = performance.now() + WRITTEN_WITHIN_MS; performance.now() < late; ) {
    const path = `/v1/runs/${id}?wait=30s&state=done`;
    if ((await call<{ finishedAt: string | null }>("GET", path)).finishedAt !== null) break;
  }
  const times: number[] = [];
  let fetched = 0;
  for (let n = 0; n < opens; n += 1) {
    const page = await signedIn(browser, url, token);
    await page.goto(`${url}/ui/runs`);
    await page.getByRole("link", { name: id, exact: true }).waitFor();
    const counted = await countedBytes(page);
    const beganAt = performance.now();
    await page.getByRole("link", { name: id, exact: true }).click();
    await page.locator(".log-row", { hasText: "the end" }).waitFor();
    times.push(performance.now() - beganAt);
    fetched = counted();
    await page.context().close();
  }
  const span = [percentile(times, 0.5), Math.max(...times)].map((ms) => `${ms.toFixed(0)} ms`).join(", ");
  console.log(`a log of ${(bytes / 2 ** 30).toFixed(2)} GiB, from the click to its last line (n = ${opens})`);
  console.log(`  p50, max: ${span}; fetched of the log: ${(fetched / 1024).toFixed(0)} KiB`);
}

/** Follows a run that writes without an end, and looks at the memory of the page each minute. */
async function measureFollowing(
  { call, url, token }: Drover,
  browser: Browser,
  minutes: number,
  kib: number,
): Promise<void> {
  /** The length of the log by now. */
  const length = async () => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}/v1/runs/${id}/logs/main/stdout`, { method: "HEAD", headers });
    return Number(answer.headers.get("content-length"));
  };
  const part = `yes "$(printf 'y%.0s' $(seq ${LINE - 1}))" | head -c ${Math.round((kib * 1024) / 10)}`;
  const argv = ["sh", "-c", `while :; do ${part}; sleep 0.1; done`];
  const { id } = await call<{ id: string }>("POST", "/v1/runs", { argv });
  const page = await signedIn(browser, url, token);
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Performance.enable");
  await page.goto(`${url}/ui/runs/${id}?tab=log`);
  await page.locator(".log-row").first().waitFor();
  console.log(
    `following ${kib} KiB a second: minute, MiB on the heap after a collection, nodes, bytes so far`,
  );
  for (let minute = 0; minute <= minutes; minute += 1) {
    if (minute > 0) await sleep(MINUTE_MS);
    const { heapMib, nodes } = await memoryOf(devTools);
    const mib = (await length()) / 2 ** 20;
    console.log(`  ${minute}: ${heapMib.toFixed(0)}, ${nodes}, ${mib.toFixed(0)} MiB`);
  }
  await call("POST", `/v1/runs/${id}/abort`, {});
}

/** Counts the bytes of output that the page gets from now on. */
async function countedBytes(page: Page): Promise<() => number> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Network.enable");
  const ofLogs = new Set<string>();
  let bytes = 0;
  devTools.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (request.url.includes("/logs/")) ofLogs.add(requestId);
  });
  devTools.on("Network.dataReceived", ({ requestId, dataLength }) => {
    if (ofLogs.has(requestId)) bytes += dataLength;
  });
  return () => bytes;
}

/** A page in a browser context of its own, with a session. */
async function signedIn(browser: Browser, url: string, token: string): Promise<Page> {
  const context = await browser.newContext();
  const answer = await context.request.post(`${url}/ui/session`, { data: { token } });
  if (!answer.ok()) throw new Error(`signing in to the page answered ${answer.status()}`);
  return await context.newPage();
}
