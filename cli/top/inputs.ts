// How do keys, news and the end of a terminal reach one loop, in order?

/** What several sources put in, and one reader takes out. */
export class Inputs<Input> {
  #waiting: Input[] = [];
  #failure: { error: unknown } | undefined;
  #wake = () => {};

  put(input: Input): void {
    this.#waiting.push(input);
    this.#wake();
  }

  /** Has the reader fail with this error. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }

  /** All that has come since the last call, at least one. */
  async take(): Promise<Input[]> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#waiting.length > 0) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }
}
