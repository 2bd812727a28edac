// How are the client's operations and types generated from the OpenAPI document? Only the part of JSON Schema
// that zod produces is supported; anything else is an error.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { commonOptions } from "./bundles.mjs";
import { cacheDir } from "./env.mjs";

/** @typedef {Record<string, any>} Schema */

// All methods but `head`, which is the GET of the same path without a body.
const METHODS = ["get", "put", "post", "patch", "delete"];
const JSON_TYPE = "application/json";
const PROBLEM_TYPE = "application/problem+json";
const REF = "#/components/schemas/";

/**
 * The OpenAPI document that a Drover of these sources serves. Each call bundles into its own file, since
 * builds may run side by side and Node loads a module only once.
 * @returns {Promise<Schema>}
 */
export async function documentOfRoutes() {
  const outfile = join(cacheDir, `routes-${process.pid}-${performance.now()}.mjs`);
  const common = commonOptions();
  await build({ ...common, entryPoints: ["src/routes/app.ts"], outfile, platform: "node", target: "node20" });
  try {
    const { createApp } = await import(pathToFileURL(outfile).href);
    const nothing = { version: "", sha256: "", source: "", installer: "" };
    return await (await createApp(nothing).request("/openapi.json", {}, { now: () => 0 })).json();
  } finally {
    rmSync(outfile, { force: true });
  }
}

/**
 * The content of `src/generated/api.ts` for a document.
 * @param {Schema} document
 */
export function clientTypes(document) {
  const operations = operationsOf(document);
  const types = operations.map(typesOf);
  const components = reachable(document, types.join("\n"));
  return [
    "// Made by scripts/generated.mjs from the OpenAPI document, which the routes make. Do not edit.",
    "",
    ...components.map(([name, schema]) => `${docOf(schema)}export type ${name} = ${typeOf(schema)};\n`),
    "/** The requests that a token allows. */",
    "export const OPERATIONS = {",
    ...operations.map((operation) => `  ${operation.id}: ${JSON.stringify(howOf(operation))},`),
    "} as const;",
    "",
    "/** Their parameters and answers. */",
    "export interface Operations {",
    ...types,
    "}",
    "",
  ].join("\n");
}

/** @param {Schema} document */
function operationsOf(document) {
  const found = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation?.security?.some((/** @type {object} */ one) => "bearer" in one)) continue;
      if (operation.operationId === undefined) throw new Error(`${method} ${path} has no operationId`);
      found.push({ id: operation.operationId, method: method.toUpperCase(), path, operation });
    }
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** @typedef {ReturnType<typeof operationsOf>[number]} Operation */

/**
 * What the client needs at run time. `wait` is the place of the parameter for long polling.
 * @param {Operation} operation
 */
function howOf({ method, path, operation }) {
  const inQuery = parametersIn(operation, "query").some(({ name }) => name === "wait");
  const body = operation.requestBody?.content[JSON_TYPE]?.schema;
  const wait = inQuery ? "query" : body?.properties?.wait === undefined ? "nowhere" : "body";
  const keyed = parametersIn(operation, "header").some(({ name }) => name === "idempotency-key");
  return { method, path, wait, keyed };
}

/** @param {Operation} operation */
function typesOf({ id, operation }) {
  const responses = Object.entries(operation.responses);
  const answers = responses.flatMap(([status, { content }]) => (isSuccess(status) ? bodyType(content) : []));
  const refusals = responses.flatMap(([status, { content }]) =>
    isSuccess(status) || content === undefined ? [] : typeOf(content[PROBLEM_TYPE].schema),
  );
  return [
    `  /** ${commentText(operation.summary)} */`,
    `  ${id}: {`,
    `    path: ${parametersType(parametersIn(operation, "path"))};`,
    `    query: ${parametersType(parametersIn(operation, "query"))};`,
    `    headers: ${parametersType(parametersIn(operation, "header"))};`,
    `    body: ${bodyType(operation.requestBody?.content)};`,
    `    answer: ${unionOf(answers) || "undefined"};`,
    `    refusal: ${unionOf(refusals) || "never"};`,
    "  };",
  ].join("\n");
}

/** @param {string} status */
function isSuccess(status) {
  return status.startsWith("2");
}

/**
 * @param {Schema} operation
 * @param {string} place
 * @returns {Schema[]}
 */
function parametersIn(operation, place) {
  return (operation.parameters ?? []).filter((/** @type {Schema} */ one) => one.in === place);
}

