// What does the picture of the fleet ask for? Documented routes alone, each read as far as it is needed.
import type { GoneWorker, ListedWorker, PoolSample } from "../../src/generated/api.ts";
import { ask } from "../api/send.ts";
import { droverNow } from "../store/clock.ts";
import { REACH_MS } from "./past/looks.ts";
import type { Span } from "./past/machine.ts";
import type { Placements } from "./past/use.ts";

/** The most answers of a list that are read: 5,000 machines. */
const MOST_PAGES = 5;
const PAGE = 1_000;
/** How often the time is halved if its history is more than one answer has. */
const MOST_HALVINGS = 5;

/** All that the picture is made from. `isWhole` is false if there are more machines than are read. */
export interface FleetRead {
  span: Span;
  samples: PoolSample[];
  live: ListedWorker[];
  gone: GoneWorker[];
  placements: Placements;
  isWhole: boolean;
}

/**
 * Reads what is needed for the latest `lengthMs` of a pool. `before`: samples in order that are known from an
 * earlier reading of the same time; only later ones are asked for.
 */
export async function readFleet(
  name: string,
  lengthMs: number,
  before: readonly PoolSample[],
  signal: AbortSignal,
): Promise<FleetRead> {
  // The machines come before the history, so that each of their runs has been placed when it is read.
  const live = await readLive(name, signal);
  const toMs = droverNow();
  const span = { fromMs: toMs - lengthMs, toMs };
  const [gone, samples, placements] = await Promise.all([
    readGone(name, span, signal),
    readSamples(name, span, before, signal),
    readPlacements(name, span, signal),
  ]);
  const isWhole = live.isWhole && gone.isWhole;
  return { span, samples, live: live.items, gone: gone.items, placements, isWhole };
}

async function readLive(
  pool: string,
  signal: AbortSignal,
): Promise<{ items: ListedWorker[]; isWhole: boolean }> {
  const items: ListedWorker[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await ask("listWorkers", { query: { pool, limit: PAGE, cursor } }, signal);
    // A list of workers has those that ended lately, too: their ends and costs are in the list of gone ones.
    items.push(...answer.items.filter(({ state }) => state !== "gone"));
    if (answer.next === null) return { items, isWhole: true };
    cursor = answer.next;
  }
  return { items, isWhole: false };
}

/** The machines that are gone since the beginning of the span, the latest first. */
export async function readGone(
  name: string,
  { fromMs }: Pick<Span, "fromMs">,
  signal: AbortSignal,
): Promise<{ items: GoneWorker[]; isWhole: boolean }> {
  const since = new Date(fromMs).toISOString();
  const items: GoneWorker[] = [];
  let until: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = { since, until, limit: PAGE };
    const answer = await ask("listGoneWorkers", { path: { name }, query }, signal);
    items.push(...answer.items);
    if (answer.next === null) return { items, isWhole: true };
    until = answer.next;
  }
  return { items, isWhole: false };
}

async function readSamples(
  name: string,
  { fromMs, toMs }: Span,
  before: readonly PoolSample[],
  signal: AbortSignal,
): Promise<PoolSample[]> {
  // A look before the span reaches into it.
  const firstMs = fromMs - REACH_MS;
  const items = before.filter(({ at }) => Date.parse(at) >= firstMs);
  const last = items.at(-1);
  let since: string | null = new Date(last === undefined ? firstMs : Date.parse(last.at) + 1).toISOString();
  const until = new Date(toMs + 1).toISOString();
  while (since !== null && since < until) {
    const answer: { items: PoolSample[]; next: string | null } = await ask(
      "listPoolSamples",
      { path: { name }, query: { since, until } },
      signal,
    );
    items.push(...answer.items);
    since = answer.next;
  }
  return items;
}

/**
 * The placements of the span. An answer has a bound and begins with the oldest: if the span has more, its
 * latest half is asked for, and so on. What is before that stays unknown.
 */
async function readPlacements(name: string, span: Span, signal: AbortSignal): Promise<Placements> {
  let sinceMs = span.fromMs;
  for (let halving = 0; ; halving += 1) {
    const since = new Date(sinceMs).toISOString();
    const answer = await ask("getPoolHistory", { path: { name }, query: { since } }, signal);
    if (answer.next === null) {
      // Older runs may have been forgotten by then.
      const completeMs = Math.min(Date.parse(answer.completeSince), span.toMs);
      return { sinceMs: Math.max(sinceMs, completeMs), readMs: span.toMs, items: answer.items };
    }
    if (halving === MOST_HALVINGS) return { sinceMs: span.toMs, readMs: span.toMs, items: [] };
    sinceMs = span.toMs - (span.toMs - sinceMs) / 2;
  }
}
