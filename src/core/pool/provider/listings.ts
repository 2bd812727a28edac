import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { WorkerRow } from "../record.ts";
import { isRemoved, type ReadonlyConfigured } from "../state.ts";
import { listHeldUntil } from "./hold-offs.ts";

/** How often the provider is asked what exists while nothing should (messages.md#self-repair). */
const SWEEP_EMPTY_MS = 3_600_000;

/** When the provider is to be asked next what exists. Sooner while a machine is to disappear. */
export function sweepAt(state: ReadonlyConfigured): Instant | undefined {
  const { memo, record, workers } = state;
  const { sync, timeouts } = record.config;
  const { some, ending } = workers.derive(toBeListed);
  if (!some) return lateSweepAt(state);
  const often = durationMs(sync.interval);
  const interval = ending === "no" ? often : durationMs(timeouts.shutdown);
  const next = (memo.sweptAt ?? 0) + (ending === "some" ? Math.min(interval, often) : interval);
  return Math.max(next, listHeldUntil(record));
}

/** When an empty pool looks next for a machine that was given up unseen; undefined: none is awaited. */
function lateSweepAt(state: ReadonlyConfigured): Instant | undefined {
  const { record } = state;
  const { lateUntil } = record;
  if (lateUntil === undefined || isRemoved(state)) return undefined;
  const sweptAt = emptySweptAt(state);
  const next = sweptAt + durationMs(record.config.sync.interval);
  return Math.max(sweptAt < lateUntil ? Math.min(next, lateUntil) : next, listHeldUntil(record));
}

/** When the provider was last asked what exists; of an empty pool that outlives a restart. */
function emptySweptAt({ memo, record }: ReadonlyConfigured): Instant {
  return Math.max(memo.sweptAt ?? 0, record.emptySweptAt ?? 0);
}

/** Whether a provider may have any of these machines, and whether some or all of those are ending. */
function toBeListed(workers: readonly WorkerRow[]): { some: boolean; ending: "no" | "some" | "all" } {
  const listed = workers.filter((row) => row.kind === "cloud" && row.phase !== "asked");
  const count = listed.filter((row) => row.phase === "shutdown").length;
  return { some: listed.length > 0, ending: count === 0 ? "no" : count < listed.length ? "some" : "all" };
}

/** Whether the provider is to be asked now what exists. */
export function isSweepDue(state: ReadonlyConfigured, now: Instant): boolean {
  if (isRemoved(state)) return false;
  // While nothing lives no alarm is armed for it: the cron trigger's poke, or whoever else comes, brings it
  // about.
  const nothing = Math.max(emptySweptAt(state) + SWEEP_EMPTY_MS, listHeldUntil(state.record));
  return now >= (sweepAt(state) ?? nothing);
}
