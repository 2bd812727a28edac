// What does a pool keep of each hour, and when does it look (pool.md#hours)?
import type { Instant } from "../../../shared/machine.ts";
import type { Counts } from "../../histogram.ts";
import { shownState } from "../../worker/read/activity.ts";
import { shareOfPrice, spendOf } from "../read/money.ts";
import { capacityOfRow, providedWorkers } from "../record.ts";
import { type Configured, hasLiveRuns, type ReadonlyConfigured } from "../state.ts";
import { FAILED_EXITS, type OpenHour, type PoolSample } from "./hour-record.ts";

const MINUTE_MS = 60_000;
/** How long an hour of a pool is. */
export const HOUR_MS = 3_600_000;
/** How many hours are kept: 30 days. Each has one row, which the same hour 30 days later overwrites. */
export const HOURS_KEPT = 720;

/** More than an hour has only after its clock was set back. */
const MAX_SAMPLES = 60;

/** The counters whose growth in an hour is kept. */
const TALLIED = /^(ended|created|boot|disappeared) |^(restarts|spent|exits failed|start (times|seconds))$/;

/** The open hour of a pool that is made now: all of its counters are 0. */
export function firstHour(now: Instant): OpenHour {
  return { at: hourOf(now), base: {}, seen: {}, samples: [], exits: true };
}

/** The key of an hour's row: its place in a ring, so that the table has a bound and nothing is deleted. */
export function hourKey(at: Instant): string {
  return String((at / HOUR_MS) % HOURS_KEPT).padStart(3, "0");
}

function hourOf(at: Instant): Instant {
  return at - (at % HOUR_MS);
}

/**
 * Looks at the pool: at most one sample a minute, and only while there are live runs or machines of a
 * provider, or when a counter has grown since the last look. An hour that is over is closed with what was
 * seen in it. A pool with nothing to see stays as it is, and so nothing is stored.
 */
export function looked(state: Configured, now: Instant): Configured {
  const counts = tallied(state.memo.counting.counts);
  // What a pool of an earlier version has counted before belongs to no hour.
  const known = state.record.hour ?? { ...firstHour(now), base: counts, seen: counts };
  const open = closedIfOver(state, known, counts, now);
  const isNew = minuteOf(now) !== minuteOf(open.samples.at(-1)?.at ?? 0);
  const isNews = isNew && (isBusy(state) || hasGrown(open.seen, counts));
  if (!isNews) return open === known ? state : { ...state, record: { ...state.record, hour: open } };
  const samples = [...open.samples, sampleOf(state, now)].slice(-MAX_SAMPLES);
  const hour = { ...open, at: Math.max(open.at, hourOf(now)), seen: counts, samples };
  return { ...state, record: { ...state.record, hour } };
}

/** The hour that is open now. The one before is stored, if anything was seen in it. */
function closedIfOver(state: Configured, hour: OpenHour, counts: Counts, now: Instant): OpenHour {
  const { at, seen, samples, exits } = hour;
  if (hourOf(now) <= at || samples.length === 0) return hour;
  const mark = exits === undefined ? {} : { exits };
  state.hours.set(hourKey(at), { at, counts: grownIn(hour), samples, ...mark }, now);
  // An earlier version did not count exit codes: what is counted until now belongs to no hour.
  const base = exits ? seen : { ...seen, [FAILED_EXITS]: counts[FAILED_EXITS] ?? 0 };
  return { at: hourOf(now), base, seen: base, samples: [], exits: true };
}

function minuteOf(at: Instant): number {
  return Math.floor(at / MINUTE_MS);
}

function tallied(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([name]) => TALLIED.test(name)));
}

/** What the counters have grown by in an hour, up to the last look. */
export function grownIn({ base, seen, exits }: OpenHour): Counts {
  const grown = Object.entries(seen)
    .filter(([name]) => exits || name !== FAILED_EXITS)
    .map(([name, count]) => [name, count - (base[name] ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, count]) => count > 0));
}

function hasGrown(base: Counts, counts: Counts): boolean {
  return Object.entries(counts).some(([name, count]) => count > (base[name] ?? 0));
}

/** Whether anything of a pool changes by itself, or costs money. */
function isBusy(state: ReadonlyConfigured): boolean {
  return hasLiveRuns(state) || providedWorkers(state).next().done !== true;
}

function sampleOf(state: ReadonlyConfigured, now: Instant): PoolSample {
  const { queue, placed } = state.memo.index;
  const oldest = queue.reduce((at, { submittedAt }) => Math.min(at, submittedAt), now);
  const machines: Record<string, number> = {};
  let filled = 0;
  for (const row of state.workers.live()) {
    const runs = [...(placed.get(row.worker)?.values() ?? [])];
    const shown = shownState(row.phase, runs.length);
    machines[shown] = (machines[shown] ?? 0) + 1;
    const room = capacityOfRow(row);
    filled += Math.min(
      1,
      runs.reduce((sum, { resources }) => sum + shareOfPrice(resources, room, 1), 0),
    );
  }
  const runs = { pending: 0, running: 0 };
  for (const { state: run } of state.runs.live()) {
    if (run === "pending" || run === "running") runs[run] += 1;
  }
  const { perHour, unpriced } = spendOf(state);
  return {
    at: now,
    queued: queue.length,
    oldestAgeMs: queue.length === 0 ? null : now - oldest,
    ...runs,
    machines,
    filled: Math.round(filled * 1_000) / 1_000,
    perHour,
    unpriced,
  };
}
