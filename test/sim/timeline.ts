interface Planned {
  at: number;
  order: number;
  happen: () => void;
  canceled: boolean;
}

/** What happens, in the order of virtual time; at one instant, in the order in which it was planned. */
export class Timeline {
  now = 1_000_000;
  #planned = 0;
  readonly #heap: Planned[] = [];

  after(delayMs: number, happen: () => void): () => void {
    return this.at(this.now + Math.max(0, delayMs), happen);
  }

  /** Plans something. What it returns takes that back: then it is no step either. */
  at(instant: number, happen: () => void): () => void {
    const heap = this.#heap;
    this.#planned += 1;
    const planned = { at: Math.max(instant, this.now), order: this.#planned, happen, canceled: false };
    heap.push(planned);
    for (let child = heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.#before(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
    return () => {
      planned.canceled = true;
    };
  }

  /** Resolves after so many virtual milliseconds. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Lets the next thing happen. False if nothing is left. */
  step(): boolean {
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      if (next.canceled) continue;
      this.now = next.at;
      next.happen();
      return true;
    }
    return false;
  }

  /** Lets everything happen that is planned up to an instant. Then that is now. */
  until(instant: number): void {
    for (let [next] = this.#heap; next !== undefined && next.at <= instant; [next] = this.#heap) {
      this.#take();
      if (next.canceled) continue;
      this.now = next.at;
      next.happen();
    }
    this.now = Math.max(this.now, instant);
  }

  #take(): Planned | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first !== undefined && last !== undefined && heap.length > 0) {
      heap[0] = last;
      this.#sink();
    }
    return first;
  }

  #sink(): void {
    for (let parent = 0; ; ) {
      const children = [2 * parent + 1, 2 * parent + 2].filter((child) => child < this.#heap.length);
      const [a, b] = children;
      if (a === undefined) return;
      const least = b !== undefined && this.#before(b, a) ? b : a;
      if (!this.#before(least, parent)) return;
      this.#swap(least, parent);
      parent = least;
    }
  }

  #before(a: number, b: number): boolean {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (x === undefined || y === undefined) return false;
    return x.at < y.at || (x.at === y.at && x.order < y.order);
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (x === undefined || y === undefined) return;
    this.#heap[a] = y;
    this.#heap[b] = x;
  }
}
