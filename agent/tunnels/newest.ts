// Which of several values is applied last: the newest, however long each takes (tunnels.md#terminal).

/** Applies values one at a time, and of those that came meanwhile only the newest. */
export class Newest<Value> {
  readonly #apply: (value: Value) => Promise<void>;
  #next: { value: Value } | undefined;
  #applying: Promise<void> | undefined;

  /** `apply` must not reject. */
  constructor(apply: (value: Value) => Promise<void>) {
    this.#apply = apply;
  }

  /** Resolves once this value, or one that came after it, has been applied. */
  set(value: Value): Promise<void> {
    this.#next = { value };
    this.#applying ??= this.#applyAll();
    return this.#applying;
  }

  async #applyAll(): Promise<void> {
    for (let next = this.#next; next !== undefined; next = this.#next) {
      this.#next = undefined;
      await this.#apply(next.value);
    }
    this.#applying = undefined;
  }
}
