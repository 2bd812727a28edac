// Which runs wait, where is each run placed, and which allocations does a pool owe a message?
import { isTerminal } from "../../../shared/run-state.ts";
import type { Rows } from "../../rows.ts";
import { ArrayIndex, type ReadonlyArrays } from "../arrays/array-index.ts";
import { RowsByKey } from "../concurrency/rows-by-key.ts";
import { concurrencyName, takesTurns } from "../concurrency/slots.ts";
import { Kinds } from "../plan/alike.ts";
import { isKept, isLeft, isLiveRun, isOpen, type RunRow, replaceKey, runKey } from "../record.ts";
import { LastHeard, type ReadonlyLastHeard } from "./last-heard.ts";
import { QueueRate } from "./queue-rate.ts";

/** The fields that determine a run's position in the queue. */
export type QueuePlace = Pick<RunRow, "priority" | "submittedAt" | "run">;

/** The order of the queue: by priority, then submission, then id (decisions/pool.md#d19). */
export function byQueueOrder(a: QueuePlace, b: QueuePlace): number {
  return (
    b.priority - a.priority || a.submittedAt - b.submittedAt || (a.run < b.run ? -1 : Number(a.run > b.run))
  );
}

/** Whether the run wants a placement and has none. */
function isQueued(row: RunRow | undefined): row is RunRow {
  return row !== undefined && isLiveRun(row) && row.wants === "place" && !isOpen(row);
}

function workerOf(row: RunRow | undefined): string | null {
  return row !== undefined && isOpen(row) ? row.worker : null;
}

/** The index for readers. */
export interface ReadonlyIndex {
  readonly queue: readonly RunRow[];
  readonly placed: ReadonlyMap<string, ReadonlyMap<string, RunRow>>;
  readonly unacknowledged: ReadonlyMap<string, RunRow>;
  readonly unwanted: ReadonlyMap<string, RunRow>;
  readonly replaced: ReadonlyMap<string, RunRow>;
  readonly deferred: ReadonlyMap<string, RunRow>;
  readonly replacing: Pick<RowsByKey, "of">;
  readonly sharing: Pick<RowsByKey, "of">;
  readonly kinds: Pick<Kinds, "count">;
  readonly turning: number;
  readonly latestTurn: number;
  readonly arrays: ReadonlyArrays;
  readonly lastHeard: ReadonlyLastHeard;
  readonly queueRate: Pick<QueueRate, "retryAfterMs">;
}

/**
 * Indexes over a pool's runs, used when the pool decides something. They are derived from the rows and
 * updated with each change, so the cost of an event depends only on what the event changes. All counts are
 * the sizes of these collections (invariant 6).
 */
export class RunIndex implements ReadonlyIndex {
  /** Runs that want a placement, in queue order. */
  readonly queue: RunRow[] = [];
  /** Runs with an open epoch, by worker, then by key. */
  readonly placed = new Map<string, Map<string, RunRow>>();
  /** Runs with an open epoch that their allocations do not know yet. */
  readonly unacknowledged = new Map<string, RunRow>();
  /** Runs that a user deletes (`forget`). */
  readonly unwanted = new Map<string, RunRow>();
  /** Runs that want a placement only once other runs have ended. */
  readonly deferred = new Map<string, RunRow>();
  /** Runs that another run replaces, and whose allocations do not know yet that they must end. */
  readonly replaced = new Map<string, RunRow>();
  readonly lastHeard = new LastHeard();
  /** The arrays on whose ends something depends. */
  readonly arrays: ArrayIndex;
  /** How fast runs leave the queue. */
  readonly queueRate = new QueueRate();
  /** The runs of which something may be left, by the key under which they replace each other. */
  readonly replacing = new RowsByKey(replaceKey);
  /** The same, by the concurrency key whose slots they share. */
  readonly sharing = new RowsByKey(concurrencyName);
  /** How many kinds of runs are in the queue. */
  readonly kinds: Kinds;
  /** How many runs in the queue have keys that take turns. */
  turning = 0;
  /** No run that is left has a higher turn (pool.md#round-robin). */
  latestTurn = 0;
  /** By key: the epoch that its allocation knows. Two submissions of one run may have rows. */
  readonly #acknowledged = new Map<string, number>();
  /**
   * Since the latest plan: the runs that have arrived, and whether anything other than an arrival has changed
   * the queue or a placement.
   */
  #arrivals: RunRow[] = [];
  #otherwise = true;

