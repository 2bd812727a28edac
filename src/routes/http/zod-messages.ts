// How do schemas report errors in plain words, such as "must be a string, not a number"?
import { z } from "zod";

type RawIssue = z.core.$ZodRawIssue;

/**
 * Replaces zod's default messages for the whole Worker: "must be a string, not a number" instead of "Invalid
 * input: expected string, …". A message in a schema still wins.
 */
export function installMessages(): void {
  z.config({ localeError: messageOf });
}

function messageOf(issue: RawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return `is required: ${withArticle(issue.expected)}`;
      return `must be ${withArticle(issue.expected)}, not ${withArticle(kindOf(issue.input))}`;
    case "unrecognized_keys":
      return unknownField(issue.inst);
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `must ${bound(issue.origin, "at least", issue.minimum)}`;
    case "too_big":
      return `must ${bound(issue.origin, "at most", issue.maximum)}`;
    case "invalid_format":
      return `must be valid ${issue.format}`;
    case "invalid_union":
      return "does not match any of the allowed forms";
    default:
      return "is not valid";
  }
}

function unknownField(schema: unknown): string {
  if (!(schema instanceof z.ZodObject)) return "is not a known field";
  const fields = Object.keys(schema.shape);
  return fields.length === 0
    ? "is not a known field; none are allowed here"
    : `is not a known field; the fields are ${fields.join(", ")}`;
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

function withArticle(kind: string): string {
  return NOUNS[kind] ?? `a ${kind}`;
}
