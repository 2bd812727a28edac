// The client's calls about the audit log. The operation determines the type of an answer.
import type { CallOptions, Target } from "./transport/http.ts";
import { ask } from "./transport/operations.ts";
import type { AuditQuery } from "./types.ts";

/** The route of the audit log (audit.md#reading). The call rejects with `ApiError` or `UnreachableError`. */
export function auditOf(target: Target) {
  return {
    /**
     * One page of entries, newest first. The `next` of an answer is the `cursor` of the next page. With the
     * `follow` of an answer as `after`: what came since, oldest first; with `waitMs`, waits for something.
     */
    list: (query: Omit<AuditQuery, "wait"> = {}, options?: CallOptions) =>
      ask(target, "listAudit", { query }, options),
  };
}
