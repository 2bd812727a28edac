// Which groups of a pane are open, and what has the reader chosen (ui.md#groups)?
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { documentRows, type LogDocument } from "../bytes/document.ts";
import type { Position } from "../bytes/position.ts";
import { type Folds, foldsAfter, NO_FOLDS } from "../fold/groups.ts";
import { type ShownRows, shownOf } from "../fold/shown.ts";

/** The groups of one pane. */
export class PaneFolds {
  readonly folds: ReadonlySignal<Folds>;
  readonly shown: ReadonlySignal<ShownRows>;
  readonly #choices: Signal<ReadonlyMap<string, boolean>> = signal(new Map());

  /** `opensLast`: the last group is open at first. */
  constructor(document: Signal<LogDocument>, position: Signal<Position>, opensLast: boolean) {
    const isFollowing = computed(() => position.value.is === "end");
    let before = NO_FOLDS;
    this.folds = computed(() => {
      const rules = { choices: this.#choices.value, isFollowing: isFollowing.value, opensLast };
      before = foldsAfter(before, document.value, rules);
      return before;
    });
    this.shown = computed(() => shownOf(documentRows(document.value), this.folds.value));
  }

  /** Opens a group, or closes it. */
  toggle(id: string): void {
    this.#choose(new Map([[id, !this.folds.peek().open.has(id)]]));
  }

  /** Opens or closes all groups that are in memory. */
  setAll(isOpen: boolean): void {
    this.#choose(new Map(this.folds.peek().groups.map(({ id }) => [id, isOpen])));
  }

  /** Opens the groups that hide any of these bytes. Returns whether there was one. */
  reveal(attempt: string, { from, to }: { from: number; to: number }): boolean {
    const { groups, open } = this.folds.peek();
    const closed = groups.filter((group) => {
      const isAround = group.attempt === attempt && group.bytes.from < to && group.bytes.to > from;
      return isAround && !open.has(group.id);
    });
    if (closed.length > 0) this.#choose(new Map(closed.map(({ id }) => [id, true])));
    return closed.length > 0;
  }

  #choose(choices: ReadonlyMap<string, boolean>): void {
    this.#choices.value = new Map([...this.#choices.peek(), ...choices]);
  }
}
