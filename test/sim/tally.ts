import type { Told } from "./team.ts";

/** What a run of the simulator has told so far: which seeds, how many steps, how fast. */
export class Tally {
  readonly #from: number;
  readonly #beganAt: number;
  /** Seeds that have held, above the first one that has not been told yet. */
  readonly #early = new Set<number>();
  readonly #ends: Record<string, number> = {};
  #upTo: number;
  #cpuMs = 0;
  steps = 0;

  /** `from`: the first seed. `now`: when it began, in milliseconds. */
  constructor(from: number, now: number) {
    this.#from = from;
    this.#upTo = from - 1;
    this.#beganAt = now;
  }

  /** The seed from which to go on: all before it have held. */
  get next(): number {
    return this.#upTo + 1;
  }

  /** A story has held. */
  held({ seed, steps, ends, cpuMs }: Omit<Told, "violation">): void {
    this.#early.add(seed);
    while (this.#early.delete(this.next)) this.#upTo += 1;
    this.steps += steps;
    this.#cpuMs += cpuMs;
    for (const [end, count] of Object.entries(ends)) this.#ends[end] = (this.#ends[end] ?? 0) + count;
  }

  /** Seeds, steps and rates at `now`, in one line. */
  line(now: number): string {
    const told = this.next - this.#from + this.#early.size;
    const seeds = told === 0 ? "no seeds" : `seeds ${this.#from} to ${this.#from + told - 1}`;
    const seconds = Math.max(1, now - this.#beganAt) / 1_000;
    const perSecond = grouped(this.steps / seconds);
    const perCore = grouped(this.steps / (Math.max(1, this.#cpuMs) / 1_000));
    const rates = `${perSecond} steps/s, ${perCore} per second of a core`;
    return `${seeds}, ${grouped(this.steps)} steps in ${Math.round(seconds)} s: ${rates}`;
  }

  /** How the runs of the stories ended, in one line. */
  ends(): string {
    return Object.entries(this.#ends)
      .map(([end, count]) => `${grouped(count)} ${end}`)
      .join(", ");
  }
}

/** A whole number with its digits in groups: `12,345`. */
export function grouped(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}
