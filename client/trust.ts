// The client's calls about trust rules. The operation determines the type of an answer.
import type { CallOptions, Target } from "./transport/http.ts";
import { ask } from "./transport/operations.ts";
import type { TrustRuleRequest } from "./types.ts";

/** The routes of trust rules (oidc.md#trust-rules). Calls reject with `ApiError` or `UnreachableError`. */
export function trustOf(target: Target) {
  return {
    /** Creates the rule with this name, or replaces it. Repeating the call is harmless. */
    put: (name: string, rule: TrustRuleRequest, options?: CallOptions) =>
      ask(target, "putTrustRule", { path: { name }, body: rule }, { ...options, repeatable: true }),

    list: (options?: CallOptions) => ask(target, "listTrustRules", {}, options),

    get: (name: string, options?: CallOptions) => ask(target, "getTrustRule", { path: { name } }, options),

    /** Replaces the keys with which Drover signs tokens of runs, because somebody else may know them. */
    replaceOwnKeys: (options?: CallOptions) => ask(target, "replaceIssuerKeys", {}, options),

    /** Deletes the rule, and ends the tokens that it gave. */
    delete: (name: string, options?: CallOptions) =>
      ask(target, "deleteTrustRule", { path: { name } }, options),
  };
}
