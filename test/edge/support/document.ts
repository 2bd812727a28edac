import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Json } from "./edge.ts";

/** Where the document stands among the schemas of the validator. */
const ID = "drover";

/**
 * Headers of connections, caches and browsers, and those on each answer: they need no declaration.
 */
const ORDINARY = new Set([
  ...[
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cross-origin-resource-policy",
    "date",
    "keep-alive",
  ],
  ...[
    "transfer-encoding",
    "vary",
    "cross-origin-opener-policy",
    "content-security-policy",
    "referrer-policy",
    "x-content-type-options",
  ],
  "x-request-id",
]);

/** One operation of the document, with what distinguishes its path from others. */
export interface Operation {
  method: string;
  path: string;
  pattern: RegExp;
  /** How many parts of the path are fixed: `/v1/runs/query` is no `/v1/runs/{id}`. */
  fixed: number;
  declared: Json;
}

/** Checks answers against `/openapi.json`. It keeps the compiled form of each schema. */
export class DocumentCheck {
  readonly operations: Operation[];
  readonly #ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: Json) {
    this.#ajv.addSchema(closed(document, partsOf(document)), ID);
    this.operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods).map(([method, declared]) => ({
        method,
        path,
        pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
        fixed: path.split("/").filter((part) => !part.startsWith("{")).length,
        declared,
      })),
    );
  }

  /**
   * Throws if an answer is not one that the document declares for its request: by its status, its code, its
   * type, and its JSON. It reads a copy of the answer, and reads only JSON. Requests that belong to no
   * operation are not checked. `anyCode`: a test has made up the code.
   */
  async check(method: string, target: string, answer: Response, anyCode = false): Promise<void> {
    const operation = this.operationOf(method, target);
    if (operation === undefined) return;
    const { operationId, responses } = operation.declared;
    const told = `${operationId} answered ${answer.status}`;
    const status = String(answer.status);
    const declared = responses[status] ?? (anyCode ? responses.default : undefined);
    if (declared === undefined)
      throw new Error(`${told}, which is not declared: ${await answer.clone().text()}`);
    const named = new Set(Object.keys(declared.headers ?? {}).map((name) => name.toLowerCase()));
    const secret = [...answer.headers.keys()].filter((name) => !named.has(name) && !ORDINARY.has(name));
    if (secret.length > 0 && !anyCode)
      throw new Error(`${told} with headers that are not declared: ${secret.join(", ")}`);
    const type = answer.headers.get("content-type")?.split(";")[0];
    if (type === undefined || declared.content === undefined) return;
    if (!(type in declared.content)) throw new Error(`${told} with ${type}, which is not declared`);
    if (!type.endsWith("json")) return;
    const json = await answer.clone().json();
    const key = anyCode && answer.status >= 400 ? "default" : status;
    this.validate(operation, ["responses", key, "content", type, "schema"], json, told);
  }

  /** Throws if a value does not fit the schema that stands at this place of an operation. */
  validate({ method, path }: Operation, place: string[], value: unknown, told: string): void {
    const pointer = ["paths", path, method, ...place]
      .map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1")))
      .join("/");
    const known = this.#validators.get(pointer);
    const validator = known ?? this.#ajv.compile({ $ref: `${ID}#/${pointer}` });
    this.#validators.set(pointer, validator);
    if (validator(value)) return;
    const faults = this.#ajv.errorsText(validator.errors, { dataVar: "it", separator: "\n" });
    throw new Error(`${told}, not as the document says:\n${faults}\n${JSON.stringify(value)}`);
  }

  /** The operation that a request belongs to. */
  operationOf(method: string, target: string): Operation | undefined {
    const { pathname } = new URL(target, "http://drover.test");
    return this.operations
      .filter((one) => one.method === method.toLowerCase() && one.pattern.test(pathname))
      .sort((a, b) => b.fixed - a.fixed)[0];
  }
}

/** The schemas from which others are composed: the others have more fields. */
function partsOf(value: Json): Set<string> {
  if (typeof value !== "object" || value === null) return new Set();
  const own = Array.isArray(value.allOf) ? value.allOf.map(({ $ref }: Json) => $ref) : [];
  return new Set([...own, ...Object.values(value).flatMap((inner) => [...partsOf(inner)])]);
}

/** The document, with only the fields allowed that it names, so that it cannot leave any out. */
function closed(value: Json, parts: Set<string>, at = "#", inAllOf = false): Json {
  if (typeof value !== "object" || value === null) return value;
  const isPart = inAllOf || parts.has(at);
  if (Array.isArray(value)) return value.map((inner) => closed(inner, parts, at, isPart));
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, closed(inner, parts, `${at}/${key}`, key === "allOf")]),
  );
  const isObject = typeof value.properties === "object" || Array.isArray(value.allOf);
  const isOpen = isPart || !isObject || "additionalProperties" in value;
  return isOpen ? copy : { ...copy, unevaluatedProperties: false };
}

let known: Promise<DocumentCheck> | undefined;

/**
 * The check for the document that a Drover serves. Every Drover of a test run serves the same one, and it is
 * loaded once for each process: to make and to compile it takes a while.
 */
export function documentCheck(url: string): Promise<DocumentCheck> {
  known ??= load(url);
  return known;
}

async function load(url: string): Promise<DocumentCheck> {
  try {
    return new DocumentCheck(await (await fetch(`${url}/openapi.json`)).json());
  } catch (error) {
    known = undefined;
    throw error;
  }
}
