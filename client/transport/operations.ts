import { OPERATIONS, type Operations } from "../../src/generated/api.ts";
import { type Call, type CallOptions, callValue, type Target } from "./http.ts";

// How a call is added: declare the route with an `operationId`, build, and call it here by that name. Method,
// path, parameters, body and answer are those of the route; what does not fit does not compile.

/** The name of a route that a token can call. */
export type OperationId = keyof Operations;
/** What a route answers with when it does what was asked. */
export type AnswerOf<Id extends OperationId> = Operations[Id]["answer"];

/** A part of a request: it may be left out if nothing in it is required. */
type Part<Name extends string, Value> =
  Partial<Record<never, never>> extends Value ? { [name in Name]?: Value } : { [name in Name]: Value };
/** All that a route takes. Bytes go beside it, as they come (`callContent`). */
export type InputOf<Id extends OperationId> = Part<"path", Operations[Id]["path"]> &
  Part<"query", Operations[Id]["query"]> &
  Part<"headers", Operations[Id]["headers"]> &
  (Operations[Id]["body"] extends undefined | Uint8Array
    ? { body?: undefined }
    : { body: Operations[Id]["body"] });

/** How one route is asked. */
interface Manner extends CallOptions {
  /** The `Idempotency-Key`. Where a route takes one, each call has its own; null: the body has ids. */
  key?: string | null | undefined;
  /** Of a route without a key that is no read: asking twice does no more than asking once. */
  repeatable?: boolean;
  /** For so long a try may be without an answer. */
  answerWithinMs?: number;
}

/** The request that asks a route for something. */
export function callOf<Id extends OperationId>(id: Id, input: InputOf<Id>, manner: Manner = {}): Call {
  const { method, path, wait, keyed } = OPERATIONS[id];
  const { key = keyed ? crypto.randomUUID() : null, repeatable, ...options } = manner;
  // The parts are typed where they come from; here they are only put into their places.
  const { path: names = {}, query, headers, body } = input as Omit<Call, "path"> & { path?: Names };
  const held = options.waitMs === undefined ? {} : { wait: `${options.waitMs}ms` };
  return {
    ...options,
    method,
    path: path.replaceAll(/\{(\w+)\}/g, (_all, name) => segmentOf(names[name] ?? "")),
    query: wait === "query" ? { ...held, ...query } : query,
    headers: key === null ? headers : { ...headers, "idempotency-key": key },
    body: wait === "body" ? { ...Object(body), ...held } : body,
    repeatable: repeatable ?? (keyed || method === "GET" || method === "PUT"),
  };
}

type Names = Record<string, string>;

/** What parses a URL takes these out of it: another route would be asked. */
const LOST_NAMES: readonly string[] = ["", ".", ".."];

/** A name as a part of a path, where a colon stands as it is (`sha256:…`). */
function segmentOf(name: string): string {
  if (LOST_NAMES.includes(name)) {
    const why = "an address would lose it, and something else would be asked for";
    throw new TypeError(
      `${JSON.stringify(name)} cannot be a name: ${why}. Say what is meant by its own name.`,
    );
  }
  return encodeURIComponent(name).replaceAll("%3A", ":");
}

/** Asks a route, and answers with what it answers. Rejects with `ApiError` or `UnreachableError`. */
export async function ask<Id extends OperationId>(
  target: Target,
  id: Id,
  input: InputOf<Id>,
  manner: Manner = {},
): Promise<AnswerOf<Id>> {
  return await callValue<AnswerOf<Id>>(target, callOf(id, input, manner));
}
