// `npm run bench:page`: how long a reader waits for the page, with 10,000 live runs, 1,000 workers and 500
// changes a second (ui.md#under-load). Prints what it measures, and fails if the budget is not kept.
// Defaults: -- --seconds 60 --live 10000 --workers 1000 --changes 500 --seed 1.
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { type CDPSession, chromium, type Page } from "playwright-core";
import { percentile, type Row, tableOf } from "../table.ts";
import { type Feed, startFeed } from "./feed.ts";
import { memoryOf } from "./memory-of-page.ts";
import { PROBE, takeSeen } from "./probe.ts";
import { type Act, ROUND } from "./reader.ts";

const CHROMIUM = "/usr/bin/chromium";
/** From a key or click to the frame that shows its effect, at the 95th percentile. */
const BUDGET_MS = 100;
/** The browser reports no interaction that is shorter. */
const SHORTEST_MS = 16;
/** A reader looks this long before doing the next thing. */
const LOOK_MS = 250;

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
  await page.locator(".live.live").waitFor();
  const measured = await measure(page, devTools, Number(values.seconds));
  const isKept = report(measured, feed);
  if (!isKept) process.exitCode = 1;
} finally {
  await browser.close();
  await feed.stop();
}

/** All that was measured. */
interface Measured {
  byKind: Map<string, number[]>;
  longTasks: number[];
  draws: number[];
  /** After each round: MiB that live on the heap, and nodes of the document. */
  memory: { heapMib: number; nodes: number }[];
}

async function measure(page: Page, devTools: CDPSession, seconds: number): Promise<Measured> {
  const measured: Measured = { byKind: new Map(), longTasks: [], draws: [], memory: [] };
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
    for (const act of ROUND) {
      const ms = await measureOne(page, act, measured);
      const known = measured.byKind.get(act.kind) ?? [];
      measured.byKind.set(act.kind, [...known, ms]);
    }
    measured.memory.push(await memoryOf(devTools));
    // The collection of garbage was asked for here: it is no part of the page.
    await takeSeen(page);
  }
  return measured;
}

async function measureOne(page: Page, { begin, act, isScroll }: Act, measured: Measured): Promise<number> {
  await begin?.(page);
  const before = await takeSeen(page);
  await act(page);
  await page.waitForTimeout(LOOK_MS);
  const { interactions, longTasks, draws, frames } = await takeSeen(page);
  measured.longTasks.push(...before.longTasks, ...longTasks);
  measured.draws.push(...before.draws, ...draws);
  return Math.max(...(isScroll ? frames : interactions), SHORTEST_MS);
}

/** Prints the measurement. Returns whether the budget is kept, and every answer of the feed fitted. */
function report({ byKind, longTasks, draws, memory }: Measured, feed: Feed): boolean {
  const { asked, faults, world } = feed;
  const all = [...byKind].filter(([kind]) => kind !== "scroll").flatMap(([, times]) => times);
  const rows = [...byKind].map(([kind, times]) => rowOf(kind, times, ""));
  console.log(tableOf([...rows, rowOf("all but scrolling", all, `p95 ≤ ${BUDGET_MS} ms`)]));
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

function rowOf(what: string, times: number[], budget: string): Row {
  const shown = (ms: number) => (ms <= SHORTEST_MS ? `≤ ${SHORTEST_MS} ms` : `${round(ms)} ms`);
  const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)];
  return { what, n: times.length, p50: shown(p50), p95: shown(p95), max: shown(Math.max(...times)), budget };
}

function round(value: number | undefined): string {
  return (value ?? Number.NaN).toFixed(0);
}