  constructor(rows: Rows<RunRow>) {
    this.arrays = new ArrayIndex(rows);
    const live = [...rows.live()].sort((a, b) => a.heardAt - b.heardAt);
    for (const row of live) {
      const key = runKey(row.submittedAt, row.run);
      if (isOpen(row) && row.epoch === row.opened) this.#acknowledged.set(key, row.opened);
      this.#follow(key, undefined, row);
    }
    this.queue.push(...live.filter(isQueued).sort(byQueueOrder));
    this.kinds = new Kinds(this.queue);
    this.turning = this.queue.filter(takesTurns).length;
    rows.watch((key, before, after) => {
      this.#requeue(before, after);
      this.#follow(key, before, after);
    });
  }

  /** Notes that the allocation knows the open epoch of its run, so no message is owed. */
  acknowledge(row: RunRow): void {
    const key = runKey(row.submittedAt, row.run);
    this.#acknowledged.set(key, row.opened);
    this.unacknowledged.delete(key);
  }

  /** Notes that the allocation knows of no open epoch. */
  unacknowledge({ submittedAt, run }: RunRow): void {
    this.#acknowledged.delete(runKey(submittedAt, run));
  }

  /**
   * The runs that arrived since the latest plan. Undefined if anything other than an arrival has changed the
   * queue or a placement.
   */
  get arrivals(): RunRow[] | undefined {
    return this.#otherwise ? undefined : this.#arrivals;
  }

  /** Notes that a plan was made, and that its decisions are in the rows. */
  settle(): void {
    this.#arrivals = [];
    this.#otherwise = false;
  }

  #requeue(before: RunRow | undefined, after: RunRow | undefined): void {
    if (isQueued(before)) {
      this.queue.splice(this.#position(before), 1);
      this.kinds.remove(before);
      if (takesTurns(before)) this.turning -= 1;
    }
    if (isQueued(after)) {
      this.queue.splice(this.#position(after), 0, after);
      this.kinds.add(after);
      if (takesTurns(after)) this.turning += 1;
    }
    const from = workerOf(before);
    // Its array, or its key, has room for another run.
    const isShared = after?.array !== undefined || after?.concurrency !== undefined;
    if (isShared && isKept(after)) this.#otherwise = true;
    if (isQueued(after) && !isQueued(before) && from === null) this.#arrivals.push(after);
    else if (isQueued(before) || isQueued(after) || from !== workerOf(after)) this.#otherwise = true;
  }

  /** The position that the run has, or would have, in the queue. */
  #position(row: RunRow): number {
    let low = 0;
    let high = this.queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.queue[middle];
      if (other !== undefined && byQueueOrder(other, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #follow(key: string, before: RunRow | undefined, after: RunRow | undefined): void {
    this.arrays.follow(key, before, after);
    const worker = workerOf(after);
    const left = workerOf(before);
    if (left !== null && left !== worker) this.#leave(left, key);
    if (after !== undefined && worker !== null) this.#enter(worker, key, after);
    if (after === undefined) this.#acknowledged.delete(key);
    const isKnown = this.#acknowledged.get(key) === after?.opened;
    setIf(this.unacknowledged, key, after, worker !== null && !isKnown);
    setIf(this.unwanted, key, after, after?.forget === true);
    setIf(this.deferred, key, after, after?.deferred === true && !isTerminal(after.state));
    const { replacedBy } = after ?? {};
    const mustEnd = replacedBy !== undefined && replacedBy.confirmed !== true;
    setIf(this.replaced, key, after, mustEnd && after !== undefined && isLeft(after));
    if (this.replacing.follow(key, before, after)) this.#otherwise = true; // another run may take its place
    this.sharing.follow(key, before, after);
    this.latestTurn = Math.max(this.latestTurn, after?.turn ?? 0);
    if (after === undefined || !isLiveRun(after)) this.lastHeard.delete(key);
    else this.lastHeard.note(key, after.heardAt);
  }

  #enter(worker: string, key: string, row: RunRow): void {
    const runs = this.placed.get(worker);
    if (runs === undefined) this.placed.set(worker, new Map([[key, row]]));
    else runs.set(key, row);
  }

  #leave(worker: string, key: string): void {
    const runs = this.placed.get(worker);
    runs?.delete(key);
    if (runs?.size === 0) this.placed.delete(worker);
  }
}

function setIf(rows: Map<string, RunRow>, key: string, row: RunRow | undefined, wanted: boolean): void {
  if (wanted && row !== undefined) rows.set(key, row);
  else rows.delete(key);
}
