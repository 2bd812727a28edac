// How is a call of a route made by the name of its operation? Types come from the server's routes.
import { OPERATIONS, type Operations } from "../../src/generated/api.ts";
import type { Call, CallOptions } from "./call.ts";

// To add a call: declare the route with an `operationId`, build, and call it by that name. A call that does
// not fit the route's parameters, body or answer does not compile.

/** The name of a route that a token can call. */
export type OperationId = keyof Operations;
/** The successful answer of a route. */
export type AnswerOf<Id extends OperationId> = Operations[Id]["answer"];

/** A part of a request, optional if none of its members is required. */
type Part<Name extends string, Value> =
  Partial<Record<never, never>> extends Value ? { [name in Name]?: Value } : { [name in Name]: Value };
/** The input of a route. Uploaded bytes are passed separately (`callContent`). */
export type InputOf<Id extends OperationId> = Part<"path", Operations[Id]["path"]> &
  Part<"query", Operations[Id]["query"]> &
  Part<"headers", Operations[Id]["headers"]> &
  (Operations[Id]["body"] extends undefined | Uint8Array
    ? { body?: undefined }
    : { body: Operations[Id]["body"] });

/** Options of one request. */
export interface RequestOptions extends CallOptions {
  /**
   * The `Idempotency-Key`. Default: a random key if the route takes keys. Null: no key, since the body has
   * ids.
   */
  key?: string | null | undefined;
  /** For a POST without a key: whether repeating the call is harmless. */
  repeatable?: boolean;
  /** How long a try may take. */
  answerWithinMs?: number;
}

/** Builds the request for a route. */
export function callOf<Id extends OperationId>(
  id: Id,
  input: InputOf<Id>,
  requestOptions: RequestOptions = {},
): Call {
  const { method, path, wait, keyed } = OPERATIONS[id];
  const { key = keyed ? crypto.randomUUID() : null, repeatable, ...options } = requestOptions;
  // The caller's types check the parts. Here the parts are assembled without further checks.
  const { path: names = {}, query, headers, body } = input as Omit<Call, "path"> & { path?: Names };
  const waitInput = options.waitMs === undefined ? {} : { wait: `${options.waitMs}ms` };
  return {
    ...options,
    method,
    path: path.replaceAll(/\{(\w+)\}/g, (_all, name) => segmentOf(names[name] ?? "")),
    query: wait === "query" ? { ...waitInput, ...query } : query,
    headers: key === null ? headers : { ...headers, "idempotency-key": key },
    body: wait === "body" ? { ...Object(body), ...waitInput } : body,
    repeatable: repeatable ?? (keyed || method === "GET" || method === "PUT"),
  };
}

type Names = Record<string, string>;

/** Names that are refused: URL parsers drop such path segments, so a different route would be called. */
const LOST_NAMES: readonly string[] = ["", ".", ".."];

/** A name as a path segment; colons stay unescaped (`sha256:…`). */
function segmentOf(name: string): string {
  if (LOST_NAMES.includes(name)) {
    const why = "URLs drop it, so the request would address something else";
    throw new TypeError(`${JSON.stringify(name)} cannot be a name: ${why}. Pass the name itself.`);
  }
  return encodeURIComponent(name).replaceAll("%3A", ":");
}
