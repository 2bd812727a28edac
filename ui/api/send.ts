// How does the page send a call to Drover, and what does it learn from a refusal?
import { errorOf, notDrover, UnreachableError } from "../../client/errors.ts";
import { type Call, pathOf } from "../../client/transport/call.ts";
import { type AnswerOf, callOf, type InputOf, type OperationId } from "../../client/transport/call-of.ts";

export { ApiError, UnreachableError } from "../../client/errors.ts";
export type { Call } from "../../client/transport/call.ts";
export { type AnswerOf, callOf, type InputOf, type OperationId } from "../../client/transport/call-of.ts";
export { isTemporary } from "./temporary.ts";

let onSignedOut: (why: string) => void = () => {};
let onRequest: () => (answer: Response) => void = () => () => {};

/** Says who hears of each request, and then of its answer: Drover's time is in it (ui.md#time). */
export function whenAsked(then: typeof onRequest): void {
  onRequest = then;
}

/** Says what happens when an answer is 401: the session has ended, or there is none (ui.md#security). */
export function whenSignedOut(then: (why: string) => void): void {
  onSignedOut = then;
}

/**
 * Sends a call with the session's cookie, which the browser adds. Rejects with `ApiError` for an error of
 * Drover, with `UnreachableError` if nothing answers, and with the signal's reason.
 */
export async function send(call: Call): Promise<Response> {
  const { method, body, signal, headers } = call;
  const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const onAnswer = onRequest();
  let response: Response;
  try {
    response = await fetch(pathOf(call), {
      method,
      headers: { ...type, ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new UnreachableError(location.origin, error);
  }
  onAnswer(response);
  if (response.ok) return response;
  const refusal = await errorOf(response);
  if (response.status === 401) onSignedOut(refusal.detail);
  throw refusal;
}

/** Calls a route by its name, with the types of the API's document, and reads its JSON. */
export async function ask<Id extends OperationId>(
  id: Id,
  input: InputOf<Id>,
  signal?: AbortSignal,
): Promise<AnswerOf<Id>> {
  const response = await send(callOf(id, input, signal === undefined ? {} : { signal }));
  // Some routes answer without a body.
  if (response.status === 204) return undefined as AnswerOf<Id>;
  try {
    // The type is generated from the schema of the server's answer.
    return (await response.json()) as AnswerOf<Id>;
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof SyntaxError ? notDrover(response) : new UnreachableError(location.origin, error);
  }
}
