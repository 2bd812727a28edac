import type { RunRow } from "../../core/pool/record.ts";
import type { Changes } from "../../core/pool/rows/changes.ts";
import type { PoolState } from "../../core/pool/state.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_HELD_WAIT_IDS, MAX_HELD_WAITS } from "../../shared/limits.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { RunFilter, Unsettled } from "../rpc.ts";
import { platformTimer, type Timer } from "../waiting.ts";
import { canMatch, isMatch, isSelected } from "./run-filter.ts";

/** What one wait has come to, or not yet. It is told of the rows that change, and reads no others. */
interface Watch<Answer> {
  /** A row that the filter may be about has changed. */
  changed(row: RunRow): void;
  /** Whether the wait is over. */
  over(): boolean;
  /** What is answered now: at the end, or when the time is over. */
  answer(): Answer;
}

/** All who ask the same question wait together: what changes is looked at once for all of them. */
interface Group {
  key: string;
  filter: RunFilter;
  watch: Watch<unknown>;
  /** Called when it is over; `again`: the rows must be read anew. */
  waiters: Set<(answer: unknown) => void>;
}

type Labels = Readonly<Record<string, string>>;

/** When a pool that holds as many waits as it can may have room again. */
const FULL_RETRY_MS = 1_000;

/** The rows must be read anew: what has changed meanwhile is not known any more. */
const AGAIN = Symbol("again");

/**
 * Everybody who waits for runs of a pool. A change is shown only to those whose filter names the run, or one
 * of its labels, so it costs what it concerns and not how many wait; and whoever asks the same waits as one.
 */
export class RunWaits {
  readonly #groups = new Map<string, Group>();
  readonly #byId = new Map<string, Set<Group>>();
  readonly #byLabel = new Map<string, Set<Group>>();
  readonly #others = new Set<Group>();
  readonly #timer: Timer;
  #changes: Changes | undefined;
  /** Marks are good as long as this is the same. */
  #epoch = "";
  #seen = 0;
  #deletions = 0;

  constructor(timer: Timer = platformTimer) {
    this.#timer = timer;
  }

