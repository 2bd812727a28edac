/** What a name stands for; undefined if it is not known. */
export type LookUp = (name: string) => string | undefined;

const REFERENCE = /\$\{([A-Za-z0-9_.-]+)\}/g;

/**
 * Replaces each `${name}` by what it stands for. One that is not known stays as it is, so that what is meant
 * for a shell reaches it (`nomad.md` §4.10). What was put in is not looked through again.
 */
export function interpolate(text: string, lookUp: LookUp): string {
  return text.replace(REFERENCE, (reference, name: string) => lookUp(name) ?? reference);
}

/** The same for each value of a map. */
export function interpolateAll(map: Record<string, string>, lookUp: LookUp): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([key, text]) => [key, interpolate(text, lookUp)]));
}

/** Looks a name up in several maps, in order. Names that every object has are none of them. */
export function lookUpIn(...maps: Record<string, string>[]): LookUp {
  return (name) => maps.find((map) => Object.hasOwn(map, name))?.[name];
}
