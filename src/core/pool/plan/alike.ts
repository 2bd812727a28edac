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
  const { project, resources, asks, protocol, containers, budget, array } = run;
  const limits = [budget, array?.id, array?.maxParallel];
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

/**
 * Why runs of one age were refused, by what they look like. A refusal holds for the next such run as long as
 * nothing has been placed, reserved or requested since: a queue of a thousand equal runs is one decision.
 */
export class Refusals<Wait> {
  readonly #waits = new Map<Likeness, { step: number; wait: Wait }>();

  /** The refusal of such a run, if it was made in this step. */
  of(likeness: Likeness, step: number): Wait | undefined {
    const found = this.#waits.get(likeness);
    return found?.step === step ? found.wait : undefined;
  }

  note(likeness: Likeness, step: number, wait: Wait): void {
    this.#waits.set(likeness, { step, wait });
  }
}
