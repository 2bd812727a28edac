/**
 * What every choice that tests leave to chance comes from. It is the same each time, so that a change which
 * is tested is to blame for what fails, and what fails can be repeated. `DROVER_SEED=7` makes other choices,
 * `DROVER_SEED=random` makes such that nobody has made before.
 */
export const SEED = seedOf(process.env.DROVER_SEED ?? "1");

function seedOf(text: string): number {
  if (text === "random") return Date.now() % 1_000_000;
  const seed = Number(text);
  if (Number.isSafeInteger(seed)) return seed;
  throw new Error(`DROVER_SEED is ${JSON.stringify(text)}: it has to be a whole number, or "random"`);
}
