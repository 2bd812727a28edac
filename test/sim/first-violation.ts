import { type Options, type Result, simulate } from "./simulation.ts";

/** The first seed, from 1 on, whose story breaks a rule, with that story. Null: all of them hold. */
export async function firstViolation(
  options: Omit<Options, "seed">,
  seeds: number,
): Promise<(Options & { found: Result }) | null> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const found = await simulate({ ...options, seed });
    if (found.violation !== undefined) return { ...options, seed, found };
  }
  return null;
}
