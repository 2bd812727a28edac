// Which rows of a pool have changed since a given moment, and what else has changed?
import type { Instant } from "../../../shared/machine.ts";
import type { RunRow, WorkerRow } from "../record.ts";

/** The most changes that a loaded pool remembers for clients that follow it. */
export const MAX_CHANGES_KEPT = 10_000;
/** How many change numbers there are for each millisecond. */
const NUMBERS_A_MS = 1_000;

/** A change of a pool. */
export interface Change {
  /** The table of the changed row; `deleted`: a run was deleted; `label`: a label of a run changed. */
  table: "run" | "worker" | "deleted" | "label";
  /** The key of the row, the id of the deleted run, or the name of the label. */
  key: string;
}

/** The changes of a pool as readers see them. */
export type ReadonlyChanges = Omit<Changes, "run" | "worker" | "deleted" | "stamp">;

/**
 * Gives each row of a pool the number of its latest visible change (api.md#pool-events). Numbers only grow.
 * They are derived from the time, so nothing but the row needs to be stored. (If the clock goes back while
 * the pool is not loaded, numbers may repeat.)
 */
export class Changes {
  /** By number: changes since this process began. For each row, only its latest change is kept. */
  readonly #recent = new Map<number, Change>();
  /** The numbers of changes in order. Some of these changes are no longer in `#recent`. */
  #numbers: number[] = [];
  /** All changes above this number are in `#recent`. Undefined: not determined yet. */
  #complete: number | undefined;
  /** All changes of this process above this number are in `#recent`. */
  #forgotten = Number.NEGATIVE_INFINITY;
  #latest: number;

  readonly #stored: () => number;

  /** `latest`: the highest number of any live row. `ended` reads the highest number of all other rows. */
  constructor(latest: number, ended: () => number = () => 0) {
    this.#latest = latest;
    this.#stored = () => Math.max(latest, ended());
  }

  get latest(): number {
    return this.#latest;
  }

  /** Whether all changes after this number are in memory. */
  isComplete(after: number): boolean {
    this.#complete ??= this.#stored();
    return after >= this.#complete;
  }

  /** Whether all changes of this process after this number are in memory. */
  remembers(after: number): boolean {
    return after >= this.#forgotten;
  }

  /** The changes after this number that are in memory. */
  *since(after: number): Generator<Change> {
    for (let at = this.#placeAfter(after); at < this.#numbers.length; at += 1) {
      const change = this.#recent.get(this.#numbers[at] ?? 0);
      if (change !== undefined) yield change;
    }
  }

  /** The position in `#numbers` of the first number above `after`, by bisection. */
  #placeAfter(after: number): number {
    let [low, high] = [0, this.#numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#numbers[middle] ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The next number, for something that is no change of a row. */
  stamp(now: Instant): number {
    this.#latest = Math.max(this.#latest + 1, now * NUMBERS_A_MS);
    return this.#latest;
  }

  /** Notes that a run was deleted, by a user or because its retention is over. */
  deleted(run: string, now: Instant): void {
    this.#note({ table: "deleted", key: run }, now);
  }

  run(after: RunRow, before: RunRow | undefined, key: string, now: Instant): RunRow {
    const seen = ({ state, exitCode, worker, opened, ended, startedAt }: RunRow) =>
      `${state} ${exitCode} ${worker} ${opened} ${ended} ${startedAt}`;
    if (before !== undefined) this.#noteLabels(before.labels, after.labels, now);
    if (before !== undefined && seen(before) === seen(after)) return after;
    const number = this.#number({ table: "run", key }, before?.number, now);
    return { ...after, number, arrival: after.arrival ?? number };
  }

  worker(after: WorkerRow, before: WorkerRow | undefined, key: string, now: Instant): WorkerRow {
    const seen = ({ phase, idleBehavior, instance, address, project, reason }: WorkerRow) =>
      `${phase} ${idleBehavior} ${instance} ${address} ${project} ${reason}`;
    if (before !== undefined && seen(before) === seen(after)) return after;
    return { ...after, number: this.#number({ table: "worker", key }, before?.number, now) };
  }

  #noteLabels(before: RunRow["labels"], after: RunRow["labels"], now: Instant): void {
    if (before === after) return;
    for (const name in { ...before, ...after }) {
      if (before[name] !== after[name]) this.#note({ table: "label", key: name }, now);
    }
  }

  #number(change: Change, before: number | undefined, now: Instant): number {
    if (before !== undefined) this.#recent.delete(before);
    return this.#note(change, now);
  }

  /** Gives a change the next number. */
  #note(change: Change, now: Instant): number {
    this.stamp(now);
    this.#complete ??= this.#latest - 1;
    this.#recent.set(this.#latest, change);
    this.#numbers.push(this.#latest);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > MAX_CHANGES_KEPT && oldest !== undefined) {
      this.#recent.delete(oldest);
      this.#complete = oldest;
      this.#forgotten = oldest;
    }
    if (this.#numbers.length > 2 * MAX_CHANGES_KEPT) this.#numbers = [...this.#recent.keys()];
    return this.#latest;
  }
}
