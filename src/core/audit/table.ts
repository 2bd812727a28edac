// How does an owner store entries of the audit log, and which does it keep (audit.md#bounds)?
import type { AuditAction } from "../../schema/access/audit.ts";
import { AUDIT_KEPT_MS, MAX_AUDIT_BYTES, MAX_AUDIT_ROWS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import type { RowSort, Rows } from "../rows.ts";
import { type AuditRow, countText, type NewEntry } from "./entry.ts";
import type { Exported } from "./export.ts";

/** How many numbers there are for each millisecond. */
const NUMBERS_A_MS = 1_000;
/** After how many entries old ones are looked for. */
export const TRIM_EVERY = 500;
const KEY_DIGITS = 17;

/** What programs cause, as often as they like. Whoever does this pushes out nobody else's entries. */
const COMMON: AuditAction[] = ["token.exchange", "secret.hand", "request.denied"];
const SORTS: (RowSort & { name: string })[] = [
  { name: COMMON.join(", "), field: "action", values: COMMON, others: false },
  { name: "other actions", field: "action", values: COMMON, others: true },
];

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

/** What a table keeps of each sort of entries (audit.md#bounds). */
const BOUNDS = { rows: MAX_AUDIT_ROWS, bytes: MAX_AUDIT_BYTES };

/** The table of an owner. No row stays in memory. */
export class AuditTable {
  readonly rows: Rows<AuditRow>;
  readonly #pool: string | null;
  readonly #bounds: typeof BOUNDS;
  #latest: number;
  #untilTrim = 0;
  /** All rows up to this key are exported. Empty: none. */
  #done = "";
  #stamp: (now: Instant) => number = (now) => Math.max(this.#latest + 1, numberAt(now));

  /**
   * `latest`: the number of the last stored entry; 0: there is none. `pool`: the owner; null: the registry.
   */
  constructor(rows: Rows<AuditRow>, latest = 0, pool: string | null = null, bounds = BOUNDS) {
    this.rows = rows;
    this.#latest = latest;
    this.#pool = pool;
    this.#bounds = bounds;
  }

  /** The number of the latest entry or of the latest thing noted. 0: none since loading, and none stored. */
  get latest(): number {
    return this.#latest;
  }

  /** The number after which all entries come that are not stored yet. */
  latestAt(now: Instant): number {
    return Math.max(this.#latest, numberAt(now) - 1);
  }

  /** When the oldest stored entry is to be removed. Undefined: there is none. */
  get trimAt(): Instant | undefined {
    for (const [key] of this.rows.ended(1)) return instantOf(numberOfKey(key)) + AUDIT_KEPT_MS + 1;
    return undefined;
  }

  /** Notes that something else that readers of the log see was stored under this number. */
  note(number: number): void {
    this.#latest = Math.max(this.#latest, number);
  }

  /** Notes how far the export is. What is not exported is kept if it can be. */
  noteExported(exported: Exported | undefined): void {
    if (exported === undefined) return;
    const before = auditKey(Math.max(0, numberAt(exported.day) - 1));
    this.#done = exported.entry > before ? exported.entry : before;
  }

  /** Sets who gives the numbers, if others than entries are numbered, too. */
  stampWith(stamp: (now: Instant) => number): void {
    this.#stamp = stamp;
  }

  /** Stores an entry at the next flush. Now and then removes the entries that are beyond the bounds. */
  add(entry: NewEntry, now: Instant): void {
    this.#store(entry, now);
    this.#untilTrim -= 1;
    if (this.#untilTrim > 0) return;
    const isFirst = this.#untilTrim === -1;
    this.#untilTrim = TRIM_EVERY;
    // Each process looks at its first entry, and that must cost little. A full table has up to so many rows.
    const full = SORTS.length * this.#bounds.rows + TRIM_EVERY;
    if (!isFirst || this.rows.hasMoreThan(full)) this.trim(now);
  }

  /**
   * Removes the entries that are beyond the bounds at the next flush. If some of them were not exported, an
   * entry says how many (audit.md#bounds).
   */
  trim(now: Instant): void {
    const old = auditKey(Math.max(0, numberAt(now - AUDIT_KEPT_MS) - 1));
    this.rows.removeUpTo(old < this.#done ? old : this.#done);
    for (const sort of SORTS) {
      const { rows, bytes } = this.rows.beyond(sort, this.#bounds);
      const exported = rows < this.#done ? rows : this.#done;
      const upTo = bytes > exported ? bytes : exported;
      if (upTo === "") continue;
      const lost = upTo > this.#done ? this.rows.count(sort, this.#done, upTo) : 0;
      this.rows.removeUpTo(upTo, sort);
      if (lost > 0) this.#store(this.#gap(sort.name, lost, now), now);
    }
  }

  #store(entry: NewEntry, now: Instant): void {
    this.#latest = this.#stamp(now);
    this.rows.set(auditKey(this.#latest), { number: this.#latest, ...entry }, now);
  }

  #gap(sort: string, lost: number, now: Instant): NewEntry {
    const id = this.#pool ?? "registry";
    const reason = `${countText(lost)} dropped before the export, of: ${sort}`;
    const about = { target: { kind: "log", id }, pool: this.#pool, run: null, project: null } as const;
    return { at: now, by: "drover", action: "log.gap", ...about, result: "ok", reason };
  }
}
