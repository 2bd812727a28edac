// Which waiting runs get the same verdict?
import type { RunRow } from "../record.ts";

/** Stands for all runs that a plan cannot tell apart, but for their places in the queue and their age. */
export interface Likeness {
  readonly text: string;
}

/** What runs look like to a plan. Rows never change, so it is found out once for each. */
const ofRows = new WeakMap<RunRow, Likeness>();
const byText = new Map<string, Likeness>();
/** Beyond this the texts are forgotten: equal runs may then have two likenesses, which costs only time. */
const MOST_TEXTS = 20_000;

/**
 * What a run looks like to a plan. Undefined: the verdict on the run depends on other runs or on particular
 * machines.
 */
export function likenessOf(run: RunRow): Likeness | undefined {
  const known = ofRows.get(run);
  if (known !== undefined) return known;
  const { prefer, avoid, replace, replacedBy } = run;
  if (prefer || avoid.length > 0 || replace !== undefined || replacedBy !== undefined) return undefined;
  const { project, resources, asks, protocol, containers, budget, array, concurrency } = run;
  const { key, limit } = concurrency ?? {};
  const { failAt, size } = array ?? {};
  const ofArray = [array?.id, array?.maxParallel, failAt, failAt === undefined ? null : size];
  const limits = [budget, ...ofArray, key, limit];
  const likeness = shared(
    JSON.stringify([project, resources, asks, protocol, containers !== undefined, ...limits]),
  );
  ofRows.set(run, likeness);
  return likeness;
}

function shared(text: string): Likeness {
  const found = byText.get(text);
  if (found !== undefined) return found;
  if (byText.size >= MOST_TEXTS) byText.clear();
  const likeness = { text };
  byText.set(text, likeness);
  return likeness;
}

/** How many kinds of runs wait. The counts are of texts: what has none is like no other run. */
export class Kinds {
  readonly #counts = new Map<string, number>();
  #unlike = 0;

  constructor(runs: readonly RunRow[]) {
    for (const run of runs) this.add(run);
  }

  add(run: RunRow): void {
    const kind = likenessOf(run);
    if (kind === undefined) this.#unlike += 1;
    else this.#counts.set(kind.text, (this.#counts.get(kind.text) ?? 0) + 1);
  }

  remove(run: RunRow): void {
    const kind = likenessOf(run);
    if (kind === undefined) {
      this.#unlike -= 1;
      return;
    }
    const left = (this.#counts.get(kind.text) ?? 0) - 1;
    if (left > 0) this.#counts.set(kind.text, left);
    else this.#counts.delete(kind.text);
  }

  /** Undefined: a run is like no other. */
  get count(): number | undefined {
    return this.#unlike > 0 ? undefined : this.#counts.size;
  }
}

/**
 * Why runs of one age were refused, by what they look like. A refusal holds for the next such run as long as
 * nothing has been placed, reserved or requested since: a queue of a thousand equal runs is one decision.
 */
export class Refusals<Wait> {
  #step = -1;
  #ofStep = new Map<string, Wait>();

  /** The refusal of such a run, if it was made in this step. */
  of(likeness: Likeness, step: number): Wait | undefined {
    return step === this.#step ? this.#ofStep.get(likeness.text) : undefined;
  }

  note(likeness: Likeness, step: number, wait: Wait): void {
    if (step !== this.#step) this.#ofStep = new Map();
    this.#step = step;
    this.#ofStep.set(likeness.text, wait);
  }

  /** All refusals of this step, by the texts of likenesses; undefined: there are none. */
  at(step: number): ReadonlyMap<string, Wait> | undefined {
    return step === this.#step ? this.#ofStep : undefined;
  }
}
