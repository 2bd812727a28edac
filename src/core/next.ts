import type { AWAITED, NextCode, Why } from "../schema/why.ts";
import type { Instant } from "../shared/machine.ts";
import { iso } from "../shared/time/instant.ts";

/** What happens next (`why`, invariant 5). */
export type Next = Why["next"];
/** Whose word it waits for. */
export type Awaited = (typeof AWAITED)[number];

/** What Drover does by itself at that time, unless the word of somebody changes it before. */
export function nextAt(code: NextCode, action: string, at: Instant, waitsFor: Awaited | null): Next {
  return { action, at: iso(at), code, waitsFor };
}

/** What happens as soon as somebody says something, and not before; null: nothing happens any more. */
export function nextBy(code: NextCode, action: string, waitsFor: Awaited | null): Next {
  return { action, at: null, code, waitsFor };
}

/** Of two things the one that has a time, or the earlier one. */
export function earlierOf(first: Next, second: Next | null): Next {
  if (second === null || second.at === null) return first;
  if (first.at === null) return { ...second, waitsFor: second.waitsFor ?? first.waitsFor ?? null };
  return Date.parse(second.at) < Date.parse(first.at) ? second : first;
}
