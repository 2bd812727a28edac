type Schema = Record<string, unknown>;

/** The parts of a document that are rewritten. */
interface Shapes {
  paths: object;
  /** Components, by their names. */
  schemas: object;
}

const REF = "#/components/schemas/";
/** Values, and not schemas: they stay as they are. */
const VALUES: readonly string[] = ["default", "example", "examples"];
/** What is said of one place where a schema stands, and does not belong to the schema. */
const ANNOTATIONS: readonly string[] = ["description", ...VALUES];
/** Fewer members or words than these need no name. */
const LEAST_MEMBERS = 2;
const LEAST_WORDS = 3;
/** A component inside of one that is inside of another gets its name first. */
const ROUNDS = 3;

/**
 * Writes schemas as the generators of others expect them:
 *
 * - Every object and every list of words that is a component is referred to by its name. The library writes
 *   it out again wherever it has a description, and a generator makes another type of each.
 * - A default is said in the description. Generators take a field with a `default` for one that is always
 *   there.
 */
export function readableShapes({ paths, schemas }: Shapes): Shapes {
  let known = defaultsInWords(schemas) as Record<string, Schema>; // objects stay objects
  for (let round = 0; round < ROUNDS; round += 1) {
    const names = namesOf(known);
    known = Object.fromEntries(Object.entries(known).map(([name, one]) => [name, inside(one, names)]));
  }
  const names = namesOf(known);
  return { paths: named(defaultsInWords(paths), names) as object, schemas: known }; // as above
}

function namesOf(schemas: Record<string, Schema>): Map<string, string> {
  const namable = Object.entries(schemas).filter(([, schema]) => isNamable(schema));
  return new Map(namable.map(([name, schema]) => [keyOf(schema), name]));
}

function named(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => named(one, names));
  if (!isObject(value)) return value;
  const schema = unwrapped(inside(value, names));
  const name = isNamable(schema) ? names.get(keyOf(schema)) : undefined;
  if (name === undefined) return schema;
  const ref = { $ref: REF + name };
  return { ...(isNullable(schema) ? { anyOf: [ref, { type: "null" }] } : ref), ...annotationsOf(schema) };
}

function inside(schema: Schema, names: ReadonlyMap<string, string>): Schema {
  return mapped(schema, (one) => named(one, names));
}

/**
 * A reference with a description, or one that may be null. The library makes a whole of two parts of either,
 * and the second part cannot allow a null that the first one does not.
 */
function unwrapped(schema: Schema): Schema {
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

/** The same for two schemas that allow the same, null apart. */
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

/** Every member that has a default, and may be left out, says so in its description. */
function defaultsInWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(defaultsInWords);
  if (!isObject(value)) return value;
  const schema = mapped(value, defaultsInWords);
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

/** What is left out is empty: that needs no words. */
function isEmpty(usual: unknown): boolean {
  return typeof usual === "object" && usual !== null && Object.keys(usual).length === 0;
}

function mapped(object: Schema, change: (value: unknown) => unknown): Schema {
  const entries = Object.entries(object);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, VALUES.includes(key) ? value : change(value)]),
  );
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
