import {
  BYTES_A_UNIT,
  HOST_UNITS_A_SECOND,
  MAX_HOST_UNITS,
  UNITS_OF_A_KEPT,
  UNITS_OF_A_STRANGER,
  UNITS_OF_AN_EVENT,
} from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { WorkerMemo, WorkerRecord } from "../state.ts";

/** What a host may still say, in units, as of an instant: a bucket that fills by itself. */
export interface Pace {
  units: number;
  at: Instant;
}

/** Of a host that has said nothing for a while. */
export function restedPace(now: Instant): Pace {
  return { units: MAX_HOST_UNITS, at: now };
}

/** What a call of so many bytes costs, in units. */
export function unitsOf(bytes: number): number {
  return 1 + bytes / BYTES_A_UNIT;
}

/**
 * Whether a host may say something now. A host that has units left may overdraw them by one call: the next
 * has to wait. `waitMs`: for how long, if this one has to; 0: it is taken, and paid for.
 */
export function paced(pace: Pace, units: number, now: Instant): { pace: Pace; waitMs: Millis } {
  // A clock that went back gives nothing, and takes nothing.
  const gained = (Math.max(0, now - pace.at) / 1_000) * HOST_UNITS_A_SECOND;
  const left = Math.min(MAX_HOST_UNITS, pace.units + gained);
  if (left <= 0) return { pace: { units: left, at: now }, waitMs: waitOf(1 - left) };
  return { pace: { units: left - units, at: now }, waitMs: 0 };
}

/** What it costs more, because others are asked for it. */
export function charged({ units, at }: Pace, more: number): Pace {
  return { units: units - more, at };
}

function waitOf(units: number): Millis {
  return Math.ceil((units / HOST_UNITS_A_SECOND) * 1_000);
}

/** The units that a report costs because allocations are asked that this worker has nothing to do with. */
export function costOfAsks(
  before: Pick<WorkerMemo, "reported" | "kept">,
  after: Pick<WorkerMemo, "reported" | "kept">,
): number {
  const strangers = Object.entries(after.reported).filter(([key, { stranger }]) => {
    return stranger === true && before.reported[key]?.stranger !== true;
  });
  const kept = Object.keys(after.kept).filter((key) => before.kept[key] === undefined);
  return strangers.length * UNITS_OF_A_STRANGER + kept.length * UNITS_OF_A_KEPT;
}

/** The units that a report costs because it changes what is stored and shown of its worker. */
export function costOfNews(before: WorkerRecord, after: WorkerRecord): number {
  const isNews = before.events !== after.events || before.acts !== after.acts;
  return isNews ? UNITS_OF_AN_EVENT : 0;
}
