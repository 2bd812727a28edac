// Which rows of a pool have changed since a given moment, and which changes does no row tell?

import type { Instant } from "../../../shared/machine.ts";
import type { RunRow, WorkerRow } from "../record.ts";

/** Changes that are remembered by a running pool: who follows it is answered from these. */
export const MAX_CHANGES_KEPT = 10_000;
/** Numbers that one millisecond has room for. */
const NUMBERS_A_MS = 1_000;

/** What has changed. */
export interface Change {
  /** The table of a row; or `deleted`: a run was, or `label`: a run has another value of it now. */
  table: "run" | "worker" | "deleted" | "label";
  /** That of the row; the id of the run that was deleted; the name of the label. */
  key: string;
}

/** The changes of a pool as readers see them. */
export type ReadonlyChanges = Omit<Changes, "run" | "worker" | "deleted">;

/**
 * Numbers the rows of a pool by their latest change that a reader sees (api.md#pool-events). A number is used
 * once, and later changes have higher ones: it is made from the time, so that nothing must be stored for it
 * beside the row. (A clock that is put back while the pool is not loaded could make some again.)
 */
export class Changes {
  /** What has changed since this process began: by number, one for each row. */
  readonly #recent = new Map<number, Change>();
  /** The numbers of `#recent` in their order, and some that are in it no more. */
  #numbers: number[] = [];
  /** All changes above this are in `#recent`. Undefined: nothing has changed, and nobody has asked. */
  #complete: number | undefined;
  /** All changes above this that this process has seen are in `#recent`. */
  #forgotten = Number.NEGATIVE_INFINITY;
  #latest: number;

  readonly #stored: () => number;

  /** `latest`: the highest number of any live row; `ended`: that of the others, which costs a look at all. */
  constructor(latest: number, ended: () => number = () => 0) {
    this.#latest = latest;
    this.#stored = () => Math.max(latest, ended());
  }

  get latest(): number {
    return this.#latest;
  }

  /** Whether all that has changed after the one of this number is remembered. */
  isComplete(after: number): boolean {
    this.#complete ??= this.#stored();
    return after >= this.#complete;
  }

  /** Whether all that has changed since then is remembered, for who has read the rows in this process. */
  remembers(after: number): boolean {
    return after >= this.#forgotten;
  }

  /** What has changed after the one of this number, as far as it is remembered. Costs what has changed. */
  *since(after: number): Generator<Change> {
    for (let at = this.#placeAfter(after); at < this.#numbers.length; at += 1) {
      const change = this.#recent.get(this.#numbers[at] ?? 0);
      if (change !== undefined) yield change;
    }
  }

  /** The place in `#numbers` of the first one above this, by halving. */
  #placeAfter(after: number): number {
    let [low, high] = [0, this.#numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#numbers[middle] ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** A run was deleted, by hand or because its retention is over. */
  deleted(run: string, now: Instant): void {
    this.#note({ table: "deleted", key: run }, now);
  }

  run(after: RunRow, before: RunRow | undefined, key: string, now: Instant): RunRow {
    const seen = ({ state, exitCode, worker, opened, ended, startedAt }: RunRow) =>
      `${state} ${exitCode} ${worker} ${opened} ${ended} ${startedAt}`;
    if (before !== undefined) this.#noteLabels(before.labels, after.labels, now);
    if (before !== undefined && seen(before) === seen(after)) return after;
    return { ...after, number: this.#number({ table: "run", key }, before?.number, now) };
  }

  worker(after: WorkerRow, before: WorkerRow | undefined, key: string, now: Instant): WorkerRow {
    const seen = ({ phase, idleBehavior, instance, address, reason }: WorkerRow) =>
      `${phase} ${idleBehavior} ${instance} ${address} ${reason}`;
    if (before !== undefined && seen(before) === seen(after)) return after;
    return { ...after, number: this.#number({ table: "worker", key }, before?.number, now) };
  }

  /** A row has the labels that a run has now, and not those that it had. */
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
    this.#latest = Math.max(this.#latest + 1, now * NUMBERS_A_MS);
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
