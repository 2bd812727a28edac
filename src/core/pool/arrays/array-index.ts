// Which arrays does a pool have to know, and who is interested in each of them (pool.md#array-ends)?
import { isTerminal } from "../../../shared/run-state.ts";
import type { Bounds, Rows } from "../../rows.ts";
import type { RunRow } from "../record.ts";
import { ArrayMembers, type ReadonlyMembers } from "./members.ts";

type Groups = Map<string, Map<string, RunRow>>;
type RunsOfArrays = Pick<Rows<RunRow>, "inMemory" | "endedWith" | "endedSpans">;

/** The index for readers. */
export type ReadonlyArrays = Pick<
  ArrayIndex,
  "followed" | "limited" | "membersOf" | "membersFor" | "derive" | "needs"
>;

/**
 * The arrays that runs of the pool await or that are to end early, derived from the rows. The members of an
 * array are read once, from memory and from the disk, as soon as a decision depends on them, and updated with
 * each change from then on. Nothing is kept of an array in which nobody is interested any more.
 */
export class ArrayIndex {
  readonly #rows: RunsOfArrays;
  readonly #members = new Map<string, ArrayMembers>();
  readonly #followed: Groups = new Map();
  readonly #limited: Groups = new Map();
  readonly #derived = new Map<unknown, unknown>();

  /**
   * By id: between which keys runs of an array have ended, perhaps more. Undefined: nobody has needed it. So
   * looking for the runs of an array reads the rows of its own time, and not all that have ended.
   */
  #spans: Map<string, Bounds> | undefined;

  constructor(rows: RunsOfArrays) {
    this.#rows = rows;
  }

  /** By array (`arrayKey`) and key: the runs that await it. */
  get followed(): ReadonlyMap<string, ReadonlyMap<string, RunRow>> {
    return this.#followed;
  }

  /** By array and key: its runs that have not ended, and that end if too many of its runs fail. */
  get limited(): ReadonlyMap<string, ReadonlyMap<string, RunRow>> {
    return this.#limited;
  }

  /** Notes that the row of a run is deleted, which may have ended long ago. */
  forget(key: string, { project, array }: RunRow): void {
    if (array === undefined) return;
    this.#derived.clear();
    this.#members.get(arrayKey(project, array.id))?.remove(key, array);
  }

  /** Notes a change of a row in memory. `after`: undefined if the row was deleted. */
  follow(key: string, before: RunRow | undefined, after: RunRow | undefined): void {
    const known = after ?? before;
    if (known === undefined) return;
    const { project, array } = known;
    const lists = [...(before?.awaitsArrays ?? []), ...(after?.awaitsArrays ?? [])];
    if (array === undefined && lists.length === 0) return;
    this.#derived.clear();
    const goesOn = after !== undefined && !isTerminal(after.state) ? after : undefined;
    const awaited = new Set(goesOn?.awaitsArrays?.map((one) => arrayKey(project, one.array)));
    for (const of of new Set(lists.map((one) => arrayKey(project, one.array))))
      setIn(this.#followed, of, key, awaited.has(of) ? goesOn : undefined);
    if (array !== undefined) {
      const own = arrayKey(project, array.id);
      if (after !== undefined) {
        this.#members.get(own)?.note(key, after);
        if (this.#spans !== undefined) widen(this.#spans, array.id, key);
      }
      setIn(this.#limited, own, key, array.failAt === undefined ? undefined : goesOn);
    }
    this.#drop(project, [...lists, ...(array === undefined ? [] : [{ array: array.id }])]);
  }

  /** The runs of an array, as its rows say now. */
  membersOf(project: string, array: string): ReadonlyMembers {
    const key = arrayKey(project, array);
    const known = this.#members.get(key);
    if (known !== undefined) return known;
    const members = new ArrayMembers();
    const isOwn = (row: RunRow) => row.project === project && row.array?.id === array;
    let oldest: string | undefined;
    for (const [at, row] of this.#rows.inMemory()) {
      if (!isOwn(row)) continue;
      members.note(at, row);
      if (oldest === undefined || at < oldest) oldest = at;
    }
    const span = this.#spansNow().get(array);
    if (span !== undefined) {
      const first = Math.min(...[...(this.#followed.get(key)?.values() ?? [])].map(arrivalOf));
      const ended = this.#rows.endedWith("array.id", array, { from: span.first, below: above(span.last) });
      for (const [at, row] of ended) {
        // What is older is read only while a run of the array is missing.
        if ((oldest === undefined || at < oldest) && members.isCompleteBefore(first)) break;
        if (isOwn(row)) members.note(at, row);
      }
    }
    if (this.#isWanted(key)) this.#members.set(key, members);
    return members;
  }

  /** What ends before it is written is not among what the disk has of ends, and so counts from memory. */
  #spansNow(): ReadonlyMap<string, Bounds> {
    if (this.#spans !== undefined) return this.#spans;
    const spans = this.#rows.endedSpans("array.id");
    for (const [key, row] of this.#rows.inMemory())
      if (row.array !== undefined) widen(spans, row.array.id, key);
    this.#spans = spans;
    return spans;
  }

  /**
   * The runs of an array as they matter to a run that awaits it: without those that came later than this one.
   * So nothing waits for what may wait for it (api.md#after).
   */
  membersFor(follower: RunRow, array: string): ReadonlyMembers {
    return this.membersOf(follower.project, array).before(arrivalOf(follower));
  }

  /** Whether something depends on the end of this run: its row must stay (pool.md#array-ends). */
  needs({ project, array }: RunRow): boolean {
    return array !== undefined && this.#isWanted(arrayKey(project, array.id));
  }

  /** The result of `make`, cached until a run of an array, or one that awaits an array, changes. */
  derive<Value>(make: (arrays: ReadonlyArrays) => Value): Value {
    if (!this.#derived.has(make)) this.#derived.set(make, make(this));
    return this.#derived.get(make) as Value; // of the same `make`
  }

  #isWanted(key: string): boolean {
    return this.#followed.has(key) || this.#limited.has(key);
  }

  #drop(project: string, lists: readonly { array: string }[]): void {
    for (const { array } of lists) {
      const key = arrayKey(project, array);
      if (!this.#isWanted(key)) this.#members.delete(key);
    }
  }
}

function widen(spans: Map<string, Bounds>, array: string, key: string): void {
  const { first, last } = spans.get(array) ?? { first: key, last: key };
  spans.set(array, { first: key < first ? key : first, last: key > last ? key : last });
}

/** Above this key and below all that follow it: keys have no spaces. */
function above(key: string): string {
  return `${key} `;
}

/** When a pool got to know a run. A row that has not been written yet is the latest. */
function arrivalOf({ arrival = Number.POSITIVE_INFINITY }: RunRow): number {
  return arrival;
}

/** The key of an array: two projects may use the same id. */
export function arrayKey(project: string, array: string): string {
  return `${project} ${array}`;
}

/** What a key of an array names. Names have no spaces. */
export function namesOf(key: string): { project: string; array: string } {
  const [project = "", array = ""] = key.split(" ");
  return { project, array };
}

function setIn(groups: Groups, group: string, key: string, row: RunRow | undefined): void {
  const rows = groups.get(group);
  if (row !== undefined) {
    if (rows === undefined) groups.set(group, new Map([[key, row]]));
    else rows.set(key, row);
    return;
  }
  rows?.delete(key);
  if (rows?.size === 0) groups.delete(group);
}
