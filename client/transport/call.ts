// What is one request to Drover, before anything sends it?
import type { Patience } from "./retry.ts";

/** Options that every call takes. */
export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Overrides the client's patience for this call. */
  patience?: Partial<Patience>;
  /** How long the server may wait for the requested condition before it answers. */
  waitMs?: number;
}

/** One request, as `operations.ts` builds it. `waitMs` is already part of its query or body. */
export interface Call extends CallOptions {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | readonly (string | number)[] | undefined>;
  headers?: Record<string, string>;
  body?: unknown;
  /** Bytes to send instead of a body. */
  content?: Content;
  /** How long a try may take beyond `waitMs`. Default: `REQUEST_TIMEOUT_MS`. */
  answerWithinMs?: number | undefined;
  /** Whether sending the call twice has the same effect as sending it once. Other calls are not retried. */
  repeatable: boolean;
}

/** A stream of bytes and its length. Each try opens the stream again. */
export interface Content {
  bytes: number;
  open(): AsyncIterable<Uint8Array>;
}

/** The path of a call with its query. A value that is a list is sent once for each item. */
export function pathOf(call: Pick<Call, "path" | "query">): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value === undefined) continue;
    const values = typeof value === "object" ? value : [String(value)];
    for (const one of values) query.append(name, String(one));
  }
  return query.size === 0 ? call.path : `${call.path}?${query}`;
}
