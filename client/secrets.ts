// The client's calls about secrets. The operation determines the type of an answer.
import { type CallOptions, callStream, type Target } from "./transport/http.ts";
import { ask, callOf } from "./transport/operations.ts";
import type { SecretValue } from "./types.ts";

/** The routes of secrets (secrets.md#api). Each call rejects with `ApiError` or `UnreachableError`. */
export function secretsOf(target: Target) {
  return {
    /** Stores a value. A retry stores it once more, as another version. */
    set: (name: string, value: SecretValue, options?: CallOptions) =>
      ask(target, "putSecret", { path: { name }, body: value }, { ...options, repeatable: true }),

    /** All secrets, without their values, and the state of the wrapping keys. */
    list: (options?: CallOptions) => ask(target, "listSecrets", {}, options),

    /** Removes a secret for good. */
    async remove(name: string, options?: CallOptions): Promise<void> {
      await callStream(target, callOf("deleteSecret", { path: { name } }, options));
    },
  };
}
