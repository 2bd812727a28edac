// How the document is rewritten so that code generators make good types from it.

type Schema = Record<string, unknown>;

/** The parts of a document that are rewritten. */
interface Shapes {
  paths: object;
  /** Components, by their names. */
  schemas: object;
}

const REF = "#/components/schemas/";
/** Keys that hold values, not schemas; they are not rewritten. */
const VALUES: readonly string[] = ["default", "example", "examples"];
/** Keys that describe the place where a schema is used, not the schema. */
const ANNOTATIONS: readonly string[] = ["description", ...VALUES];
/** Objects and enums with fewer members or words need no name. */
const LEAST_MEMBERS = 2;
const LEAST_WORDS = 3;
/** How many times names are given and inserted: inner components get their names first. */
const ROUNDS = 3;

/**
 * Rewrites schemas for common code generators:
 *
 * - Every object and enum that is a component is referred to by its name. The library writes a copy wherever
 *   a use has a description, and generators would make a type from each copy.
 * - Defaults are moved into descriptions, since generators assume that a field with a `default` is always
 *   present.
 */
export function readableShapes({ paths, schemas }: Shapes): Shapes {
  let known = defaultsInWords(schemas) as Record<string, Schema>; // objects stay objects
  for (let round = 0; round < ROUNDS; round += 1) {
    const names = namesOf(known);
    known = Object.fromEntries(
      Object.entries(known).map(([name, one]) => [name, withInnerNames(one, names)]),
    );
  }
  const names = namesOf(known);
  return { paths: withNames(defaultsInWords(paths), names) as object, schemas: known }; // an object, too
}

function namesOf(schemas: Record<string, Schema>): Map<string, string> {
  const namable = Object.entries(schemas).filter(([, schema]) => isNamable(schema));
  return new Map(namable.map(([name, schema]) => [keyOf(schema), name]));
}

function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => withNames(one, names));
  if (!isObject(value)) return value;
  const schema = unwrap(withInnerNames(value, names));
  const name = isNamable(schema) ? names.get(keyOf(schema)) : undefined;
  if (name === undefined) return schema;
  const ref = { $ref: REF + name };
  return { ...(isNullable(schema) ? { anyOf: [ref, { type: "null" }] } : ref), ...annotationsOf(schema) };
}

function withInnerNames(schema: Schema, names: ReadonlyMap<string, string>): Schema {
  return mapMembers(schema, (one) => withNames(one, names));
}

/**
 * Unwraps a reference that has a description or may be null. In both cases, the library writes an `allOf` of
 * the reference and a second part. Inside `allOf`, the second part cannot allow null, since the reference
 * does not allow null.
 */
function unwrap(schema: Schema): Schema {
  const { allOf } = schema;
  if (!Array.isArray(allOf) || allOf.length !== 2) return schema;
  const [ref, more] = allOf;
  if (!("$ref" in ref) || "$ref" in more || "properties" in more) return schema;
  return isNullable(more)
    ? { anyOf: [ref, { type: "null" }], ...annotationsOf(more) }
    : { ...ref, ...annotationsOf(more) };
}

function isNamable({ properties, enum: words }: Schema): boolean {
  if (Array.isArray(words)) return words.length >= LEAST_WORDS;
  return isObject(properties) && Object.keys(properties).length >= LEAST_MEMBERS;
}

/** A text that is the same for all schemas that allow the same values, apart from null. */
function keyOf(schema: Schema): string {
  const { type, enum: words, ...rest } = schema;
  const shape = Object.fromEntries(Object.entries(rest).filter(([key]) => !ANNOTATIONS.includes(key)));
  const types = [type].flat().filter((one) => one !== "null");
  return JSON.stringify([types, Array.isArray(words) ? words.filter((one) => one !== null) : null, shape]);
}

function isNullable({ type }: Schema): boolean {
  return Array.isArray(type) && type.includes("null");
}

function annotationsOf(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => ANNOTATIONS.includes(key)));
}

/** Moves the default of each optional member into its description. */
function defaultsInWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(defaultsInWords);
  if (!isObject(value)) return value;
  const schema = mapMembers(value, defaultsInWords);
  if (!isObject(schema.properties)) return schema;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = Object.entries(schema.properties).map(([name, member]) => {
    if (required.includes(name) || !isObject(member)) return [name, member];
    return [name, withDefaultInWords(member)];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

function withDefaultInWords({ default: usual, ...member }: Schema): Schema {
  if (usual === undefined || isEmpty(usual)) return member;
  const words = `Default: \`${JSON.stringify(usual)}\`.`;
  const { description } = member;
  return { ...member, description: typeof description === "string" ? `${description}. ${words}` : words };
}

/** Whether a default is empty. Empty defaults are not described. */
function isEmpty(usual: unknown): boolean {
  return typeof usual === "object" && usual !== null && Object.keys(usual).length === 0;
}

function mapMembers(object: Schema, change: (value: unknown) => unknown): Schema {
  const entries = Object.entries(object);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, VALUES.includes(key) ? value : change(value)]),
  );
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
