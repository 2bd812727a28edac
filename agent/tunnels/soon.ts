// When is what has come sent: at once, or together with what comes next (tunnels.md#offsets)?
import type { Millis } from "../../src/shared/machine.ts";

/** The shortest time from one act to the next. */
export const SOON_MS: Millis = 4;

/**
 * Acts at once if it has not acted lately, so that a key that is typed is shown at once; else once for all
 * calls of the next `SOON_MS`, so that a command or a server that says little at a time makes few frames: the
 * host's socket has a pace.
 */
export class Soon {
  readonly #act: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(act: () => void) {
    this.#act = act;
  }

  /** There is more. */
  call(): void {
    if (this.#timer === undefined) this.#now();
    else this.#isDue = true;
  }

  /** Does nothing for the calls that it has not acted for. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
  }

  #now(): void {
    this.#isDue = false;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isDue) this.#now();
    }, SOON_MS);
    this.#act();
  }
}
