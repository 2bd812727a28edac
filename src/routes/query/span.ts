// Which time does a request for a pool's past ask for?
import { InstantInput } from "../../schema/common.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { invalid } from "../http/invalid.ts";

/** The parameters of a span. `usual`: how long it is, in words, if the request does not say it. */
export function spanFields(usual: string) {
  return {
    since: InstantInput.optional().describe(`from this instant on; absent: ${usual} before \`until\``),
    until: InstantInput.optional().describe("before this instant; absent: now"),
  };
}

/** The span that a request asks for. Throws `invalid_request` if it ends before it begins. */
export function spanOf(
  query: { since?: string | undefined; until?: string | undefined },
  now: Instant,
  usualMs: Millis,
): { since: Instant; until: Instant } {
  const until = query.until === undefined ? now : Date.parse(query.until);
  const since = query.since === undefined ? until - usualMs : Date.parse(query.since);
  if (since >= until) throw invalid([{ pointer: "?since", detail: "must be before `until`" }]);
  return { since, until };
}
