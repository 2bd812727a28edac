import { type Options, type Result, simulate } from "./simulation.ts";
import type { Line } from "./world.ts";

/**
 * Seeds that are tried for each simpler kind of story: another seed can tell the same failure more shortly.
 */
const SEEDS_TRIED = 30;

/**
 * Looks for the shortest story of a failure: fewer runs, fewer kinds of faults, fewer steps. A simpler kind
 * of story is taken when one of its first seeds, or the failing one, fails too.
 */
export async function shortest(failing: Options): Promise<{ options: Options; result: Result }> {
  let best = { options: failing, result: await simulate(failing) };
  for (let simpler = true; simpler; ) {
    simpler = false;
    for (const options of simplifications(best.options)) {
      const found = await firstFailing(options, failing.seed);
      if (found === undefined || found.result.steps > best.result.steps) continue;
      best = found;
      simpler = true;
      break;
    }
  }
  return best;
}

function* simplifications(options: Options): Generator<Options> {
  for (const runs of [1, 2, 3, options.runs - 1])
    if (runs > 0 && runs < options.runs) yield { ...options, runs };
  for (const fault of options.faults) {
    yield { ...options, faults: options.faults.filter((one) => one !== fault) };
  }
}

async function firstFailing(
  options: Options,
  seed: number,
): Promise<{ options: Options; result: Result } | undefined> {
  const seeds = [seed, ...Array.from({ length: SEEDS_TRIED }, (_, i) => i + 1)];
  for (const one of seeds) {
    const tried = { ...options, seed: one };
    const result = await simulate(tried);
    if (result.violation !== undefined) return { options: tried, result };
  }
  return undefined;
}

/** The story as text: the lines about those who are concerned, the time in seconds from the beginning. */
export function tellStory({ violation, story }: Result): string {
  const concerned = violation?.about ?? [];
  const start = story[0]?.at ?? 0;
  const matters = ({ about, text }: Line) => concerned.some((name) => about === name || mentions(text, name));
  const lines = (concerned.length === 0 ? story : story.filter(matters)).map(({ at, about, text }) => {
    return `${((at - start) / 1_000).toFixed(3).padStart(10)} s  ${about}: ${text}`;
  });
  return [...lines, `            => ${violation?.message ?? "no violation"}`].join("\n");
}

function mentions(text: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(text);
}
