// What is different between two configurations, field by field?

/** A field that is different. Undefined: the field is not there. */
export interface Difference {
  /** Its path, with slashes. */
  path: string;
  before: unknown;
  after: unknown;
}

/** The fields of two JSON values that are different, in the order of `before`. Lists count as one field. */
export function differencesOf(before: unknown, after: unknown, path = ""): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isRecord(before) || !isRecord(after)) return [{ path: path === "" ? "/" : path, before, after }];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => differencesOf(before[name], after[name], `${path}/${name}`));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
