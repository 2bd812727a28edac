// The client's calls about tokens. The operation determines the type of an answer.
import type { CallOptions, Target } from "./transport/http.ts";
import { ask, flag } from "./transport/operations.ts";
import type { TokenRequest } from "./types.ts";

/** The routes of tokens (access.md#tokens). Each call rejects with `ApiError` or `UnreachableError`. */
export function tokensOf(target: Target) {
  return {
    /**
     * Creates a token. Only this answer shows the token. The call is sent once. If the answer is lost, `list`
     * says whether the token exists. If it exists, revoke it, since nobody has seen it.
     */
    create: (request: TokenRequest, options?: CallOptions) =>
      ask(target, "createToken", { body: request }, options),

    list: (options?: CallOptions) => ask(target, "listTokens", {}, options),

    get: (id: string, options?: CallOptions) => ask(target, "getToken", { path: { id } }, options),

    /** Gives the token a new secret. The previous secret stays valid for `overlap` (default: 1h). */
    rotate: (id: string, { overlap, ...options }: CallOptions & { overlap?: string } = {}) =>
      ask(target, "rotateToken", { path: { id }, body: { overlap } }, options),

    /**
     * Ends the token for good, with `children` also what it has made. The answer names that in any case.
     * Repeating the call is harmless.
     */
    revoke: (id: string, { children, ...options }: CallOptions & { children?: boolean } = {}) =>
      ask(
        target,
        "revokeToken",
        { path: { id }, query: { children: flag(children) } },
        { ...options, repeatable: true },
      ),

    /** Who this client is, and what it may do. */
    caller: (options?: CallOptions) => ask(target, "getCaller", {}, options),
  };
}
