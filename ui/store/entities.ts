// What does the page know of runs and workers? One signal for each id, from lists and from live changes.
import { type Signal, signal } from "@preact/signals";
import type { RunSummary, WorkerSummary } from "../../src/generated/api.ts";
import { isTerminal } from "../../src/shared/run-state.ts";

/** The things of one kind, by id: what is live, and what is shown (ui.md#under-load). */
class Entities<T extends { id: string }> {
  readonly #known = new Map<string, Signal<T | undefined>>();
  readonly #shown = new Set<string>();
  /** The number of the latest change of each thing that is held. */
  readonly #changed = new Map<string, number>();
  #changes = 0;
  readonly #isNewer: (next: T, known: T) => boolean;
  readonly #isOver: (thing: T) => boolean;

  constructor(isNewer: (next: T, known: T) => boolean, isOver: (thing: T) => boolean) {
    this.#isNewer = isNewer;
    this.#isOver = isOver;
  }

  /** How many things are held. */
  get size(): number {
    return this.#known.size;
  }

  /** What is known of this id. Reading it in a component draws the component again when it changes. */
  get(id: string): T | undefined {
    return this.#signalOf(id).value;
  }

  /** Takes what a change says, unless something newer is known. */
  put(thing: T): void {
    const known = this.#known.get(thing.id)?.peek();
    if (known !== undefined && !this.#isNewer(thing, known)) return;
    this.#changes += 1;
    if (this.#isOver(thing) && !this.#shown.has(thing.id)) {
      this.#forget(thing.id);
      return;
    }
    this.#signalOf(thing.id).value = thing;
    this.#changed.set(thing.id, this.#changes);
  }

  /**
   * Asks for a list, and takes what it says of each thing, unless the thing has changed since the question
   * was asked. So a change that was missed does not hide what lists say from then on.
   */
  async ask<List extends { items: readonly T[] }>(question: () => Promise<List>): Promise<List> {
    const asked = this.#changes;
    const list = await question();
    for (const thing of list.items) {
      if ((this.#changed.get(thing.id) ?? 0) <= asked) this.put(thing);
    }
    return list;
  }

  #signalOf(id: string): Signal<T | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const [oldest] = this.#known;
    if (oldest !== undefined && this.#known.size >= MOST) {
      this.#forget(oldest[0]);
      // Who shows it is drawn again, and asks for another one.
      oldest[1].value = undefined;
    }
    const made = signal<T | undefined>(undefined, {
      watched: () => this.#shown.add(id),
      unwatched: () => this.#leave(id, made),
    });
    this.#known.set(id, made);
    return made;
  }

  /** Nobody shows it any more. What is over, or was never known, is not needed then. */
  #leave(id: string, left: Signal<T | undefined>): void {
    if (this.#known.get(id) !== left) return;
    this.#shown.delete(id);
    const thing = left.peek();
    if (thing === undefined || this.#isOver(thing)) this.#forget(id);
  }

  #forget(id: string): void {
    this.#known.delete(id);
    this.#changed.delete(id);
  }
}

/** More than are live at a time; what is shown comes from the latest list. */
const MOST = 20_000;

/** Runs, as lists show them. */
export const runs = new Entities<RunSummary>(
  (next, known) => next.version >= known.version,
  ({ state }) => isTerminal(state),
);
/** Workers, as lists show them. */
export const workers = new Entities<WorkerSummary>(
  () => true,
  ({ state }) => state === "gone",
);
