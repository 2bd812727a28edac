// How a route is called by the name of its operation, with types generated from the server's routes.
import { type AnswerOf, callOf, type InputOf, type OperationId, type RequestOptions } from "./call-of.ts";
import { callValue, type Target } from "./http.ts";

export { type AnswerOf, callOf, type InputOf, type OperationId } from "./call-of.ts";

/** The value of a flag in a query. A flag that is not set is not sent. */
export function flag(isSet: boolean | undefined): "1" | undefined {
  return isSet ? "1" : undefined;
}

/** Calls a route and returns its answer. Rejects with `ApiError` or `UnreachableError`. */
export async function ask<Id extends OperationId>(
  target: Target,
  id: Id,
  input: InputOf<Id>,
  requestOptions: RequestOptions = {},
): Promise<AnswerOf<Id>> {
  return await callValue<AnswerOf<Id>>(target, callOf(id, input, requestOptions));
}
