// `npm run bench:page`: how long a reader waits for the page, with 10,000 live runs, 1,000 workers and 500
// changes a second (ui.md#under-load). Prints what it measures, and fails if the budget is not kept.
// Defaults: -- --seconds 60 --live 10000 --workers 1000 --changes 500 --seed 1.
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { type CDPSession, chromium, type Page } from "playwright-core";
import { percentile, rowOf, tableOf } from "../table.ts";
import { type Done, longTasksOf, timesOf } from "./acts.ts";
import { type Feed, startFeed } from "./feed.ts";
import { memoryOf } from "./memory-of-page.ts";
import { PROBE, type Seen, takeSeen } from "./probe.ts";
import { type Act, ROUND } from "./reader.ts";

const CHROMIUM = "/usr/bin/chromium";
/** From a key or click to the next paint, at the 95th percentile. */
const BUDGET_MS = 100;
/** A reader looks this long before doing the next thing. */
const LOOK_MS = 250;
/** After the last act: the browser's reports of interactions arrive late. */
const LAST_REPORTS_MS = 2_000;

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({
  options: {
    seconds: text("60"),
    live: text("10000"),
    workers: text("1000"),
    changes: text("500"),
    seed: text("1"),
  },
});

const load = loadavg().map((one) => one.toFixed(2));
const feed = await startFeed({
  live: Number(values.live),
  ended: 1_000,
  workers: Number(values.workers),
  changesPerSecond: Number(values.changes),
  seed: Number(values.seed),
});
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: CHROMIUM, args });
try {
  const page = await browser.newPage();
  await page.addInitScript(PROBE);
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Performance.enable");
  await page.goto(`${feed.url}/ui/runs`);
  await page.locator(".stream.live").waitFor();
  const measured = await measure(page, devTools, Number(values.seconds));
  const isKept = report(measured, feed);
  if (!isKept) process.exitCode = 1;
} finally {
  await browser.close();
  await feed.stop();
}

/** All that was measured. */
interface Measured {
  done: Done[];
  seen: Seen[];
  /** After each round: MiB that live on the heap, and nodes of the document. */
  memory: { heapMib: number; nodes: number }[];
}

async function measure(page: Page, devTools: CDPSession, seconds: number): Promise<Measured> {
  const measured: Measured = { done: [], seen: [], memory: [] };
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
    for (const one of ROUND) await doOne(page, one, measured);
    // Memory is read after a collection of garbage that the page did not ask for.
    await begins(page, measured, {});
    measured.memory.push(await memoryOf(devTools));
  }
  await page.waitForTimeout(LAST_REPORTS_MS);
  measured.seen.push(await takeSeen(page));
  return measured;
}

async function doOne(page: Page, { kind, isScroll, begin, act }: Act, measured: Measured): Promise<void> {
  if (begin) {
    await begins(page, measured, {});
    await begin(page);
  }
  await begins(page, measured, isScroll ? { kind, isScroll } : { kind });
  await act(page);
  await page.waitForTimeout(LOOK_MS);
}

async function begins(page: Page, { done, seen }: Measured, what: Omit<Done, "from">): Promise<void> {
  const one = await takeSeen(page);
  seen.push(one);
  done.push({ ...what, from: one.now });
}

/** Prints the measurement. Returns whether the budget is kept, and every answer of the feed fitted. */
function report({ done, seen, memory }: Measured, feed: Feed): boolean {
  const { asked, faults, world } = feed;
  const byKind = timesOf(done, seen);
  const longTasks = longTasksOf(done, seen);
  const draws = seen.flatMap((one) => one.draws);
  const all = [...byKind].filter(([kind]) => kind !== "scroll").flatMap(([, times]) => times);
  const rows = [...byKind].map(([kind, times]) => rowOf(kind, "ms", times));
  console.log(tableOf([...rows, rowOf("all but scrolling", "ms", all, `p95 ≤ ${BUDGET_MS} ms`)]));
  const span = (numbers: number[]) =>
    [numbers[0], percentile(numbers, 0.5), numbers.at(-1)].map(round).join(", ");
  const most = (numbers: number[]) => Math.max(0, ...numbers);
  const longest = `p95 ${round(percentile(longTasks, 0.95))} ms, at most ${round(most(longTasks))} ms`;
  const machine = `${availableParallelism()} × ${cpus()[0]?.model}; Node ${process.versions.node}`;
  console.log(`
long tasks: ${longTasks.length}, ${longest}
draws in a frame: ${most(draws)} at most, in ${draws.length} frames that drew rows
MiB on the heap after a collection (first, p50, last): ${span(memory.map(({ heapMib }) => heapMib))}
nodes (first, p50, last): ${span(memory.map(({ nodes }) => nodes))}
changes: ${world.number}; requests: ${asked.length}
${machine}; load before ${load.join(" ")}`);
  for (const fault of faults) console.error(fault);
  return percentile(all, 0.95) <= BUDGET_MS && faults.length === 0;
}

function round(value: number | undefined): string {
  return (value ?? Number.NaN).toFixed(0);
}
