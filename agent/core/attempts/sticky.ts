// What happens to the data of sticky runs when a placement ends (tasks.md#sticky-data)?
import type { StickyData } from "../../../src/schema/host.ts";
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import type { EventOf } from "../events.ts";
import { mayStart } from "../lease.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, KeptData } from "../types.ts";
import { mapAttempts } from "./attempt.ts";
import { isOver } from "./outputs.ts";
import { placementOf } from "./placements.ts";

/** Longest time for which unused sticky data are kept. Usually the control plane drops them sooner. */
export const KEPT_DATA_MS: Millis = 24 * 3_600_000;
/** The maximum number of placements whose unused data are kept. */
export const MAX_KEPT_DATA = 32;

// The data of a placement that is over are kept, for the next placement of its run on this host. They are
// deleted when the orders drop them, or when they exceed a bound. Orders that do not mention them change
// nothing.

/** The earlier placement on this host whose data an attempt's placement takes over. */
function sourceOf({ id, sticky }: AttemptState): string | undefined {
  const [run] = id.split("/");
  return sticky?.from ? `${run}/${sticky.from}` : undefined;
}

/** Whether the directory of an attempt's placement has its data; always true for a run that is not sticky. */
export function hasBegun({ sticky }: HostState, attempt: AttemptState): boolean {
  return attempt.sticky === undefined || sticky.begun[placementOf(attempt.id)] !== undefined;
}

/** What is due for the data of sticky placements. */
export function dueForData(state: HostState, now: Instant): HostMessage[] {
  return [...dueBeginnings(state, now), ...dueSaves(state), ...dueDrops(state)];
}

/**
 * Sticky placements whose directory must be created before their attempts can start. The data are moved only
 * when every attempt of the earlier placement is over.
 */
function dueBeginnings(state: HostState, now: Instant): HostMessage[] {
  const waiting = Object.values(state.attempts).filter(
    (one) => one.main === "waiting" && one.stop === undefined && !hasBegun(state, one),
  );
  const due = new Map<string, HostMessage>();
  for (const attempt of waiting) {
    const [placement, from] = [placementOf(attempt.id), sourceOf(attempt)];
    if (!mayStart(state, attempt, now) || isAlive(state, from)) continue;
    const snapshot = attempt.sticky?.snapshot;
    due.set(placement, { kind: "begin", to: placement, placement, from, snapshot });
  }
  return [...due.values()];
}

function isAlive({ attempts }: HostState, placement: string | undefined): boolean {
  return Object.values(attempts).some((one) => !isOver(one) && placementOf(one.id) === placement);
}

/** Placements whose data are to be stored now: the orders ask for it, and all their attempts are over. */
function dueSaves(state: HostState): HostMessage[] {
  if (state.setup === undefined) return [];
  const unsaved = Object.values(state.attempts).filter(
    ({ wanted, save, saved }) => wanted !== "nothing" && save && saved === undefined,
  );
  const placements = new Set(unsaved.map(({ id }) => placementOf(id)));
  return [...placements]
    .filter((placement) => !isAlive(state, placement))
    .map((placement) => ({ kind: "save", to: placement, placement }));
}

/**
 * Records in each attempt of a placement whether the placement's data were stored. The attempts report this.
 */
export function foldSaved(state: HostState, { placement, outcome }: EventOf<"saved">): HostState {
  const attempts = mapAttempts(state, (one) =>
    one.save && placementOf(one.id) === placement ? { ...one, saved: outcome } : one,
  );
  return { ...state, attempts };
}

/** Kept data to delete. */
function dueDrops({ sticky }: HostState): HostMessage[] {
  return Object.entries(sticky.kept)
    .filter(([, { unneeded }]) => unneeded)
    .map(([placement]) => ({ kind: "drop", to: placement, placement }));
}

/** Records that a placement has its directory, and which data are in it. */
export function foldBegun(state: HostState, { placement, from = "", data }: EventOf<"begun">): HostState {
  const { begun, kept } = state.sticky;
  const next = {
    begun: { ...begun, [placement]: data },
    kept: data === "moved" ? without(kept, from) : kept,
  };
  return { ...state, sticky: next };
}

/** Records that the data of a placement are kept from now on. */
export function foldKept(state: HostState, placement: string, now: Instant): HostState {
  const { begun, kept } = withoutData(state, placement).sticky;
  return { ...state, sticky: { begun, kept: { ...kept, [placement]: { since: now } } } };
}

/** Removes a placement whose data are all deleted. */
export function withoutData(state: HostState, placement: string): HostState {
  const { begun, kept } = state.sticky;
  return { ...state, sticky: { begun: without(begun, placement), kept: without(kept, placement) } };
}

function without<T>(entries: Record<string, T>, key: string): Record<string, T> {
  const { [key]: _, ...others } = entries;
  return others;
}

/**
 * Marks the kept data of these placements as unneeded, as the orders say. The mark is final. Data that
 * another placement waits for are not marked, since the orders may be older than the wait.
 */
export function withDrops(state: HostState, placements: string[] = []): HostState {
  const awaited = awaitedPlacements(state);
  const known = placements.filter((one) => state.sticky.kept[one] !== undefined && !awaited.has(one));
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

/** Marks as unneeded the data that were kept too long, and the oldest data beyond the maximum number. */
export function elapseKept(state: HostState, now: Instant): HostState["sticky"] {
  const kept = boundedData(state);
  const tooMany = kept.slice(0, Math.max(0, kept.length - MAX_KEPT_DATA));
  const tooOld = kept.filter(([, { since }]) => since + KEPT_DATA_MS <= now);
  const excess = [...tooMany, ...tooOld].map(([placement]) => placement);
  return excess.length === 0 ? state.sticky : withUnneeded(state, excess);
}

/** When `elapseKept` will next mark data. */
export function keptUntil(state: HostState): Instant | undefined {
  return earliest(...boundedData(state).map(([, { since }]) => since + KEPT_DATA_MS));
}

/**
 * The kept data that the bounds apply to, oldest first: data that are not marked as unneeded, and that no
 * placement waits for.
 */
function boundedData({ sticky, attempts }: HostState): [string, KeptData][] {
  const entries = Object.entries(sticky.kept).filter(([, { unneeded }]) => !unneeded);
  if (entries.length === 0) return entries;
  const awaited = awaitedPlacements({ attempts });
  return entries.filter(([placement]) => !awaited.has(placement)).sort(([, a], [, b]) => a.since - b.since);
}

/** The placements whose data are needed by waiting attempts. */
function awaitedPlacements({ attempts }: Pick<HostState, "attempts">): Set<string | undefined> {
  return new Set(Object.values(attempts).flatMap((one) => (one.main === "waiting" ? [sourceOf(one)] : [])));
}

/** The placements with kept data, for a report. */
export function keptReport({ sticky }: HostState): { kept?: string[] } {
  const kept = Object.keys(sticky.kept).filter((one) => !sticky.kept[one]?.unneeded);
  return kept.length === 0 ? {} : { kept };
}

/** The data with which an attempt's placement began, for a report. */
export function dataReport({ sticky }: HostState, id: string): { data?: StickyData } {
  const data = sticky.begun[placementOf(id)];
  return data === undefined || data === "first" ? {} : { data };
}
