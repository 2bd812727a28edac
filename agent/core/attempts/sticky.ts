// What happens to the data of sticky runs when a placement ends (tasks.md#sticky-data)?
import type { StickyData } from "../../../src/schema/host.ts";
import { earliest, type Instant } from "../../../src/shared/machine.ts";
import { KEPT_DATA_MS, MAX_KEPT_DATA } from "../bounds.ts";
import type { HostEvent } from "../events.ts";
import { mayStart } from "../lease.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, KeptData } from "../types.ts";
import { isOver } from "./outputs.ts";
import { placementOf } from "./placements.ts";

/**
 * The data of sticky runs (tasks.md#sticky-data). When a placement is over its data are kept; the next
 * one of its run here begins with them. Otherwise they go when the orders say that nobody needs them, or at
 * a bound: that the orders do not mention them says nothing.
 */

/** The placement whose data an attempt's placement begins with, if it is here. */
function sourceOf({ id, sticky }: AttemptState): string | undefined {
  const [run] = id.split("/");
  return sticky?.from ? `${run}/${sticky.from}` : undefined;
}

/** Whether an attempt has its placement's directory, if it must wait for that. */
export function hasBegun({ sticky }: HostState, attempt: AttemptState): boolean {
  return attempt.sticky === undefined || sticky.begun[placementOf(attempt.id)] !== undefined;
}

/**
 * Sticky placements that must have their directory before an attempt of theirs can start. Nothing that lives
 * may have its files taken away: they wait until all of what was there before has ended.
 */
export function dueBeginnings(state: HostState, now: Instant): HostMessage[] {
  const waiting = Object.values(state.attempts).filter(
    (one) => one.main === "waiting" && one.stop === undefined && !hasBegun(state, one),
  );
  const due = new Map<string, HostMessage>();
  for (const attempt of waiting) {
    const [placement, from] = [placementOf(attempt.id), sourceOf(attempt)];
    if (!mayStart(state, attempt, now) || lives(state, from)) continue;
    const snapshot = attempt.sticky?.snapshot;
    due.set(placement, { kind: "begin", to: placement, repeatedBy: "self", placement, from, snapshot });
  }
  return [...due.values()];
}

function lives({ attempts }: HostState, placement: string | undefined): boolean {
  return Object.values(attempts).some((one) => !isOver(one) && placementOf(one.id) === placement);
}

/** Placements whose data are to be stored: the orders say so, and nothing that could change them is left. */
export function dueSaves(state: HostState): HostMessage[] {
  if (state.setup === undefined) return [];
  const wanted = Object.values(state.attempts).filter(
    ({ wanted: now, save, saved }) => now !== "nothing" && save && saved === undefined,
  );
  const placements = new Set(wanted.map(({ id }) => placementOf(id)));
  return [...placements]
    .filter((placement) => !lives(state, placement))
    .map((placement) => ({ kind: "save", to: placement, repeatedBy: "self", placement }));
}

/** What became of the data of a placement is said with each of its attempts. */
export function foldSaved(
  state: HostState,
  { placement, outcome }: Extract<HostEvent, { type: "saved" }>,
): HostState {
  const attempts = Object.entries(state.attempts).map(([id, one]): [string, AttemptState] => {
    return [id, one.save && placementOf(id) === placement ? { ...one, saved: outcome } : one];
  });
  return { ...state, attempts: Object.fromEntries(attempts) };
}

/** Kept data that are to be deleted. */
export function dueDrops({ sticky }: HostState): HostMessage[] {
  return Object.entries(sticky.kept)
    .filter(([, { unneeded }]) => unneeded)
    .map(([placement]) => ({ kind: "drop", to: placement, repeatedBy: "self", placement }));
}

/** A placement has its directory. */
export function foldBegun(
  state: HostState,
  { placement, from = "", data }: Extract<HostEvent, { type: "begun" }>,
): HostState {
  const { begun, kept } = state.sticky;
  const left = data === "moved" ? without(kept, from) : kept;
  return { ...state, sticky: { begun: { ...begun, [placement]: data }, kept: left } };
}

/** Of a placement that is over the data are kept from now on. */
export function foldKept(state: HostState, placement: string, now: Instant): HostState {
  const { begun, kept } = withoutData(state, placement).sticky;
  return { ...state, sticky: { begun, kept: { ...kept, [placement]: { since: now } } } };
}

/** Nothing is left of a placement, kept or not. */
export function withoutData(state: HostState, placement: string): HostState {
  const { begun, kept } = state.sticky;
  return { ...state, sticky: { begun: without(begun, placement), kept: without(kept, placement) } };
}

function without<T>(entries: Record<string, T>, key: string): Record<string, T> {
  const { [key]: _, ...others } = entries;
  return others;
}

/**
 * The orders say that nobody needs the data of these placements any more. That is never taken back; but what
 * a placement waits here to begin with stays, since whoever said so did not know.
 */
export function dropped(state: HostState, placements: string[] = []): HostState {
  const wanted = awaitedOf(state);
  const known = placements.filter((one) => state.sticky.kept[one] !== undefined && !wanted.has(one));
  return known.length === 0 ? state : { ...state, sticky: withUnneeded(state, known) };
}

function withUnneeded({ sticky: { begun, kept } }: HostState, placements: string[]): HostState["sticky"] {
  const next = { ...kept };
  for (const one of placements) {
    const data = kept[one];
    if (data !== undefined) next[one] = { ...data, unneeded: true };
  }
  return { begun, kept: next };
}

/** Latches the bounds: what is kept for too long is dropped, and the oldest of too many. */
export function elapseKept(state: HostState, now: Instant): HostState["sticky"] {
  const kept = bounded(state);
  const tooMany = kept.slice(0, Math.max(0, kept.length - MAX_KEPT_DATA));
  const tooOld = kept.filter(([, { since }]) => since + KEPT_DATA_MS <= now);
  const over = [...tooMany, ...tooOld].map(([placement]) => placement);
  return over.length === 0 ? state.sticky : withUnneeded(state, over);
}

/** When the next of them has been kept for long enough. */
export function keptUntil(state: HostState): Instant | undefined {
  return earliest(...bounded(state).map(([, { since }]) => since + KEPT_DATA_MS));
}

/** What the bounds apply to, oldest first: not what is about to be used. */
function bounded({ sticky, attempts }: HostState): [string, KeptData][] {
  const entries = Object.entries(sticky.kept).filter(([, { unneeded }]) => !unneeded);
  if (entries.length === 0) return entries;
  const wanted = awaitedOf({ attempts });
  return entries.filter(([placement]) => !wanted.has(placement)).sort(([, a], [, b]) => a.since - b.since);
}

/** The placements whose data attempts wait to begin with. */
function awaitedOf({ attempts }: Pick<HostState, "attempts">): Set<string | undefined> {
  return new Set(Object.values(attempts).flatMap((one) => (one.main === "waiting" ? [sourceOf(one)] : [])));
}

/** What a report says of all this: which placements are kept. */
export function keptReport({ sticky }: HostState): { kept?: string[] } {
  const kept = Object.keys(sticky.kept).filter((one) => !sticky.kept[one]?.unneeded);
  return kept.length === 0 ? {} : { kept };
}

/** What the report of an attempt says: with what its placement has begun, if anything was there before. */
export function dataReport({ sticky }: HostState, id: string): { data?: StickyData } {
  const data = sticky.begun[placementOf(id)];
  return data === undefined || data === "first" ? {} : { data };
}
