// What does a pool tell of its hours (api.md#past-of-a-pool)?
import type {
  PoolSamples,
  PoolTallies,
  PoolTally,
  PoolSample as ShownSample,
} from "../../../schema/pool/past.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { Counts } from "../../histogram.ts";
import type { ReadonlyConfigured } from "../state.ts";
import type { Span } from "./history.ts";
import { FAILED_EXITS, type HourRow, type PoolSample } from "./hour-record.ts";
import { grownIn, HOUR_MS } from "./hours.ts";

/** The hours of a span, oldest first: those that are stored, and the one that is open. */
export interface FoundHours {
  stored: readonly HourRow[];
  /** The most hours of one answer. */
  limit: number;
}

/** The samples of a span. An answer ends with a whole hour; `next` is the beginning of the next one. */
export function poolSamples(state: ReadonlyConfigured, span: Span, found: FoundHours): PoolSamples {
  const { hours, next } = hoursOf(state, span, found);
  const all = hours.flatMap(({ samples }) => samples);
  const items = all.filter(({ at }) => at >= span.since && at < span.until).map(shownSample);
  return { items, next };
}

/** What was counted in the hours that began within a span. */
export function poolTallies(state: ReadonlyConfigured, span: Span, found: FoundHours): PoolTallies {
  const { hours, next } = hoursOf(state, span, found);
  return { items: hours.filter(({ at }) => at >= span.since && at < span.until).map(tallyOf), next };
}

type Hour = HourRow & { isOpen: boolean };

/** The hours of one answer. The open one has no row yet. */
function hoursOf({ record }: ReadonlyConfigured, { until }: Span, { stored, limit }: FoundHours) {
  const hours: Hour[] = stored.map((row) => ({ ...row, isOpen: false }));
  const { hour } = record;
  if (hour !== undefined && hour.samples.length > 0 && hour.at < until)
    hours.push({ ...hour, counts: grownIn(hour), isOpen: true });
  const beyond = hours[limit];
  return { hours: hours.slice(0, limit), next: beyond === undefined ? null : iso(beyond.at) };
}

function shownSample(sample: PoolSample): ShownSample {
  const { at, queued, oldestAgeMs, pending, running, machines, filled, perHour, unpriced } = sample;
  return {
    at: iso(at),
    queue: { depth: queued, oldestAgeMs },
    runs: { pending, running },
    workers: machines,
    filled,
    perHour,
    unpriced,
  };
}

function tallyOf({ at, counts, samples, exits, isOpen }: Hour): PoolTally {
  const end: Instant = isOpen ? (samples.at(-1)?.at ?? at) : at + HOUR_MS;
  const of = (name: string) => counts[name] ?? 0;
  const booted = byPrefix(counts, "boot ");
  const ready = booted.success ?? 0;
  return {
    from: iso(at),
    to: iso(end),
    ended: byPrefix(counts, "ended "),
    ...(exits ? { failedExits: of(FAILED_EXITS) } : {}),
    restarts: of("restarts"),
    started: { runs: of("start times"), seconds: of("start seconds") },
    machines: {
      created: of("created success"),
      refused: of("created failure"),
      ready,
      failed: sum(booted) - ready,
      gone: sum(byPrefix(counts, "disappeared ")),
    },
    spent: of("spent"),
  };
}

/** The counts whose names begin so, by the rest of their names. */
function byPrefix(counts: Counts, prefix: string): Counts {
  const found = Object.entries(counts).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(found.map(([name, count]) => [name.slice(prefix.length), count]));
}

function sum(counts: Counts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
