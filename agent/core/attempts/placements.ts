// Which placements have directories here, and when are these deleted?
import type { HostMessage } from "../messages.ts";
import type { HostState } from "../types.ts";

/** The placement of an attempt, `<run>/<epoch>`. The tasks of a placement share directories. */
export function placementOf(id: string): string {
  const attempt = id.lastIndexOf("/") + 1;
  return `${id.slice(0, id.indexOf("/"))}/${id.slice(attempt, id.indexOf(".", attempt))}`;
}

/** The run of an attempt or of a placement. */
export function runOf(id: string): string {
  return id.slice(0, id.indexOf("/"));
}

/** The runs of which this host has an attempt, a directory or kept data: their secrets may be in these. */
export function runsOf({ placements, sticky }: Pick<HostState, "placements" | "sticky">): Set<string> {
  return new Set([...placements, ...Object.keys(sticky.kept)].map(runOf));
}

/** Adds the placements of all attempts to the placements that may have directories. */
export function withPlacements(state: HostState): HostState {
  const known = new Set(state.placements);
  for (const id of Object.keys(state.attempts)) known.add(placementOf(id));
  return known.size === state.placements.length ? state : { ...state, placements: [...known] };
}

/** Removes a placement whose directories are deleted. If newer orders name one of its attempts, it stays. */
export function placementCleared(state: HostState, placement: string): HostState {
  const placements = state.placements.filter((one) => one !== placement);
  return withPlacements({ ...state, placements });
}

/**
 * Directories to delete: those of placements without attempts. No directory is deleted before the first
 * orders, since these may continue a placement from an earlier start of the agent. The shell keeps the data
 * of a sticky placement.
 */
export function dueClears(state: HostState): HostMessage[] {
  const { placements, attempts, ordersSeen } = state;
  if (ordersSeen === 0 || placements.length === 0) return [];
  const needed = new Set(Object.keys(attempts).map(placementOf));
  return placements
    .filter((placement) => !needed.has(placement) && state.remains[placement]?.againAt === undefined)
    .map((placement) => ({ kind: "clear", to: placement, placement }));
}
