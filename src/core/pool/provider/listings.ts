// When does a pool ask its provider which machines exist?
import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { awaitsPrices } from "../plan/prices.ts";
import type { WorkerRow } from "../record.ts";
import { isRemoved, type ReadonlyConfigured } from "../state.ts";
import { awaitsCredentials, listHeldUntil } from "./hold-offs.ts";

/** The interval of listings while there should be no machine (messages.md#self-repair). */
const SWEEP_EMPTY_MS = 3_600_000;

/**
 * When the next listing is due. The interval is `sync.interval` while no machine is ending, and
 * `timeouts.shutdown` while all machines are ending. While only some machines are ending, the shorter
 * interval applies. Undefined: no machine is expected.
 */
export function sweepAt(state: ReadonlyConfigured): Instant | undefined {
  const { memo, record, workers } = state;
  const { sync, timeouts } = record.config;
  const { some, ending } = workers.derive(toBeListed);
  if (!some) {
    const looks = awaitsCredentials(record) || awaitsPrices(record);
    return looks ? nextLook(state) : lateSweepAt(state);
  }
  const often = durationMs(sync.interval);
  const interval = ending === "no" ? often : durationMs(timeouts.shutdown);
  const next = (memo.sweptAt ?? 0) + (ending === "some" ? Math.min(interval, often) : interval);
  return Math.max(next, listHeldUntil(record));
}

/**
 * When a pool without machines looks whether its credentials are accepted again (clouds.md#auth), or what
 * its types cost (pool.md#prices).
 */
function nextLook({ memo, record }: ReadonlyConfigured): Instant {
  return Math.max((memo.sweptAt ?? 0) + durationMs(record.config.sync.interval), listHeldUntil(record));
}

/**
 * When an empty pool next looks for a machine that it has given up, but that may still appear. Undefined:
 * never.
 */
function lateSweepAt(state: ReadonlyConfigured): Instant | undefined {
  const { record } = state;
  const { lateUntil } = record;
  if (lateUntil === undefined || isRemoved(state)) return undefined;
  const sweptAt = emptySweptAt(state);
  const next = sweptAt + durationMs(record.config.sync.interval);
  return Math.max(sweptAt < lateUntil ? Math.min(next, lateUntil) : next, listHeldUntil(record));
}

/** When the provider last listed its machines. For an empty pool, this time survives a restart. */
function emptySweptAt({ memo, record }: ReadonlyConfigured): Instant {
  return Math.max(memo.sweptAt ?? 0, record.emptySweptAt ?? 0);
}

/**
 * Whether the provider may have machines of these workers, and whether none, some or all of the machines are
 * ending.
 */
function toBeListed(workers: readonly WorkerRow[]): { some: boolean; ending: "no" | "some" | "all" } {
  const listed = workers.filter((row) => row.kind === "cloud" && row.phase !== "asked");
  const count = listed.filter((row) => row.phase === "shutdown").length;
  return { some: listed.length > 0, ending: count === 0 ? "no" : count < listed.length ? "some" : "all" };
}

/** Whether a listing is due now. */
export function isSweepDue(state: ReadonlyConfigured, now: Instant): boolean {
  if (isRemoved(state) || state.record.config.provider.kind === "none") return false;
  // If no machine is expected, no alarm is set for the hourly listing: a poke by cron triggers the listing.
  const nothing = Math.max(emptySweptAt(state) + SWEEP_EMPTY_MS, listHeldUntil(state.record));
  return now >= (sweepAt(state) ?? nothing);
}
