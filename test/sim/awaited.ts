/** Things that come once, by name, and those who wait for them. */
export class Awaited {
  readonly #came = new Set<string>();
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves once it has come. */
  of(name: string): Promise<void> {
    if (this.#came.has(name)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve]);
    });
  }

  come(name: string): void {
    this.#came.add(name);
    for (const resolve of this.#waiting.get(name) ?? []) resolve();
    this.#waiting.delete(name);
  }
}
