// How many tokens of issuers and attempts may an address send that are refused (oidc.md#exchange)?
import { placeOf } from "../../schema/access/networks.ts";
import type { EdgeContext } from "../edge.ts";
import { addressOf, tooMany } from "../http/auth.ts";
import { hasCode } from "../http/problem.ts";

/**
 * Does the work for a request, and counts it against its address if its token is refused. An address that
 * sends too many of these is turned away before the work: `too_many_requests`. Tokens that are accepted count
 * for nothing, however many come at once, nor do those that are refused through the fault of somebody else.
 */
export async function countingRefusals<T>(c: EdgeContext, work: () => Promise<T>): Promise<T> {
  const { refusals } = c.var.access;
  const address = placeOf(addressOf(c));
  const verdict = refusals.judge(address, c.env.now());
  if (!verdict.allowed) throw tooMany("too many wrong tokens came from this address", refusals, verdict);
  try {
    return await work();
  } catch (error) {
    if (hasCode(error, "unauthorized") || hasCode(error, "not_trusted")) refusals.take(address, c.env.now());
    throw error;
  }
}
