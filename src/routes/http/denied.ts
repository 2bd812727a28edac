// Does the audit log hear of a refused request (audit.md#denied)?
import { routePath } from "hono/route";
import type { ErrorCode } from "../../shared/errors.ts";
import type { Caller } from "../access/caller.ts";
import type { EdgeContext } from "../edge.ts";
import { hasCode } from "./problem.ts";

/** The codes of refusals that the audit log hears of. */
const DENIALS: readonly ErrorCode[] = ["missing_scope", "beyond_limits"];

/**
 * Tells the audit log of a request that was refused with this error, if that is a refusal of what the caller
 * may not do (audit.md#denied). A log that cannot be reached does not change the answer.
 */
export async function noteDenied(c: EdgeContext, { by, project }: Caller, error: unknown): Promise<void> {
  const code = DENIALS.find((one) => hasCode(error, one));
  if (code === undefined) return;
  const count = c.var.access.denials.count(by, c.env.now());
  if (count === 0) return;
  const request = `${c.req.method} ${routePath(c, -1)}`;
  await c.env.objects
    .registry()
    .noteDenied({ by, project, code, request, count })
    .catch((fault: unknown) => console.warn({ event: "denial_not_recorded", by, error: String(fault) }));
}
