import fc from "fast-check";
import { branchesOf, type Schema, type Schemas } from "./schema.ts";

/** Durations fit their pattern, but not every text that fits the pattern is allowed everywhere. */
const DURATIONS = ["0s", "1ms", "250ms", "1s", "2.5s", "10s", "1h30m", "2m", "7d"];
/** Waits are short, and URLs lead to nobody outside this machine. */
const WAITS = ["0", "1ms", "20ms"];
const URLS = ["http://127.0.0.1:9/a.tar", "http://127.0.0.1:9", "https://127.0.0.1:9/b?c#d"];
const SIZES = ["0", "1", "64KiB", "512MiB", "1GiB"];

/** Any value that fits the schema. `name`: the field's name, which says more about some fields. */
export function fittingValue(schema: Schema, schemas: Schemas, name: string): fc.Arbitrary<unknown> {
  const branches = branchesOf(schema, schemas).map((branch) => branchValue(branch, schemas, name));
  return branches.length === 1 && branches[0] !== undefined ? branches[0] : fc.oneof(...branches);
}

function branchValue(schema: Schema, schemas: Schemas, name: string): fc.Arbitrary<unknown> {
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const types = schema.type === undefined ? ["null"] : [schema.type].flat();
  return fc.oneof(...types.map((type) => typedValue(type, schema, schemas, name)));
}

function boundsOf({ minimum = 0, maximum = 1_000 }: Schema): { min: number; max: number } {
  return { min: minimum, max: Math.min(maximum, 2 ** 31 - 1) };
}

function wholeBounds({ min, max }: { min: number; max: number }): { min: number; max: number } {
  return { min: Math.ceil(min), max: Math.floor(max) };
}

function typedValue(type: string, schema: Schema, schemas: Schemas, name: string): fc.Arbitrary<unknown> {
  switch (type) {
    case "string":
      return textOf(schema, name);
    case "integer":
      return fc.integer(boundsOf(schema));
    case "number":
      return fc.oneof(
        fc.integer(wholeBounds(boundsOf(schema))),
        fc.double({ ...boundsOf(schema), noNaN: true }),
      );
    case "boolean":
      return fc.boolean();
    case "array": {
      const item = schema.items === undefined ? fc.constant(null) : fittingValue(schema.items, schemas, name);
      const minLength = schema.minItems ?? 0;
      return fc.array(item, { minLength, maxLength: Math.min(schema.maxItems ?? 3, minLength + 2) });
    }
    case "object":
      return objectOf(schema, schemas);
    default:
      return fc.constant(null);
  }
}

function objectOf(schema: Schema, schemas: Schemas): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const fields = Object.entries(properties)
    .filter(([name]) => required.includes(name))
    .map(([name, inner]) => [name, fittingValue(inner, schemas, name)]);
  if (typeof additionalProperties !== "object") return fc.record(Object.fromEntries(fields));
  const value = fittingValue(additionalProperties, schemas, "");
  const { pattern } = schema.propertyNames ?? {};
  const names = pattern === undefined ? fc.constantFrom("a", "b1", "small") : matching(pattern);
  return fc.dictionary(names, value, { minKeys: 1, maxKeys: 2 });
}

function textOf({ pattern = "", format, minLength = 0, maxLength = 64, example }: Schema, name: string) {
  if (name === "wait") return fc.constantFrom(...WAITS);
  if (format === "uri" || pattern.startsWith("^https?")) return fc.constantFrom(...URLS);
  if (pattern.includes("(ms|s|m|h|d)")) return fc.constantFrom(...DURATIONS);
  if (["memory", "disk", "tail"].includes(name)) return fc.constantFrom(...SIZES);
  const shown = typeof example === "string" ? [fc.constant(example)] : [];
  // A text without a pattern may be anything; a text with an example is usually similar to the example.
  if (pattern === "" && shown[0] !== undefined) return shown[0];
  const any = fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 24) });
  const fitting = pattern === "" ? any : matching(pattern);
  return fc.oneof(fitting, ...shown);
}

const matchers = new Map<string, fc.Arbitrary<string>>();

/** Texts that match a pattern. They are prepared once for each pattern: that takes milliseconds. */
function matching(pattern: string): fc.Arbitrary<string> {
  const known = matchers.get(pattern) ?? fc.stringMatching(new RegExp(pattern));
  matchers.set(pattern, known);
  return known;
}
