// What does the page know of runs and workers? One signal for each id, from lists and from live changes.
import { type Signal, signal } from "@preact/signals";
import type { RunSummary, WorkerSummary } from "../../src/generated/api.ts";

/** The things of one kind, by id. */
class Entities<T extends { id: string }> {
  readonly #known = new Map<string, Signal<T | undefined>>();
  readonly #isNewer: (next: T, known: T) => boolean;

  constructor(isNewer: (next: T, known: T) => boolean) {
    this.#isNewer = isNewer;
  }

  /** What is known of this id. Reading it in a component draws the component again when it changes. */
  get(id: string): T | undefined {
    return this.#signalOf(id).value;
  }

  /** Takes what a list or a change says, unless something newer is known. */
  put(thing: T): void {
    const slot = this.#signalOf(thing.id);
    const known = slot.peek();
    if (known === undefined || this.#isNewer(thing, known)) slot.value = thing;
  }

  #signalOf(id: string): Signal<T | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const [oldest] = this.#known;
    if (oldest !== undefined && this.#known.size >= MOST) {
      this.#known.delete(oldest[0]);
      // Who shows it is drawn again, and asks for another one.
      oldest[1].value = undefined;
    }
    const made = signal<T | undefined>(undefined);
    this.#known.set(id, made);
    return made;
  }
}

/** More than are live at a time; what is shown comes from the latest list. */
const MOST = 20_000;

/** Runs, as lists show them. */
export const runs = new Entities<RunSummary>((next, known) => next.version >= known.version);
/** Workers, as lists show them. */
export const workers = new Entities<WorkerSummary>(() => true);
