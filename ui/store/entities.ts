// What does the page know of runs and workers? One signal for each id, from lists and from live changes.
import { type Signal, signal } from "@preact/signals";
import type { RunSummary, WorkerSummary } from "../../src/generated/api.ts";

/** The things of one kind, by id. */
class Entities<T extends { id: string }> {
  readonly #known = new Map<string, Signal<T>>();
  readonly #isNewer: (next: T, known: T) => boolean;

  constructor(isNewer: (next: T, known: T) => boolean) {
    this.#isNewer = isNewer;
  }

  /** What is known of this id. Reading it in a component draws the component again when it changes. */
  get(id: string): T | undefined {
    return this.#known.get(id)?.value;
  }

  /** Takes what a list or a change says, unless something newer is known. */
  put(thing: T): void {
    const known = this.#known.get(thing.id);
    if (known === undefined) {
      if (this.#known.size >= MOST) this.#forgetOldest();
      this.#known.set(thing.id, signal(thing));
    } else if (this.#isNewer(thing, known.peek())) known.value = thing;
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

/** More than are live at a time; what is shown comes from the latest list. */
const MOST = 20_000;

/** Runs, as lists show them. */
export const runs = new Entities<RunSummary>((next, known) => next.version >= known.version);
/** Workers, as lists show them. */
export const workers = new Entities<WorkerSummary>(() => true);
