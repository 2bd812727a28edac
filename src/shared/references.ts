/** What a name stands for; undefined if it is not known. */
export type LookUp = (name: string) => string | undefined;

/** `${name}`, and `$${name}`, which is the text `${name}` itself. */
const REFERENCE = /(\$?)\$\{([A-Za-z0-9_.-]+)\}/g;
/**
 * Names that mean something to Drover alone, or to a run that asks for Nomad's (`compat`). A shell knows none
 * with a dot in it.
 */
const OWN = /^(DROVER_|NOMAD_|(node|attr|meta)\.)/;

/**
 * Replaces each `${name}` by what it stands for. A name that is not known stays as it is
 * (tasks.md#environment). What was put in is not looked through again.
 */
export function interpolate(text: string, lookUp: LookUp): string {
  return text.replace(REFERENCE, (reference, escaped: string, name: string) =>
    escaped === "" ? (lookUp(name) ?? reference) : reference.slice(1),
  );
}

/**
 * The same for a word of a command. It may be a script, so only names of Drover's own are looked at: all
 * others are the script's, and so is each dollar sign that escapes nothing.
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

/**
 * Escapes the references in text that `interpolate` will read, so that it comes out as it is. Names of
 * Drover's own are still looked up.
 */
export function escapeReferences(text: string): string {
  return text.replace(REFERENCE, (reference, _, name: string) =>
    OWN.test(name) ? reference : `$${reference}`,
  );
}

/** Looks a name up in several maps, in order. Names that every object has are none of them. */
export function lookUpIn(...maps: Record<string, string>[]): LookUp {
  return (name) => maps.find((map) => Object.hasOwn(map, name))?.[name];
}
