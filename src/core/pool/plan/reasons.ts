// Why does each run of a queue wait?
import type { RunRow } from "../record.ts";
import { likenessOf } from "./alike.ts";

/**
 * Why the runs of a queue wait, for readers: to decide, a pool needs none of it. A queue of a thousand equal
 * runs costs a plan as little as one run, so their reasons are looked up when somebody asks.
 */
export class Reasons<Wait> {
  readonly #first: [run: string, wait: Wait][] = [];
  #rest: { runs: readonly RunRow[]; byLikeness: ReadonlyMap<string, Wait> } | undefined;
  #byRun: Map<string, Wait> | undefined;

  /** Notes why one run waits. */
  note(run: RunRow, wait: Wait): void {
    this.#first.push([run.run, wait]);
  }

  /** Notes that all these runs wait for the reasons of those that they are like. */
  noteRest(runs: readonly RunRow[], byLikeness: ReadonlyMap<string, Wait>): void {
    this.#rest = { runs, byLikeness };
  }

  get byRun(): Map<string, Wait> {
    if (this.#byRun !== undefined) return this.#byRun;
    this.#byRun = new Map(this.#first);
    for (const run of this.#rest?.runs ?? []) {
      const wait = this.#rest?.byLikeness.get(likenessOf(run)?.text ?? "");
      if (wait !== undefined) this.#byRun.set(run.run, wait);
    }
    return this.#byRun;
  }
}
