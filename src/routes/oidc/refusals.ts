// How many tokens of issuers and attempts may an address send that are refused (oidc.md#exchange)?
import { createMiddleware } from "hono/factory";
import { placeOf } from "../../schema/access/networks.ts";
import type { EdgeTypes } from "../edge.ts";
import { addressOf, tooMany } from "../http/limits.ts";
import { hasCode } from "../http/problem.ts";

/**
 * Counts a request against its address until its token is accepted. So an address that sends too many tokens
 * that are refused is turned away before the work, also if they all come at once: `too_many_requests`. Tokens
 * that are accepted count for nothing, nor do those that are refused through the fault of somebody else.
 */
export function countRefusals(kind: "issuer" | "attempt" | "boot") {
  return createMiddleware<EdgeTypes>(async (c, next) => {
    const limiter = c.var.access.refused[kind];
    const { verdict, settle } = limiter.reserve(placeOf(addressOf(c)), c.env.now());
    if (!verdict.allowed) throw tooMany(c, "too many wrong tokens came from this address", limiter, verdict);
    await next();
    settle(hasCode(c.error, "unauthorized") || hasCode(c.error, "not_trusted"));
  });
}
