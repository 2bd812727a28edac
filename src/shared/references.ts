// What does `${name}` in a spec stand for?
/** The value of a name; undefined if the name is unknown. */
export type LookUp = (name: string) => string | undefined;

/** `${name}`, or `$${name}`, which stands for the text `${name}`. Groups: the escape, and the name. */
export const REFERENCE = /(\$?)\$\{([A-Za-z0-9_.-]+)\}/g;
/**
 * Names that belong to Drover, or to Nomad for a run with `compat`. No shell variable has a dot in its name.
 */
const OWN = /^(DROVER_|NOMAD_|(node|attr|meta)\.)/;

/** Whether a name belongs to Drover, so that its references are replaced in words of commands, too. */
export function isOwnName(name: string): boolean {
  return OWN.test(name);
}

/**
 * Replaces each `${name}` in the text, but not in the values that it inserts. Unknown names stay as they are
 * (tasks.md#environment).
 */
export function interpolate(text: string, lookUp: LookUp): string {
  return text.replace(REFERENCE, (reference, escaped: string, name: string) =>
    escaped === "" ? (lookUp(name) ?? reference) : reference.slice(1),
  );
}

/**
 * Like `interpolate`, for a word of a command. The word may be a script, so only Drover's own names are
 * replaced: all other names, and dollar signs that escape nothing, belong to the script.
 */
export function interpolateCommand(text: string, lookUp: LookUp): string {
  return text.replace(REFERENCE, (reference, escaped: string, name: string) => {
    const value = OWN.test(name) ? lookUp(name) : undefined;
    if (value === undefined) return reference;
    return escaped === "" ? value : reference.slice(1);
  });
}

/** `interpolate` for each value of a map. */
export function interpolateAll(map: Record<string, string>, lookUp: LookUp): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([key, text]) => [key, interpolate(text, lookUp)]));
}

/** Escapes a text so that `interpolate` returns it unchanged, apart from Drover's own names. */
export function escapeReferences(text: string): string {
  return text.replace(REFERENCE, (reference, _, name: string) =>
    OWN.test(name) ? reference : `$${reference}`,
  );
}

/** Looks a name up in several maps, in this order. Ignores properties that every object inherits. */
export function lookUpIn(...maps: Record<string, string>[]): LookUp {
  return (name) => maps.find((map) => Object.hasOwn(map, name))?.[name];
}
