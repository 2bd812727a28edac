// Who waits for runs of a pool, what ends a wait, and with which answer?
import type { RunRow } from "../../core/pool/record.ts";
import type { Changes } from "../../core/pool/rows/changes.ts";
import type { PoolState } from "../../core/pool/state.ts";
import { DroverError } from "../../shared/errors.ts";
import type { RunNews, RunWait } from "../rpc.ts";
import { platformTimer, type Timer } from "../waiting.ts";
import { canMatch, isMatch, isSelected } from "./run-filter.ts";

/**
 * The most waits that a pool holds, and the most ids in all its different questions. All waits share the 128
 * MB of the pool's isolate (platform.md#limits).
 */
export const MAX_HELD_WAITS = 10_000;
export const MAX_HELD_WAIT_IDS = 100_000;

/** When a pool with the maximum number of waits may have room again. */
const FULL_RETRY_MS = 1_000;

/** `RunNews` with rows. */
type RowNews = Omit<RunNews, "items"> & { items: RunRow[] };

/**
 * All waits of a pool (api.md#waiting). A change is shown only to the waits that it concerns, and equal waits
 * share one watch, so the cost of a change does not depend on the number of clients or runs.
 */
export class RunWaits {
  readonly #watches = new Map<string, Watch>();
  /** The watches by topic. */
  readonly #byTopic = new Map<string, Set<Watch>>();
  readonly #timer: Timer;
  #changes: Changes | undefined;
  /** Marks are valid as long as this value stays the same. */
  #epoch = "";
  #seen = 0;

  constructor(timer: Timer = platformTimer) {
    this.#timer = timer;
  }

