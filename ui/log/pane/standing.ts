// Which place of a document does somebody look at, and what has come since (ui.md#d2)?
import { computed, type Signal, signal } from "@preact/signals";
import type { BytePlace, LogDocument } from "../bytes/document.ts";
import { type Position, positionOf, rowsAfter } from "../bytes/position.ts";
import type { Anchor } from "../scroll.ts";

/** The place of the reader of a document: its end, or a row that stays where it is. */
export class Standing {
  readonly position: Signal<Position> = signal({ is: "end" });
  /** How many rows came since somebody stopped following; undefined while the view follows. */
  readonly newRows = computed(() => {
    const seen = this.#seen.value;
    return seen === undefined ? undefined : rowsAfter(this.#document.value, seen);
  });
  readonly #document: Signal<LogDocument>;
  readonly #seen: Signal<BytePlace | undefined> = signal(undefined);

  constructor(document: Signal<LogDocument>) {
    this.#document = document;
  }

  /** Follows: the end stays in view, whatever comes. */
  toEnd(): void {
    this.#seen.value = undefined;
    this.position.value = { is: "end" };
  }

  /** Stays at a place. */
  moveTo(anchor: Anchor): void {
    if (this.position.peek().is === "end") this.#seen.value = this.#lastByte();
    this.position.value = positionOf(this.#document.peek(), anchor);
  }

  /** What comes from now on is new to somebody who does not follow. */
  countFromHere(): void {
    if (this.position.peek().is === "at") this.#seen.value ??= this.#lastByte();
  }

  #lastByte(): BytePlace | undefined {
    const last = this.#document.peek().sections.at(-1);
    return last && { attempt: last.attempt, offset: Math.max(0, last.window.to - 1) };
  }
}
