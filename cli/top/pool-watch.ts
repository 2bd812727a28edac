// What does `drover top` ask Drover, and how seldom?
import type { Client } from "../../client/client.ts";
import type { CallOptions } from "../../client/transport/http.ts";
import type { PoolView, QueuedRun, RunSummary, WorkerSummary } from "../../client/types.ts";
import { isTerminal } from "../../src/shared/run-state.ts";

/** A pool as it was at one moment. */
export interface Look {
  pool: PoolView;
  /** The runs that run, the longest first. */
  running: readonly RunSummary[];
  /** The runs that do not run yet, in the order of the queue; those with a place come first. */
  pending: readonly RunSummary[];
  workers: readonly WorkerSummary[];
  /** The first runs that wait for a place, by id. */
  queue: ReadonlyMap<string, QueuedRun>;
  /** The server's time at this moment, in milliseconds since 1970. */
  at: number;
}

/** How many waiting runs are asked for their reasons. */
export const REASONS_READ = 100;

/** If nothing has changed, the pool is still asked with each look of this number: times and prices change. */
export const POOL_EVERY = 5;

/** With each look of this number everything is read: runs that are deleted are in no list of changes. */
export const ALL_EVERY = 60;

/**
 * Watches a pool (cli.md#top). A look is one request, for what has changed since the look before. If
 * something has, or with each `POOL_EVERY`th look, it is a second one for the pool, and a third one if
 * somebody waits there, for the reasons.
 */
export class PoolWatch {
  readonly #client: Client;
  readonly name: string;
  #runs = new Map<string, RunSummary>();
  #workers = new Map<string, WorkerSummary>();
  #queue = new Map<string, QueuedRun>();
  #pool: PoolView | undefined;
  #next: number | undefined;
  #looks = 0;

  constructor(client: Client, name: string) {
    this.#client = client;
    this.name = name;
  }

  /** Rejects with what the calls of the client reject with. The next look then asks for the same again. */
  async look(options: CallOptions = {}): Promise<Look> {
    const hasChanged = await this.#readChanges(options);
    const isTurn = this.#looks % POOL_EVERY === 0;
    this.#looks += 1;
    let pool = this.#pool;
    if (pool === undefined || hasChanged || isTurn) {
      this.#pool = undefined;
      pool = await this.#client.pools.get(this.name, options);
      this.#queue = await this.#readQueue(pool, options);
      this.#pool = pool;
    }
    return { pool, ...this.#sorted(), queue: this.#queue, at: this.#client.now() };
  }

  /** Reads what has changed, and says whether anything has. */
  async #readChanges(options: CallOptions): Promise<boolean> {
    const after = this.#next;
    const isFresh = after === undefined || this.#looks % ALL_EVERY === 0;
    const from = isFresh ? {} : { after };
    const { items, next } = await this.#client.pools.events(this.name, { ...options, ...from });
    if (isFresh) {
      this.#runs = new Map();
      this.#workers = new Map();
    }
    for (const { run, worker } of items) {
      if (run !== undefined) put(this.#runs, run, !isTerminal(run.state));
      if (worker !== undefined) put(this.#workers, worker, worker.state !== "gone");
    }
    this.#next = next;
    return items.length > 0;
  }

  async #readQueue({ queue }: PoolView, options: CallOptions): Promise<Map<string, QueuedRun>> {
    if (queue.depth === 0) return new Map();
    const { items } = await this.#client.pools.queue(this.name, { ...options, limit: REASONS_READ });
    return new Map(items.map((one) => [one.id, one]));
  }

  #sorted(): Pick<Look, "running" | "pending" | "workers"> {
    const runs = [...this.#runs.values()];
    const place = ({ id, worker }: RunSummary) =>
      worker === null ? (this.#queue.get(id)?.position ?? Number.POSITIVE_INFINITY) : 0;
    const age = ({ submittedAt, startedAt }: RunSummary) => startedAt ?? submittedAt;
    return {
      running: runs.filter(({ state }) => state === "running").sort(by(age, ({ id }) => id)),
      pending: runs.filter(({ state }) => state !== "running").sort(by(place, age, ({ id }) => id)),
      workers: [...this.#workers.values()].sort(
        by(
          ({ askedAt }) => askedAt,
          ({ id }) => id,
        ),
      ),
    };
  }
}

function put<Row extends { id: string }>(rows: Map<string, Row>, row: Row, isThere: boolean): void {
  if (isThere) rows.set(row.id, row);
  else rows.delete(row.id);
}

/** Compares by the first key that differs, smaller first. */
function by<Row>(...keys: ((row: Row) => string | number)[]): (a: Row, b: Row) => number {
  return (a, b) => {
    for (const key of keys) {
      const [left, right] = [key(a), key(b)];
      if (left !== right) return left < right ? -1 : 1;
    }
    return 0;
  };
}
