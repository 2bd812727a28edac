// How are the fields of a foreign answer read without trusting its shape?

/** A field of a JSON object; undefined for anything else. */
export function fieldOf(value: unknown, ...names: string[]): unknown {
  let at = value;
  for (const name of names) {
    if (typeof at !== "object" || at === null || Array.isArray(at)) return undefined;
    // It is an object, and all that is read of it is looked at before it is used.
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/** A field that is a text; empty: there is none. */
export function textOf(value: unknown, ...names: string[]): string {
  const found = fieldOf(value, ...names);
  return typeof found === "string" ? found : "";
}

/** A field that is a number; 0: there is none. */
export function numberOf(value: unknown, ...names: string[]): number {
  const found = fieldOf(value, ...names);
  return typeof found === "number" ? found : 0;
}

/** Whether a field is there and true. */
export function isTrue(value: unknown, ...names: string[]): boolean {
  return fieldOf(value, ...names) === true;
}

/** A field that is a list; empty: there is none. */
export function listOf(value: unknown, ...names: string[]): unknown[] {
  const found = fieldOf(value, ...names);
  return Array.isArray(found) ? found : [];
}

/** The texts of a field that is a list; or the only one, where an engine writes a text for such a list. */
export function textsOf(value: unknown, ...names: string[]): string[] {
  const found = fieldOf(value, ...names);
  if (typeof found === "string") return [found];
  return listOf(found).filter((one) => typeof one === "string");
}

/** The texts of a field that is an object. */
export function mapOf(value: unknown, ...names: string[]): Record<string, string> {
  const found = fieldOf(value, ...names);
  if (typeof found !== "object" || found === null || Array.isArray(found)) return {};
  return Object.fromEntries(Object.entries(found).filter(([, one]) => typeof one === "string"));
}
