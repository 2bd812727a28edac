// The client's calls about the control plane itself: what was deployed, and what a backup has of access.
import type { CallOptions, Target } from "../transport/http.ts";
import { ask } from "../transport/operations.ts";
import type { RestoreRequest } from "../types.ts";

/** The routes of backups (backup.md#access). Each call rejects with `ApiError` or `UnreachableError`. */
export function deploymentOf(target: Target) {
  return {
    /** What was deployed: version, address, bucket, wrapping keys. */
    get: (options?: CallOptions) => ask(target, "getDeployment", {}, options),

    /** The valid tokens and trust rules, with digests instead of secrets. */
    backup: (options?: CallOptions) => ask(target, "getBackup", {}, options),

    /** Brings tokens and trust rules back, and says what came of each. Repeating the call is harmless. */
    restore: (request: RestoreRequest, options?: CallOptions) =>
      ask(target, "restoreBackup", { body: request }, { ...options, repeatable: true }),
  };
}
