import { z } from "zod";

type RawIssue = z.core.$ZodRawIssue;

/**
 * Says in plain words what a schema allows, wherever the schema has no words of its own. It replaces zod's
 * English texts for the whole Worker: "must be a string, not a number" instead of "Invalid input: expected
 * string, …".
 */
export function useOurWording(): void {
  z.config({ localeError: wording });
}

function wording(issue: RawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return `is required: ${a(issue.expected)}`;
      return `must be ${a(issue.expected)}, not ${a(kindOf(issue.input))}`;
    case "unrecognized_keys":
      return unknownField(issue.inst);
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(quoted).join(", ")}`;
    case "too_small":
      return `must ${bound(issue.origin, "at least", issue.minimum)}`;
    case "too_big":
      return `must ${bound(issue.origin, "at most", issue.maximum)}`;
    case "invalid_format":
      return `must be valid ${issue.format}`;
    case "invalid_union":
      return "has none of the allowed forms";
    default:
      return "is not valid";
  }
}

function unknownField(schema: unknown): string {
  if (!(schema instanceof z.ZodObject)) return "is not known";
  const fields = Object.keys(schema.shape);
  return fields.length === 0
    ? "is not known; there are none here"
    : `is not known; there is ${fields.join(", ")}`;
}

function bound(origin: string, how: string, limit: number | bigint): string {
  const unit = { string: "character", array: "entry", set: "entry", object: "field" }[origin];
  if (unit === undefined) return `be ${how} ${limit}`;
  const units = unit === "entry" ? "entries" : `${unit}s`;
  return `have ${how} ${limit} ${Number(limit) === 1 ? unit : units}`;
}

function kindOf(input: unknown): string {
  if (input === null) return "null";
  if (Array.isArray(input)) return "array";
  return typeof input === "number" && !Number.isInteger(input) ? "fraction" : typeof input;
}

const NOUNS: Record<string, string> = {
  int: "a whole number",
  array: "a list",
  object: "an object",
  record: "an object",
  boolean: "true or false",
  null: "null",
};

function a(kind: string): string {
  return NOUNS[kind] ?? `a ${kind}`;
}

function quoted(value: unknown): string {
  return typeof value === "string" ? value : String(value);
}
