// How is a cloud with a JSON API called, so that every outcome is JSON or a classified failure?
import type { ProviderFailure } from "../core/provider-answers.ts";
import { jsonOf } from "../schema/json.ts";
import { type CloudError, failureOf, type Meaning, quoted } from "./meanings.ts";
import type { Veil } from "./veil.ts";
import { type Answered, callOnce, pauseOf, retryAfterOf, unreadable } from "./wire.ts";

/** A cloud's API, with the credentials of an account. */
export interface JsonApi {
  /** The cloud's name, for texts. */
  title: string;
  /** The address before each path, without a slash at its end. */
  base: string;
  /** The value of the header `Authorization`. */
  authorization: string;
  now: () => number;
  /** The code and the message of an error answer. Undefined: it has none, as that of a proxy. */
  errorIn(body: unknown, status: number): Pick<CloudError, "code" | "message"> | undefined;
  /** What the tables say about an error. Undefined: nothing. */
  meaningOf(error: CloudError): Meaning | undefined;
  /** The pause that an error answer asks for in headers of this cloud, in milliseconds. Absent: none does. */
  pauseIn?(headers: Headers): number | undefined;
}

/** A call of an API. `type` and `zone`: what a create asks for. */
export interface JsonCall {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: object;
  veil: Veil;
  type?: string | undefined;
  zone?: string | undefined;
}

/** The calls of one of Drover's calls, which have a deadline together. */
export interface Asking {
  veil: Veil;
  now: () => number;
  call(request: Omit<JsonCall, "veil">): Promise<JsonCalled>;
}

/** The calls of an API that hide the same secrets and end at the same deadline. */
export function askingOf(api: JsonApi, veil: Veil, signal: AbortSignal): Asking {
  return { veil, now: api.now, call: (request) => callJson(api, { ...request, veil }, signal) };
}

/** A call that failed. `code` and `status`: the cloud's own, if it has answered. */
export interface JsonFailed {
  failure: ProviderFailure;
  code?: string | undefined;
  status?: number;
  message?: string;
}

/** The answer, or the failure. */
export type JsonCalled = { body: unknown; headers: Headers } | JsonFailed;

/** Makes one call, and never repeats it. Any answer of 200 to 299 must be JSON, or empty. */
async function callJson(
  api: JsonApi,
  { method, path, body, veil, type, zone }: JsonCall,
  signal: AbortSignal,
): Promise<JsonCalled> {
  const request = {
    service: api.base,
    method,
    url: `${api.base}${path}`,
    headers: {
      authorization: api.authorization,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    veil,
  };
  const answered = await callOnce(request, signal);
  if ("failure" in answered) return answered;
  const { status, headers } = answered;
  if (status >= 200 && status < 300) {
    const json = answered.body === "" ? null : jsonOf(answered.body);
    if (json !== undefined) return { body: json, headers };
    return { failure: unreadable(`${method} ${path.replace(/\?.*/, "")}`, "it is not valid JSON").failure };
  }
  const error = errorOf(api, answered, veil);
  const ms = retryAfterOf(answered, api.now()) ?? api.pauseIn?.(headers);
  const facts = { veil, type, zone, retryAfterMs: ms === undefined ? undefined : pauseOf(ms) };
  const failure = failureOf(api.title, error, api.meaningOf(error), facts);
  return { failure, code: error.code, status, message: error.message };
}

function errorOf(api: JsonApi, { status, body }: Answered, veil: Veil): CloudError {
  const said = api.errorIn(jsonOf(body), status);
  return { status, code: said?.code, message: said?.message ?? quoted(body, veil) };
}