  /** How many wait. */
  get size(): number {
    let size = 0;
    for (const { waiters } of this.#groups.values()) size += waiters.size;
    return size;
  }

  /** Names this moment: what has changed since can be told as long as no labels change, in this process. */
  mark(state: PoolState): string {
    this.changed(state);
    return `${this.#epoch} ${this.#seen} ${this.#deletions}`;
  }

  /** Shows what has changed to those whom it concerns. Called after every event. */
  changed({ memo: { changes }, runs }: PoolState): void {
    if (changes !== this.#changes || !changes.remembers(this.#seen)) this.#begin(changes);
    this.#tellOfDeleted(changes);
    if (changes.latest === this.#seen) return;
    const touched = new Set<Group>();
    if (this.#groups.size > 0) {
      for (const [, { table, key }] of changes.since(this.#seen)) {
        const row = table === "run" ? runs.get(key) : undefined;
        if (row !== undefined) this.#show(row, touched);
      }
    }
    this.#seen = changes.latest;
    for (const group of touched) if (group.watch.over()) this.#end(group, group.watch.answer());
  }

  /**
   * A run's labels may have changed. Queries by a label that has changed must read the rows again, and so
   * must queries with an older mark: a row has the labels that a run has now, and not those that it had.
   */
  relabeled(before: Labels | undefined, after: Labels | undefined): void {
    if (before === undefined || after === undefined) return;
    const names = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
    if (names.length === 0) return;
    this.#epoch = crypto.randomUUID();
    for (const group of [...this.#groups.values()]) {
      if (names.some((name) => Object.hasOwn(group.filter.labels, name))) this.#end(group, AGAIN);
    }
  }

  /** Queries that name a run that was deleted must read the rows again, and learn that it is gone. */
  #tellOfDeleted(changes: Changes): void {
    if (changes.deletions === this.#deletions) return;
    for (const run of changes.deletedSince(this.#deletions) ?? this.#byId.keys()) {
      for (const group of [...(this.#byId.get(run) ?? [])]) this.#end(group, AGAIN);
    }
    this.#deletions = changes.deletions;
  }

  /** Holds until one of these runs has been deleted since the moment of `mark`, or that is not known. */
  async gone(state: PoolState, ids: string[], waitMs: number, mark: string): Promise<void> {
    this.changed(state);
    const [epoch, , deletions] = mark.split(" ");
    const since = epoch === this.#epoch ? this.#changes?.deletedSince(Number(deletions)) : undefined;
    if (since === undefined || since.some((run) => ids.includes(run))) return;
    const filter = { ids, labels: {}, states: [] };
    await this.#wait(`gone ${JSON.stringify(ids)}`, filter, () => NEVER_OVER, waitMs);
  }

  /**
   * The runs that match first, after the moment of `mark`, at which none did; none if the time is over, or
   * none can any more. Undefined if the mark is too old, or labels have changed: read the rows anew.
   */
  async first(
    state: PoolState,
    filter: RunFilter,
    waitMs: number,
    how: { mark: string } | { rows: RunRow[] },
  ): Promise<RunRow[] | undefined> {
    this.changed(state);
    const rows = "rows" in how ? how.rows : this.#since(state, how.mark);
    if (rows === undefined) return undefined;
    const now = rows.filter((row) => isMatch(row, filter));
    if (now.length > 0) return now;
    const make = () => firstOf(filter, "rows" in how ? rows : undefined);
    const answer = await this.#wait(`first ${JSON.stringify(filter)}`, filter, make, waitMs);
    // Of the watch that was made here, or is asked the same.
    return answer === AGAIN ? undefined : (answer as RunRow[]);
  }

  /** Holds until all runs that the filter selects are in its states, or cannot all be any more. */
  async settled(state: PoolState, filter: RunFilter, rows: RunRow[], waitMs: number): Promise<Unsettled> {
    this.changed(state);
    const make = () => allOf(filter, rows);
    const answer = await this.#wait(`all ${JSON.stringify(filter)}`, filter, make, waitMs);
    // As above. Who must read anew asks again, as after any wait for all.
    return answer === AGAIN ? { open: 1, missed: false } : (answer as Unsettled);
  }

  /** A pool's state was loaded, or too much has changed at once: nobody knows what has changed before. */
  #begin(changes: Changes): void {
    this.#changes = changes;
    this.#epoch = crypto.randomUUID();
    this.#seen = changes.latest;
    this.#deletions = changes.deletions;
    for (const group of [...this.#groups.values()]) this.#end(group, AGAIN);
  }

  /** The runs that have changed since that moment; undefined if it is not remembered. */
  #since({ runs }: PoolState, mark: string): RunRow[] | undefined {
    const [epoch, number] = mark.split(" ");
    const after = Number(number);
    if (epoch !== this.#epoch || !this.#changes?.remembers(after)) return undefined;
    const changes = [...this.#changes.since(after)].filter(([, { table }]) => table === "run");
    return changes.flatMap(([, { key }]) => runs.get(key) ?? []);
  }

  #show(row: RunRow, touched: Set<Group>): void {
    const places = [this.#others, this.#byId.get(row.run)];
    if (this.#byLabel.size > 0) {
      for (const name in row.labels) places.push(this.#byLabel.get(labelKey(name, row.labels[name])));
    }
    for (const place of places) {
      for (const group of place ?? []) {
        group.watch.changed(row);
        touched.add(group);
      }
    }
  }

  async #wait(key: string, filter: RunFilter, make: () => Watch<unknown>, waitMs: number): Promise<unknown> {
    const found = this.#groups.get(key);
    const group = found ?? { key, filter, watch: make(), waiters: new Set() };
    if (group.watch.over() || waitMs <= 0) return group.watch.answer();
    this.#assertRoom(found === undefined ? (filter.ids?.length ?? 0) : 0);
    if (found === undefined) this.#add(group);
    return new Promise((resolve) => {
      const stop = this.#timer(waitMs, () => {
        group.waiters.delete(done);
        if (group.waiters.size === 0) this.#remove(group);
        resolve(group.watch.answer());
      });
      const done = (answer: unknown) => {
        stop();
        resolve(answer);
      };
      group.waiters.add(done);
    });
  }

  /** Throws `unavailable` if this pool cannot hold one wait more, for so many ids that no other asks for. */
  #assertRoom(ids: number): void {
    let held = ids;
    for (const { filter } of this.#groups.values()) held += filter.ids?.length ?? 0;
    if (this.size < MAX_HELD_WAITS && held <= MAX_HELD_WAIT_IDS) return;
    const text =
      `the pool holds ${this.size} waits for ${held - ids} ids already, and takes no more: ask again, ` +
      "or by a label instead of by ids, or without `wait`";
    throw new DroverError("unavailable", text, { retryAfterMs: FULL_RETRY_MS });
  }

  #end(group: Group, answer: unknown): void {
    this.#remove(group);
    for (const done of group.waiters) done(answer);
    group.waiters.clear();
  }

  #add(group: Group): void {
    this.#groups.set(group.key, group);
    const { ids, labels } = group.filter;
    const [label] = Object.entries(labels);
    if (ids !== undefined) for (const id of ids) addTo(this.#byId, id, group);
    else if (label !== undefined) addTo(this.#byLabel, labelKey(...label), group);
    else this.#others.add(group);
  }

  #remove(group: Group): void {
    this.#groups.delete(group.key);
    const { ids, labels } = group.filter;
    const [label] = Object.entries(labels);
    if (ids !== undefined) for (const id of ids) removeFrom(this.#byId, id, group);
    else if (label !== undefined) removeFrom(this.#byLabel, labelKey(...label), group);
    else this.#others.delete(group);
  }
}

/** Waits for what no change of a row tells. */
const NEVER_OVER: Watch<unknown> = { changed: () => {}, over: () => false, answer: () => undefined };

/** Waits for the first run that matches; of `rows`, if given, while one of these can. */
function firstOf(filter: RunFilter, rows?: RunRow[]): Watch<RunRow[]> {
  const found: RunRow[] = [];
  const open = rows && new Set(rows.filter((row) => canMatch(row, filter)).map(({ run }) => run));
  return {
    changed(row) {
      if (isMatch(row, filter)) found.push(row);
      else if (!canMatch(row, filter)) open?.delete(row.run);
    },
    over: () => found.length > 0 || open?.size === 0,
    answer: () => found,
  };
}

/** Waits until no run is open. Runs that come meanwhile count, too. */
function allOf(filter: RunFilter, rows: RunRow[]): Watch<Unsettled> {
  const open = new Set<string>();
  let missed = false;
  const changed = (row: RunRow) => {
    if (!isSelected(row, filter)) return;
    const mayStill = !isMatch(row, filter) && canMatch(row, filter);
    if (mayStill) open.add(row.run);
    else open.delete(row.run);
    if (!mayStill && !isMatch(row, filter)) missed = true;
  };
  for (const row of rows) if (!isTerminal(row.state)) changed(row);
  return {
    changed,
    over: () => missed || open.size === 0,
    answer: () => ({ open: open.size, missed }),
  };
}

function labelKey(name: string, value: string | undefined): string {
  return `${name}\0${value}`;
}

function addTo(index: Map<string, Set<Group>>, key: string, group: Group): void {
  const groups = index.get(key);
  if (groups === undefined) index.set(key, new Set([group]));
  else groups.add(group);
}

function removeFrom(index: Map<string, Set<Group>>, key: string, group: Group): void {
  const groups = index.get(key);
  groups?.delete(group);
  if (groups?.size === 0) index.delete(key);
}
