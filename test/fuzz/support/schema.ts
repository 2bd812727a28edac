/** The part of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  default?: unknown;
  example?: unknown;
}

/** The schemas that references point into. */
export type Schemas = Record<string, Schema>;

/** The schema itself, if this is a reference to it. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref === undefined) return schema;
  const found = schemas[schema.$ref.replace("#/components/schemas/", "")];
  if (found === undefined) throw new Error(`nothing is called ${schema.$ref}`);
  return resolved(found, schemas);
}

/** The forms that a value may have: one, unless the schema says `anyOf`. */
export function branchesOf(schema: Schema, schemas: Schemas): Schema[] {
  const own = resolved(schema, schemas);
  const branches = own.anyOf ?? own.oneOf;
  return branches === undefined ? [own] : branches.flatMap((branch) => branchesOf(branch, schemas));
}

/** One step of a JSON pointer. */
export const escaped = (part: string | number) =>
  `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** Where a value does not fit its schema: JSON pointers, none if it does. */
export function faultsOf(schema: Schema, schemas: Schemas, value: unknown, at = ""): string[] {
  const own = resolved(schema, schemas);
  const branches = own.anyOf ?? own.oneOf;
  if (branches !== undefined) {
    const found = branches.map((branch) => faultsOf(branch, schemas, value, at));
    return found.reduce((best, one) => (one.length < best.length ? one : best));
  }
  const inside = (own.allOf ?? []).flatMap((part) => faultsOf(part, schemas, value, at));
  if (!hasType(own, value) || !isOneOf(own, value)) return [at];
  if (typeof value === "string") return [...inside, ...(fitsText(own, value) ? [] : [at])];
  if (typeof value === "number") return [...inside, ...(fitsNumber(own, value) ? [] : [at])];
  if (Array.isArray(value)) return [...inside, ...arrayFaults(own, schemas, value, at)];
  if (typeof value === "object" && value !== null) {
    return [...inside, ...objectFaults(own, schemas, value as Record<string, unknown>, at)];
  }
  return inside;
}

/** The name that JSON Schema has for the type of a value. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

function hasType({ type }: Schema, value: unknown): boolean {
  if (type === undefined) return true;
  const types = Array.isArray(type) ? type : [type];
  return types.includes(typeOf(value)) || (types.includes("integer") && Number.isSafeInteger(value));
}

function isOneOf(schema: Schema, value: unknown): boolean {
  if ("const" in schema && schema.const !== value) return false;
  return schema.enum === undefined || schema.enum.includes(value);
}

function fitsText({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: Schema, text: string) {
  if (text.length < minLength || text.length > maxLength) return false;
  return pattern === undefined || new RegExp(pattern, "u").test(text);
}

function fitsNumber(schema: Schema, value: number): boolean {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  return (
    value >= minimum && value <= maximum && value > (schema.exclusiveMinimum ?? Number.NEGATIVE_INFINITY)
  );
}

function arrayFaults(schema: Schema, schemas: Schemas, value: unknown[], at: string): string[] {
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  const count = value.length < minItems || value.length > maxItems ? [at] : [];
  if (items === undefined) return count;
  const inside = value.flatMap((item, index) => faultsOf(items, schemas, item, at + escaped(index)));
  return [...count, ...inside];
}

function objectFaults(
  schema: Schema,
  schemas: Schemas,
  value: Record<string, unknown>,
  at: string,
): string[] {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => at + escaped(name));
  const inside = Object.entries(value).flatMap(([name, one]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (known === false) return [at + escaped(name)];
    return typeof known === "object" ? faultsOf(known, schemas, one, at + escaped(name)) : [];
  });
  const names = schema.propertyNames ?? {};
  const misnamed = Object.keys(value).filter((name) => faultsOf(names, schemas, name).length > 0);
  return [...missing, ...inside, ...misnamed.map((name) => at + escaped(name))];
}
