// The client's calls about browser sessions. The operation determines the type of an answer.
import { type CallOptions, callStream, type Target } from "./transport/http.ts";
import { ask, callOf } from "./transport/operations.ts";

/** The routes of browser sessions (sessions.md). Each call rejects with `ApiError` or `UnreachableError`. */
export function sessionsOf(target: Target) {
  return {
    /** Makes a code with which a browser starts a session of this caller, once, within a minute. */
    code: (options?: CallOptions) => ask(target, "createSessionCode", {}, options),

    list: (options?: CallOptions) => ask(target, "listSessions", {}, options),

    /** Ends a session. Repeating the call is harmless. */
    async end(id: string, options?: CallOptions): Promise<void> {
      await callStream(target, callOf("endSession", { path: { id } }, { ...options, repeatable: true }));
    },
  };
}