/** @param {Schema[]} parameters */
function parametersType(parameters) {
  const members = parameters.map(({ name, required, schema }) => {
    const type = typeOf(schema);
    return member(name, required === true, schema.type === "array" ? `readonly ${type}` : type);
  });
  return members.length === 0 ? "{}" : `{ ${members.join("; ")} }`;
}

/** A body that is not JSON is bytes, and no content is `undefined`. @param {Schema | undefined} content */
function bodyType(content) {
  if (content === undefined) return "undefined";
  const schema = content[JSON_TYPE]?.schema;
  return schema === undefined ? "Uint8Array" : typeOf(schema, "    ");
}

/**
 * The components that a text uses, directly or through other components.
 * @param {Schema} document
 * @param {string} text
 */
function reachable(document, text) {
  const names = new Set();
  for (const queue = [text]; queue.length > 0; ) {
    const used = queue.pop() ?? "";
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      if (names.has(name) || !new RegExp(`\\b${name}\\b`).test(used)) continue;
      names.add(name);
      queue.push(typeOf(schema));
    }
  }
  return Object.entries(document.components.schemas).filter(([name]) => names.has(name));
}

/** Keywords that each define the whole type of a schema. */
const WHOLES = ["$ref", "const", "enum", "anyOf", "oneOf", "allOf"];
/** Keywords that would be ignored beside one of `WHOLES`. */
const PARTS = ["properties", "required", "additionalProperties", "items"];

/** @param {Schema} schema */
function isUnambiguous(schema) {
  const has = (/** @type {string} */ word) => schema[word] !== undefined;
  const wholes = WHOLES.filter(has).length;
  return wholes === 0 || (wholes === 1 && !PARTS.some(has));
}

/**
 * The TypeScript type of a schema.
 * @param {Schema} schema
 * @returns {string}
 */
function typeOf(schema, indent = "") {
  if (!isUnambiguous(schema)) throw unsupported(schema);
  if (schema.$ref !== undefined) return schema.$ref.slice(REF.length);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined)
    return unionOf(schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one)));
  const choice = schema.anyOf ?? schema.oneOf;
  if (choice !== undefined) return unionOf(choice.map((/** @type {Schema} */ one) => typeOf(one, indent)));
  if (schema.allOf !== undefined) {
    return schema.allOf.map((/** @type {Schema} */ one) => typeOf(one, indent)).join(" & ");
  }
  if (Array.isArray(schema.type)) {
    // Any JSON: zod's `json()`.
    if (schema.type.length === 6) return "unknown";
    return unionOf(schema.type.map((/** @type {string} */ type) => typeOf({ ...schema, type }, indent)));
  }
  switch (schema.type ?? (schema.properties && "object")) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return arrayOf(schema.items, indent);
    case "object":
      return objectType(schema, indent);
  }
  throw unsupported(schema);
}

/** @param {Schema} schema */
function unsupported(schema) {
  return new Error(`the client's types do not support this schema: ${JSON.stringify(schema)}`);
}

/** @param {Schema} items @param {string} indent */
function arrayOf(items, indent) {
  const type = typeOf(items, indent);
  const isOne = /^\w+$/.test(type) || (items.properties !== undefined && !items.additionalProperties);
  return isOne ? `${type}[]` : `(${type})[]`;
}

/** @param {Schema} schema @param {string} indent */
function objectType(schema, indent) {
  const { properties = {}, required = [], additionalProperties } = schema;
  const deeper = `${indent}  `;
  const members = Object.entries(properties).map(
    ([name, inner]) =>
      `${deeper}${docOf(inner)}${member(name, required.includes(name), typeOf(inner, deeper))};\n`,
  );
  const named = members.length === 0 ? [] : [`{\n${members.join("")}${indent}}`];
  const others =
    typeof additionalProperties === "object" ? [`Record<string, ${valueType(additionalProperties)}>`] : [];
  return [...named, ...others].join(" & ") || "Record<string, never>";
}

/** @param {Schema} schema What further members have: `{}` is zod's `looseObject`. */
function valueType(schema) {
  return Object.keys(schema).length === 0 ? "unknown" : typeOf(schema);
}

/** @param {string} name @param {boolean} required @param {string} type */
function member(name, required, type) {
  const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
  return required ? `${key}: ${type}` : `${key}?: ${type} | undefined`;
}

/** @param {string[]} types */
function unionOf(types) {
  return [...new Set(types)].map((type) => (type.includes("&") ? `(${type})` : type)).join(" | ");
}

/** @param {Schema} schema */
function docOf({ description }) {
  return description === undefined ? "" : `/** ${commentText(description)} */ `;
}

/** @param {string} text */
function commentText(text) {
  return text.replaceAll("*/", "* /").replaceAll("\n", " ");
}
