// Who waits for runs of a pool, what ends a wait, and what is it answered with?

import type { RunRow } from "../../core/pool/record.ts";
import type { Changes } from "../../core/pool/rows/changes.ts";
import type { PoolState } from "../../core/pool/state.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_HELD_WAIT_IDS, MAX_HELD_WAITS } from "../../shared/limits.ts";
import type { RunNews, RunWait } from "../rpc.ts";
import { platformTimer, type Timer } from "../waiting.ts";
import { canMatch, isMatch, isSelected } from "./run-filter.ts";

/** When a pool that holds as many waits as it can may have room again. */
const FULL_RETRY_MS = 1_000;

/** `RunNews` with rows. */
type RowNews = Omit<RunNews, "items"> & { items: RunRow[] };

/**
 * All waits of a pool (api.md#waiting). A change is shown to those waits alone that it concerns, and equal
 * waits are one: what a change costs depends neither on how many clients wait nor on how many runs there are.
 */
export class RunWaits {
  readonly #watches = new Map<string, Watch>();
  /** The watches by their topics. */
  readonly #byTopic = new Map<string, Set<Watch>>();
  readonly #timer: Timer;
  #changes: Changes | undefined;
  /** Marks are good as long as this is the same. */
  #epoch = "";
  #seen = 0;

  constructor(timer: Timer = platformTimer) {
    this.#timer = timer;
  }

  /** How many clients wait. */
  get size(): number {
    let size = 0;
    for (const { waiters } of this.#watches.values()) size += waiters.size;
    return size;
  }

  /** Names this moment. What has changed since can be told for as long as this process remembers it. */
  mark(state: PoolState): string {
    this.changed(state);
    return `${this.#epoch} ${this.#seen}`;
  }

  /** Shows what has changed to the waits that it concerns. Called after every event. */
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
   * Holds until there is news for the question since the moment of `mark`, or `waitMs` are over; null: look
   * again (`PoolApi.wait`). `rows` has the rows that the question is about, if it must know what is open.
   * Throws `unavailable` if this pool holds as many waits as it can.
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

  /** A pool's state was loaded, or too much has changed at once: what has changed before is not known. */
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
      const watches = this.#byTopic.get(topic);
      if (watches === undefined) this.#byTopic.set(topic, new Set([watch]));
      else watches.add(watch);
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

  /** Throws if there is no room for one more wait, with so many ids that no other wait names. */
  #assertRoom(ids: number): void {
    const held = [...this.#watches.values()].reduce((sum, watch) => sum + watch.ids, 0);
    if (this.size < MAX_HELD_WAITS && held + ids <= MAX_HELD_WAIT_IDS) return;
    const text =
      `the pool holds ${this.size} waits for ${held} ids already, and takes no more: ask again, ` +
      "or by a label instead of by ids, or without `wait`";
    throw new DroverError("unavailable", text, { retryAfterMs: FULL_RETRY_MS });
  }
}

/** One question, and all who wait for its answer. It looks at the rows that change, and at no others. */
class Watch {
  /** What concerns it: changes with one of these topics. */
  readonly topics: ReadonlySet<string>;
  /** One for each client; called at the end. */
  readonly waiters = new Set<() => void>();
  readonly #question: RunWait;
  /** The runs that have come to match, by id. */
  readonly #matches = new Map<string, RunRow>();
  /** The runs that do not match yet. */
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

  /** Takes in a row as it is now. Without one the rows must be read again. */
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

  /** Whether it can be answered. Who asks by ids knows how these were at first: only news ends that wait. */
  get isOver(): boolean {
    const { ids, all } = this.#question;
    if (this.#isLost) return true;
    if (ids !== undefined && !this.#hasNews) return false;
    if (all) return this.#isMissed || this.#open.size === 0;
    return this.#matches.size > 0 || (ids !== undefined && this.#open.size === 0);
  }

  /** What is answered now, at the end or when the time is over. */
  get answer(): RowNews | null {
    if (this.#isLost) return null;
    return { items: [...this.#matches.values()], open: this.#open.size, missed: this.#isMissed };
  }

  end(): void {
    for (const done of [...this.waiters]) done();
  }
}

/** What has changed since then, each with its topics; without a row: what no row tells. */
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

function topicsOfRow({ run, labels }: RunRow): string[] {
  const pairs = Object.entries(labels).map(([name, value]) => `pair ${name} ${value}`);
  return ["all", `run ${run}`, ...pairs];
}

/** Of several labels one pair is enough: a run that has them all has this one. */
function topicsOfQuestion({ ids, labels }: RunWait): string[] {
  const [pair] = Object.entries(labels).map(([name, value]) => `pair ${name} ${value}`);
  const names = Object.keys(labels).map((name) => `label ${name}`);
  return [...(ids?.map((id) => `run ${id}`) ?? [pair ?? "all"]), ...names];
}
