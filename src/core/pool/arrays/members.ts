// How has each run of an array ended so far (pool.md#array-ends)?
import type { RunArray } from "../../../schema/run/array.ts";
import { hasFailed, isTerminal } from "../../../shared/run-state.ts";
import type { RunRow } from "../record.ts";

/** What the end of a run means to its array. `stopped`: somebody wanted its end. */
export type MemberKind = "live" | "well" | "failed" | "stopped";

/** A run with its index in an array. */
export interface Member {
  key: string;
  /** In which order the pool got to know it, among all its runs. */
  arrival: number;
  kind: MemberKind;
  /** How many runs the array is to have, as this run says. */
  size: number;
  row: Pick<RunRow, "run" | "state" | "exitCode" | "failure" | "firstCause" | "endNumber">;
}

/** An array as its readers see it. */
export type ReadonlyMembers = Pick<ArrayMembers, "size" | "counts" | "missing" | "of" | "before">;

/** How many views of an array at earlier times are kept: each is as large as the array. */
const MOST_VIEWS = 4;

/**
 * The runs of one array. Of several with the same index, such as a run and its rerun, the one that came last
 * counts: so what is run again mends its array.
 */
export class ArrayMembers {
  readonly counts: Record<MemberKind, number> = { live: 0, well: 0, failed: 0, stopped: 0 };
  /** By index: its runs, in the order in which they came. */
  readonly #byIndex = new Map<number, readonly Member[]>();
  readonly #sorted = new Map<MemberKind, readonly Member[]>();
  /** The array as it was before some arrival of its own runs, by that arrival: the views asked for last. */
  readonly #before = new Map<number, ArrayMembers>();
  #arrivals: number[] | undefined;
  #newest: Member | undefined;

  /** How many runs the array is to have, as the latest of them says. 0: none is known. */
  get size(): number {
    return this.#newest?.size ?? 0;
  }

  /** How many runs there are no rows of: they were deleted, or have not been submitted. */
  get missing(): number {
    return Math.max(0, this.size - this.#byIndex.size);
  }

  /** Notes a run of the array as its row says it is now. */
  note(key: string, row: RunRow): void {
    if (row.array === undefined) return;
    const { run, state, exitCode, failure, firstCause, endNumber, arrival = 0 } = row;
    const shown = { run, state, exitCode, failure, firstCause, endNumber };
    this.#add(row.array.index, { key, arrival, kind: kindOf(row), size: row.array.size, row: shown });
  }

  /** Forgets a run whose row was deleted. */
  remove(key: string, { index }: Pick<RunArray, "index">): void {
    const known = this.#byIndex.get(index) ?? [];
    this.#set(
      index,
      known,
      known.filter((one) => one.key !== key),
    );
    if (this.#newest?.key === key) this.#newest = this.#findNewest();
  }

  #findNewest(): Member | undefined {
    let newest: Member | undefined;
    for (const all of this.#byIndex.values()) {
      const last = all.at(-1);
      if (newest === undefined || (last !== undefined && byArrival(newest, last) < 0)) newest = last;
    }
    return newest;
  }

  #add(index: number, one: Member): void {
    const known = this.#byIndex.get(index) ?? [];
    this.#set(index, known, [...known.filter(({ key }) => key !== one.key), one].sort(byArrival));
    if (this.#newest === undefined || byArrival(this.#newest, one) <= 0) this.#newest = one;
  }

  #set(index: number, before: readonly Member[], after: readonly Member[]): void {
    if (after.length > 0) this.#byIndex.set(index, after);
    else this.#byIndex.delete(index);
    const [counted, counts] = [before.at(-1), after.at(-1)];
    if (counted !== undefined) this.counts[counted.kind] -= 1;
    if (counts !== undefined) this.counts[counts.kind] += 1;
    this.#sorted.clear();
    this.#before.clear();
    this.#arrivals = undefined;
  }

  /** Whether each index has a run that came before this arrival. */
  isCompleteBefore(arrival: number): boolean {
    if (this.size === 0 || this.missing > 0) return false;
    let count = 0;
    for (const [first] of this.#byIndex.values())
      if (first !== undefined && first.arrival < arrival) count += 1;
    return count >= this.size;
  }

  /**
   * The array without the runs that came with this arrival or later. Of an index that has no other the first
   * run stays: arrivals follow a clock, which may have gone back (`changes.ts`). All readers between the same
   * two arrivals of its runs get the same view: what follows from it has to be found once.
   */
  before(arrival: number): ReadonlyMembers {
    if (this.#newest === undefined || this.#newest.arrival < arrival) return this;
    const cut = this.#firstArrivalFrom(arrival);
    const known = this.#before.get(cut);
    if (known !== undefined) return known;
    const found = new ArrayMembers();
    for (const [index, all] of this.#byIndex) {
      const last = all.findLast((one) => one.arrival < cut) ?? all[0];
      if (last !== undefined) found.#add(index, last);
    }
    if (this.#before.size >= MOST_VIEWS) this.#before.clear();
    this.#before.set(cut, found);
    return found;
  }

  /** The first arrival of a run of the array that is not before this one. */
  #firstArrivalFrom(arrival: number): number {
    this.#arrivals ??= [...this.#byIndex.values()]
      .flatMap((all) => all.map((one) => one.arrival))
      .sort((a, b) => a - b);
    const arrivals = this.#arrivals;
    let [low, high] = [0, arrivals.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((arrivals[middle] ?? arrival) < arrival) low = middle + 1;
      else high = middle;
    }
    return arrivals[low] ?? arrival;
  }

  /** The runs of a kind, in the order in which the pool heard of their ends. */
  of(kind: MemberKind): readonly Member[] {
    const known = this.#sorted.get(kind);
    if (known !== undefined) return known;
    const order = ({ row }: Member) => row.endNumber ?? 0;
    const found = [...this.#byIndex.values()]
      .flatMap((all) => all.at(-1) ?? [])
      .filter((one) => one.kind === kind)
      .sort((a, b) => order(a) - order(b) || byArrival(a, b));
    this.#sorted.set(kind, found);
    return found;
  }
}

function byArrival(a: Member, b: Member): number {
  return a.arrival - b.arrival || (a.key < b.key ? -1 : Number(a.key > b.key));
}

function kindOf(row: RunRow): MemberKind {
  if (!isTerminal(row.state)) return "live";
  if (hasFailed(row)) return "failed";
  return row.state === "aborted" ? "stopped" : "well";
}
