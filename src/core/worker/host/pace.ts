// How much may one host send, and what does a report cost? A token bucket, in units.

import type { Instant, Millis } from "../../../shared/machine.ts";
import { type Bucket, HOST_UNITS } from "../../../shared/tunnel/host-units.ts";
import type { WorkerMemo, WorkerRecord } from "../state.ts";

/**
 * A call costs one unit, and one more unit for each `BYTES_A_UNIT` of its body. It costs more if other
 * objects must be asked about it.
 */
export const BYTES_A_UNIT = 32 * 1024;
/** The price of a start of the agent, or of a new socket. */
export const UNITS_OF_A_START = 10;
/** The price of asking an allocation about a stranger (a reported placement without a row). */
export const UNITS_OF_A_STRANGER = 20;
/** The price of asking an allocation about retained data. */
export const UNITS_OF_A_KEPT = 5;
/** The price of a change that becomes an event of the worker, and usually must be sent to its pool. */
export const UNITS_OF_AN_EVENT = 10;

/** The units that a host or its clients may spend, as of an instant. */
export interface Pace {
  units: number;
  at: Instant;
}

/** The full bucket. */
export function fullPace(now: Instant, { most }: Bucket = HOST_UNITS): Pace {
  return { units: most, at: now };
}

/** Units for a call of this many bytes. */
export function unitsOf(bytes: number): number {
  return 1 + bytes / BYTES_A_UNIT;
}

/**
 * Charges a call if any units are left, even if the call costs more than is left. `waitMs`: how long the
 * sender must wait before it tries again; 0: accepted.
 */
export function chargeCall(
  pace: Pace,
  units: number,
  now: Instant,
  { aSecond, most }: Bucket = HOST_UNITS,
): { pace: Pace; waitMs: Millis } {
  // A clock that went back does not change the units.
  const gained = (Math.max(0, now - pace.at) / 1_000) * aSecond;
  const left = Math.min(most, pace.units + gained);
  if (left <= 0) return { pace: { units: left, at: now }, waitMs: Math.ceil(((1 - left) / aSecond) * 1_000) };
  return { pace: { units: left - units, at: now }, waitMs: 0 };
}

/** Charges extra units, for messages to other objects. */
export function chargeExtra({ units, at }: Pace, more: number): Pace {
  return { units: units - more, at };
}

/** Units for the questions to allocations that a report causes for the first time. */
export function costOfQuestions(
  before: Pick<WorkerMemo, "reported" | "retained">,
  after: Pick<WorkerMemo, "reported" | "retained">,
): number {
  const strangers = Object.entries(after.reported).filter(([key, { stranger }]) => {
    return stranger === true && before.reported[key]?.stranger !== true;
  });
  const retained = Object.keys(after.retained).filter((key) => before.retained[key] === undefined);
  return strangers.length * UNITS_OF_A_STRANGER + retained.length * UNITS_OF_A_KEPT;
}

/** Units for a change of the worker's stored and shown state. */
export function costOfNews(before: WorkerRecord, after: WorkerRecord): number {
  const { events, protocol, engine, clockSkewMs } = before;
  const isNews =
    events !== after.events ||
    protocol !== after.protocol ||
    engine !== after.engine ||
    clockSkewMs !== after.clockSkewMs;
  return isNews ? UNITS_OF_AN_EVENT : 0;
}
