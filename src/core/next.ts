// How does `why` express what happens next, when, and who must act first?
import type { AWAITED, NextCode, Why } from "../schema/why.ts";
import type { Instant } from "../shared/machine.ts";
import { iso } from "../shared/time/instant.ts";

/** What happens next (`why`, invariant 5). */
export type Next = Why["next"];
/** Who must act first. */
export type Awaited = (typeof AWAITED)[number];

/** An action that Drover takes by itself at this time, unless `waitsFor` acts first. */
export function nextAt(code: NextCode, action: string, at: Instant, waitsFor: Awaited | null): Next {
  return { action, at: iso(at), code, waitsFor };
}

/** An action that follows only once `waitsFor` acts. Null: nothing more will happen. */
export function nextBy(code: NextCode, action: string, waitsFor: Awaited | null): Next {
  return { action, at: null, code, waitsFor };
}

/** The earlier of two actions. An action with a time comes before an action without a time. */
export function earlierOf(first: Next, second: Next | null): Next {
  if (second === null || second.at === null) return first;
  if (first.at === null) return { ...second, waitsFor: second.waitsFor ?? first.waitsFor ?? null };
  return Date.parse(second.at) < Date.parse(first.at) ? second : first;
}
