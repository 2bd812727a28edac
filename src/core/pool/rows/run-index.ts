import type { Rows } from "../../rows.ts";
import { isLiveRun, isOpen, type RunRow, runKey } from "../record.ts";
import { Heard, type ReadonlyHeard } from "./heard.ts";
import { Drain } from "./queue-rate.ts";

/** What decides where in the queue a run stands. */
export type QueuePlace = Pick<RunRow, "priority" | "submittedAt" | "run">;

/** The order of the queue: by priority, then by submission, then by id (decisions/pool.md#d19). */
export function inOrder(a: QueuePlace, b: QueuePlace): number {
  return (
    b.priority - a.priority || a.submittedAt - b.submittedAt || (a.run < b.run ? -1 : Number(a.run > b.run))
  );
}

/** Whether the run wants a place and has none. */
function isQueued(row: RunRow | undefined): row is RunRow {
  return row !== undefined && isLiveRun(row) && row.wants === "place" && !isOpen(row);
}

function workerOf(row: RunRow | undefined): string | null {
  return row !== undefined && isOpen(row) ? row.worker : null;
}

/** The index as readers see it. */
export interface ReadonlyIndex {
  readonly queue: readonly RunRow[];
  readonly placed: ReadonlyMap<string, ReadonlyMap<string, RunRow>>;
  readonly untold: ReadonlyMap<string, RunRow>;
  readonly unwanted: ReadonlyMap<string, RunRow>;
  readonly heard: ReadonlyHeard;
  readonly drain: Pick<Drain, "retryAfterMs">;
}

/**
 * The rows of runs by what a pool asks of them at each event. Made from the rows alone and following their
 * changes, so that an event costs what it changes and not what there is. No count is kept that is not a size
 * of this (invariant 6).
 */
export class RunIndex implements ReadonlyIndex {
  /** Those that want a place and have none, in the order in which they get it. */
  readonly queue: RunRow[] = [];
  /** Those with an open epoch, by worker, then by key. */
  readonly placed = new Map<string, Map<string, RunRow>>();
  /** Those whose allocation does not know its open epoch. */
  readonly untold = new Map<string, RunRow>();
  /** Those that somebody wants deleted. */
  readonly unwanted = new Map<string, RunRow>();
  readonly heard = new Heard();
  /** How fast runs have left the queue. */
  readonly drain = new Drain();
  /** By run: the epoch that its allocation knows. */
  readonly #told = new Map<string, number>();
  /** What has changed for a plan since `settle`: runs that have come, and whether anything else has. */
  #arrivals: RunRow[] = [];
  #otherwise = true;

  constructor(rows: Rows<RunRow>) {
    const live = [...rows.live()].sort((a, b) => a.heardAt - b.heardAt);
    for (const row of live) {
      if (isOpen(row) && row.epoch === row.opened) this.#told.set(row.run, row.opened);
      this.#follow(runKey(row.submittedAt, row.run), undefined, row);
    }
    this.queue.push(...live.filter(isQueued).sort(inOrder));
    rows.watch((key, before, after) => {
      this.#requeue(before, after);
      this.#follow(key, before, after);
    });
  }

  /** The allocation knows its open epoch: nothing is owed to it. */
  tell(row: RunRow): void {
    this.#told.set(row.run, row.opened);
    this.untold.delete(runKey(row.submittedAt, row.run));
  }

  /** The allocation has none that it could know. */
  untell({ run }: RunRow): void {
    this.#told.delete(run);
  }

  /** The runs that have come since the latest plan, if nothing else has changed that it was made from. */
  get arrivals(): RunRow[] | undefined {
    return this.#otherwise ? undefined : this.#arrivals;
  }

  /** A plan has been made, and what it decided is in the rows. */
  settle(): void {
    this.#arrivals = [];
    this.#otherwise = false;
  }

  #requeue(before: RunRow | undefined, after: RunRow | undefined): void {
    if (isQueued(before)) this.queue.splice(this.#position(before), 1);
    if (isQueued(after)) this.queue.splice(this.#position(after), 0, after);
    const from = workerOf(before);
    if (isQueued(after) && !isQueued(before) && from === null) this.#arrivals.push(after);
    else if (isQueued(before) || isQueued(after) || from !== workerOf(after)) this.#otherwise = true;
  }

  /** Where it is in the queue, or would be. */
  #position(row: RunRow): number {
    let low = 0;
    let high = this.queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.queue[middle];
      if (other !== undefined && inOrder(other, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #follow(key: string, before: RunRow | undefined, after: RunRow | undefined): void {
    const worker = workerOf(after);
    const left = workerOf(before);
    if (left !== null && left !== worker) this.#leave(left, key);
    if (after !== undefined && worker !== null) this.#enter(worker, key, after);
    keep(this.untold, key, after, worker !== null && this.#told.get(after?.run ?? "") !== after?.opened);
    keep(this.unwanted, key, after, after?.forget === true);
    if (after === undefined || !isLiveRun(after)) this.heard.delete(key);
    else this.heard.note(key, after.heardAt);
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

function keep(rows: Map<string, RunRow>, key: string, row: RunRow | undefined, wanted: boolean): void {
  if (wanted && row !== undefined) rows.set(key, row);
  else rows.delete(key);
}
