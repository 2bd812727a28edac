interface Planned {
  at: number;
  order: number;
  /** Undefined once it is taken back. */
  happen: (() => void) | undefined;
}

/** What happens, in the order of virtual time; at one instant, in the order in which it was planned. */
export class Timeline {
  now = 1_000_000;
  #planned = 0;
  /** A binary heap: the next thing to happen is the first. */
  readonly #heap: Planned[] = [];

  after(delayMs: number, happen: () => void): () => void {
    return this.at(this.now + Math.max(0, delayMs), happen);
  }

  /** Plans something. What it returns takes that back: then it is no step either. */
  at(instant: number, happen: () => void): () => void {
    this.#planned += 1;
    const planned: Planned = { at: Math.max(instant, this.now), order: this.#planned, happen };
    this.#rise(planned);
    return () => {
      planned.happen = undefined;
    };
  }

  /** Resolves after so many virtual milliseconds. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Lets the next thing happen. False if nothing is left. */
  step(): boolean {
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      if (this.#happens(next)) return true;
    }
    return false;
  }

  /** Lets everything happen that is planned up to an instant. Then that is now. */
  until(instant: number): void {
    for (let [next] = this.#heap; next !== undefined && next.at <= instant; [next] = this.#heap) {
      this.#take();
      this.#happens(next);
    }
    this.now = Math.max(this.now, instant);
  }

  #happens({ at, happen }: Planned): boolean {
    if (happen === undefined) return false;
    this.now = at;
    happen();
    return true;
  }

  #take(): Planned | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  /** Puts something new at its place, from the end of the heap. */
  #rise(planned: Planned): void {
    const heap = this.#heap;
    let place = heap.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(planned, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = planned;
  }

  /** Puts what was last at its place, from the top of the heap. */
  #sink(planned: Planned): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      let below = heap[child];
      if (below === undefined) break;
      const other = heap[child + 1];
      if (other !== undefined && isBefore(other, below)) {
        child += 1;
        below = other;
      }
      if (!isBefore(below, planned)) break;
      heap[place] = below;
      place = child;
    }
    heap[place] = planned;
  }
}

function isBefore(x: Planned, y: Planned): boolean {
  return x.at < y.at || (x.at === y.at && x.order < y.order);
}
