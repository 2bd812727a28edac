import { leftBehind } from "../../src/core/worker/life/kill.ts";
import type { WorkerRecord } from "../../src/core/worker/state.ts";
import type { LeftBehind } from "../../src/schema/pool.ts";

/**
 * What operators have asked for by name, and which machines that has left at the provider (workers.md#kills).
 * An audit excuses nothing else.
 */
export class Force {
  readonly #named = new Set<string>();
  readonly #ofPool = new Set<string>();
  /** When each killed worker has stored that. */
  readonly #killedAt = new Map<string, number>();
  /**
   * Machines that a forced end has left behind: since when nobody knows of them; null: a listing has shown
   * them since.
   */
  readonly #left = new Map<string, number | null>();
  readonly #leftMs = new Map<string, number>();
  /** The pool is being deleted by force, or is deleted: until it is back. */
  isDeleting = false;
  backAt = 0;
  /** Counts what was left behind, and what was found again. */
  changes = 0;
  #watcher: (worker: string) => void = () => {};

  /** Sets who is told of each worker to which force may do more than before. */
  watch(watcher: (worker: string) => void): void {
    this.#watcher = watcher;
  }

  /** An operator kills it by its name. */
  kills(worker: string): void {
    this.#named.add(worker);
    this.#watcher(worker);
  }

  /** An operator deletes the pool. */
  deletes(): void {
    this.isDeleting = true;
    for (const worker of this.#left.keys()) this.#named.add(worker);
  }

  /** It is there while its pool is deleted. */
  killsWithPool(worker: string): void {
    if (this.#ofPool.has(worker)) return;
    this.#ofPool.add(worker);
    this.#watcher(worker);
  }

  /** Whether it may be destroyed with a run on it (invariant 4). */
  mayDestroy(worker: string): boolean {
    return this.#named.has(worker) || this.#ofPool.has(worker);
  }

  /** Whether a deletion of the pool need not name its machine: somebody was told of that before. */
  isToldOf(worker: string): boolean {
    return this.#named.has(worker);
  }

  stored(worker: string, before: WorkerRecord | null, after: WorkerRecord | null, now: number): void {
    const isNew = (before?.killedBy ?? null) === null && (after?.killedBy ?? null) !== null;
    if (isNew) this.#killedAt.set(worker, now);
  }

  /** Since when its host's word on ends counts no more. */
  killedAt(worker: string): number {
    return this.#killedAt.get(worker) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Whether a living machine was left behind at any time by a forced end that its worker names. `isLost`:
   * nobody knows of it now.
   */
  isLeft(
    worker: string,
    instance: string,
    record: WorkerRecord | null | undefined,
    isLost: boolean,
    now: number,
  ): boolean {
    if (!isLost) {
      this.#found(worker, now);
      return this.#left.has(worker);
    }
    const known = this.#left.get(worker);
    if (known !== undefined && known !== null) return true;
    const left = record?.phase === "gone" ? leftBehind(record) : undefined;
    const isNamed = left !== undefined && names(left, instance);
    // The pool's row may come back later than its worker.
    if (!isNamed || !this.mayDestroy(worker)) return known === null && record?.phase === "shutdown";
    this.#left.set(worker, now);
    this.changes += 1;
    return true;
  }

  /** Since when nobody knows of a machine that was left behind; undefined: it is known, or was not. */
  leftSince(worker: string): number | undefined {
    return this.#left.get(worker) ?? undefined;
  }

  #found(worker: string, now: number): void {
    if (this.leftSince(worker) === undefined) return;
    this.#leftMs.set(worker, this.leftMs(worker, now));
    this.#left.set(worker, null);
    this.changes += 1;
  }

  /** For how long nobody knew of it, as long as it lived. */
  leftMs(worker: string, until: number): number {
    const since = this.leftSince(worker) ?? until;
    return (this.#leftMs.get(worker) ?? 0) + until - since;
  }
}

/** A living machine that a forced deletion of its pool has not named; undefined: there is none. */
export function unnamed<Machine extends { worker: string; instance: string }>(
  machines: Iterable<Machine>,
  left: readonly LeftBehind[],
): Machine | undefined {
  const isNamed = ({ worker, instance }: Machine) =>
    left.some((one) => one.worker === worker && names(one, instance));
  return [...machines].find((machine) => !isNamed(machine));
}

/**
 * Whether what is said to be left behind is this machine, or may be. Who was shown only the second machine of
 * a name cannot name the first.
 */
function names({ instance, others = [] }: LeftBehind, id: string): boolean {
  return instance === null || instance === id || instance === `${id}-second` || others.includes(id);
}