  /** The number of waiting clients. */
  get size(): number {
    let size = 0;
    for (const { waiters } of this.#watches.values()) size += waiters.size;
    return size;
  }

  /**
   * Returns a mark, which names this moment. The changes since a mark are known as long as this process
   * remembers them.
   */
  mark(state: PoolState): string {
    this.changed(state);
    return `${this.#epoch} ${this.#seen}`;
  }

  /** Shows all changes to the waits that they concern. Called after every event. */
  changed(state: PoolState): void {
    const { changes } = state.memo;
    if (changes !== this.#changes || !changes.remembers(this.#seen)) this.#begin(changes);
    const touched = new Set<Watch>();
    const news = this.#watches.size > 0 ? changesSince(state, this.#seen) : [];
    for (const { topics, row } of news) {
      for (const watch of topics.flatMap((topic) => [...(this.#byTopic.get(topic) ?? [])])) {
        watch.show(row);
        touched.add(watch);
      }
    }
    this.#seen = changes.latest;
    for (const watch of touched) if (watch.isOver) watch.end();
  }

  /**
   * Waits until there is news for the question since `mark`, or for `waitMs`. Null: the client must list
   * again (`PoolApi.wait`). `rows`: the rows that the question is about, if the number of open runs is
   * needed. Throws `unavailable` if this pool has no room for another wait.
   */
  async news(
    state: PoolState,
    question: RunWait,
    rows: () => Iterable<RunRow>,
    waitMs: number,
    mark?: string,
  ): Promise<RowNews | null> {
    this.changed(state);
    const key = JSON.stringify(question);
    const watch = this.#watches.get(key) ?? new Watch(question, rows());
    if (mark !== undefined) {
      const [epoch, after] = mark.split(" ");
      if (epoch !== this.#epoch || !state.memo.changes.remembers(Number(after))) return null;
      for (const { topics, row } of changesSince(state, Number(after))) {
        if (topics.some((topic) => watch.topics.has(topic))) watch.show(row);
      }
    }
    if (watch.isOver) watch.end();
    if (watch.isOver || waitMs <= 0) return watch.answer;
    this.#add(key, watch);
    return new Promise((resolve) => {
      const done = () => {
        stop();
        watch.waiters.delete(done);
        if (watch.waiters.size === 0) this.#remove(key, watch);
        resolve(watch.answer);
      };
      const stop = this.#timer(waitMs, done);
      watch.waiters.add(done);
    });
  }

  /** Ends all waits and starts again, after a load or after more changes than the pool remembers. */
  #begin(changes: Changes): void {
    this.#changes = changes;
    this.#epoch = crypto.randomUUID();
    this.#seen = changes.latest;
    for (const watch of [...this.#watches.values()]) {
      watch.show(undefined);
      watch.end();
    }
  }

  #add(key: string, watch: Watch): void {
    const isNew = !this.#watches.has(key);
    this.#assertRoom(isNew ? watch.ids : 0);
    if (!isNew) return;
    this.#watches.set(key, watch);
    for (const topic of watch.topics) {
      this.#byTopic.set(topic, (this.#byTopic.get(topic) ?? new Set()).add(watch));
    }
  }

  #remove(key: string, watch: Watch): void {
    this.#watches.delete(key);
    for (const topic of watch.topics) {
      const watches = this.#byTopic.get(topic);
      watches?.delete(watch);
      if (watches?.size === 0) this.#byTopic.delete(topic);
    }
  }

  /** Throws if there is no room for another wait with this many ids. */
  #assertRoom(ids: number): void {
    const held = [...this.#watches.values()].reduce((sum, watch) => sum + watch.ids, 0);
    if (this.size < MAX_HELD_WAITS && held + ids <= MAX_HELD_WAIT_IDS) return;
    const text =
      `${this.size} clients already wait in this pool, for ${held} ids: try again later, ` +
      "ask by a label instead of ids, or ask without `wait`";
    throw new DroverError("unavailable", text, { retryAfterMs: FULL_RETRY_MS });
  }
}

/** One question and all clients that wait for its answer. The watch looks only at changed rows. */
class Watch {
  /** The topics of changes that concern this watch. */
  readonly topics: ReadonlySet<string>;
  /** One callback for each client, called at the end. */
  readonly waiters = new Set<() => void>();
  readonly #question: RunWait;
  /** The runs that have started to match, by id. */
  readonly #matches = new Map<string, RunRow>();
  /** The runs that do not match yet, but can still match. */
  readonly #open = new Set<string>();
  #isMissed = false;
  #hasNews = false;
  #isLost = false;

  constructor(question: RunWait, rows: Iterable<RunRow>) {
    this.#question = question;
    this.topics = new Set(topicsOfQuestion(question));
    for (const row of rows) this.show(row);
    this.#matches.clear();
    this.#hasNews = false;
  }

  get ids(): number {
    return this.#question.ids?.length ?? 0;
  }

  /** Shows a changed row. `undefined`: the change has no row, so the client must list again. */
  show(row: RunRow | undefined): void {
    this.#hasNews = true;
    this.#isLost ||= row === undefined;
    if (row === undefined) return;
    const matches = isMatch(row, this.#question);
    const isOpen = !matches && canMatch(row, this.#question);
    if (matches) this.#matches.set(row.run, row);
    if (isOpen) this.#open.add(row.run);
    else this.#open.delete(row.run);
    if (!matches && !isOpen && isSelected(row, this.#question)) this.#isMissed = true;
  }

  /**
   * Whether the wait is over. A client that asks by ids knows the runs' states at the beginning, so only news
   * ends its wait.
   */
  get isOver(): boolean {
    const { ids, all } = this.#question;
    if (this.#isLost) return true;
    if (ids !== undefined && !this.#hasNews) return false;
    if (all) return this.#isMissed || this.#open.size === 0;
    return this.#matches.size > 0 || (ids !== undefined && this.#open.size === 0);
  }

  /** The answer, at the end of the wait or after `waitMs`. */
  get answer(): RowNews | null {
    if (this.#isLost) return null;
    return { items: [...this.#matches.values()], open: this.#open.size, missed: this.#isMissed };
  }

  end(): void {
    for (const done of [...this.waiters]) done();
  }
}

/** The changes after number `after`, with their topics. An entry has no row if no row shows the change. */
function* changesSince(
  { memo, runs }: PoolState,
  after: number,
): Generator<{ topics: string[]; row?: RunRow }> {
  for (const { table, key } of memo.changes.since(after)) {
    const row = table === "run" ? runs.get(key) : undefined;
    if (row !== undefined) yield { topics: topicsOfRow(row), row };
    else if (table === "deleted") yield { topics: [`run ${key}`] };
    else if (table === "label") yield { topics: [`label ${key}`] };
  }
}

function topicsOfRow({ run, labels, array }: RunRow): string[] {
  const pairs = Object.entries(labels).map(([name, value]) => `pair ${name} ${value}`);
  return ["all", `run ${run}`, ...pairs, ...(array === undefined ? [] : [`array ${array.id}`])];
}

/** With several labels the first pair is enough: a run that has all these labels has the first one, too. */
function topicsOfQuestion({ ids, labels, array }: RunWait): string[] {
  const [pair] = Object.entries(labels).map(([name, value]) => `pair ${name} ${value}`);
  const names = Object.keys(labels).map((name) => `label ${name}`);
  return [
    ...(ids?.map((id) => `run ${id}`) ?? [pair ?? (array === undefined ? "all" : `array ${array}`)]),
    ...names,
  ];
}
