import type { Json } from "../../edge/support/edge.ts";
import { branchesOf, type Schema, type Schemas } from "./schema.ts";

/** A place of a request where something can be wrong. */
export interface Site {
  in: "path" | "query" | "header" | "body" | "request";
  /** The parameter's name; in a body the way there, with `*` for any item or key: `/runs/∗/argv`. */
  name: string;
  schema: Schema;
  required: boolean;
}

/** One operation of the document. */
export interface Operation {
  /** `POST /v1/runs` */
  name: string;
  method: string;
  path: string;
  /** Who may call it (`x-drover-access`). */
  access: string;
  /** Whether it needs a token of Drover. */
  secured: boolean;
  /** Whether hosts sign it. */
  signed: boolean;
  /** Types of the body, if it has one. */
  bodyTypes: string[];
  bodyRequired: boolean;
  body?: Schema;
  sites: Site[];
  /** By status: content type → schema. */
  answers: Record<string, Record<string, Schema>>;
}

/** What is to be fuzzed: everything in the document. */
export interface Document {
  operations: Operation[];
  schemas: Schemas;
}

/** Reads the document of a running Drover. */
export function readDocument(document: Json): Document {
  const schemas: Schemas = document.components.schemas;
  const operations = Object.entries<Json>(document.paths).flatMap(
    ([path, { head: _sameAsGet, ...methods }]) =>
      Object.entries<Json>(methods).map(([method, operation]) =>
        readOperation(schemas, path, method, operation),
      ),
  );
  return { operations, schemas };
}

function readOperation(schemas: Schemas, path: string, method: string, operation: Json): Operation {
  const parameters: Json[] = operation.parameters ?? [];
  const content: Json = operation.requestBody?.content ?? {};
  const body: Schema | undefined = content["application/json"]?.schema;
  const answers = Object.entries<Json>(operation.responses).map(([status, answer]) => [
    status,
    Object.fromEntries(
      Object.entries<Json>(answer.content ?? {}).map(([type, { schema }]) => [type, schema]),
    ),
  ]);
  const params = parameters.map(
    (one): Site => ({ in: one.in, name: one.name, schema: one.schema, required: one.required === true }),
  );
  const whole: Site = { in: "request", name: "", schema: {}, required: true };
  return {
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    access: operation["x-drover-access"],
    secured: operation.security?.some((one: Json) => "bearer" in one) ?? false,
    signed: parameters.some(({ name }) => name === "signature"),
    bodyTypes: Object.keys(content),
    bodyRequired: operation.requestBody?.required === true,
    ...(body === undefined ? {} : { body }),
    sites: [...params, ...(body === undefined ? [] : bodySites(body, schemas, "", true)), whole],
    answers: Object.fromEntries(answers),
  };
}

/** Every place below a schema, itself first. Forms of a union that lead to the same place are one site. */
function bodySites(schema: Schema, schemas: Schemas, at: string, required: boolean): Site[] {
  const inside = branchesOf(schema, schemas).flatMap((branch) => {
    const { properties = {}, required: names = [], additionalProperties, items } = branch;
    const fields = Object.entries(properties).flatMap(([name, field]) =>
      bodySites(field, schemas, `${at}/${name}`, names.includes(name)),
    );
    const others = [items, additionalProperties].filter((one) => typeof one === "object");
    return [...fields, ...others.flatMap((one) => bodySites(one, schemas, `${at}/*`, false))];
  });
  const sites = new Map<string, Site>();
  for (const site of inside) if (!sites.has(site.name)) sites.set(site.name, site);
  return [{ in: "body", name: at, schema, required }, ...sites.values()];
}
