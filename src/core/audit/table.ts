// How does an owner store entries of the audit log, and how many does it keep (audit.md#bounds)?
import { AUDIT_KEPT_MS, MAX_AUDIT_ROWS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Rows } from "../rows.ts";
import type { AuditRow, NewEntry } from "./entry.ts";

/** How many numbers there are for each millisecond. */
const NUMBERS_A_MS = 1_000;
/** After how many entries old ones are looked for. */
export const TRIM_EVERY = 500;
const KEY_DIGITS = 17;

/** The key of the entry with this number. Keys sort as numbers do. */
export function auditKey(number: number): string {
  return String(number).padStart(KEY_DIGITS, "0");
}

/** The number of the entry with this key. */
export function numberOfKey(key: string): number {
  return Number(key);
}

/** The lowest number that an entry of this instant can have. */
export function numberAt(at: Instant): number {
  return at * NUMBERS_A_MS;
}

/** The instant at which an entry with this number was stored. */
export function instantOf(number: number): Instant {
  return Math.floor(number / NUMBERS_A_MS);
}

/** The table of an owner. No row stays in memory. */
export class AuditTable {
  readonly rows: Rows<AuditRow>;
  #latest: number;
  #untilTrim = 0;
  #stamp: (now: Instant) => number = (now) => Math.max(this.#latest + 1, numberAt(now));

  /** `latest`: the number of the last stored entry; 0: there is none. */
  constructor(rows: Rows<AuditRow>, latest = 0) {
    this.rows = rows;
    this.#latest = latest;
  }

  /** The number of the latest entry or of the latest thing noted. 0: none since loading, and none stored. */
  get latest(): number {
    return this.#latest;
  }

  /** The number after which all entries come that are not stored yet. */
  latestAt(now: Instant): number {
    return Math.max(this.#latest, numberAt(now) - 1);
  }

  /** Notes that something else that readers of the log see was stored under this number. */
  note(number: number): void {
    this.#latest = Math.max(this.#latest, number);
  }

  /** Sets who gives the numbers, if others than entries are numbered, too. */
  stampWith(stamp: (now: Instant) => number): void {
    this.#stamp = stamp;
  }

  /** Stores an entry at the next flush. Now and then removes the entries that are beyond the bounds. */
  add(entry: NewEntry, now: Instant): void {
    this.#latest = this.#stamp(now);
    this.rows.set(auditKey(this.#latest), { number: this.#latest, ...entry }, now);
    this.#untilTrim -= 1;
    if (this.#untilTrim > 0) return;
    this.#untilTrim = TRIM_EVERY;
    this.rows.forget(now - AUDIT_KEPT_MS);
    this.rows.keepLatest(MAX_AUDIT_ROWS);
  }
}
