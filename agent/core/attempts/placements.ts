// Which placement does an attempt belong to? Its tasks share directories.
import type { HostMessage } from "../messages.ts";
import type { HostState } from "../types.ts";

/** The placement that an attempt is of, `<run>/<epoch>`: its tasks share directories. */
export function placementOf(id: string): string {
  const attempt = id.lastIndexOf("/") + 1;
  return `${id.slice(0, id.indexOf("/"))}/${id.slice(attempt, id.indexOf(".", attempt))}`;
}

/** Remembers the placements of all attempts that are known now. */
export function withPlacements(state: HostState): HostState {
  const known = new Set(state.placements);
  for (const id of Object.keys(state.attempts)) known.add(placementOf(id));
  return known.size === state.placements.length ? state : { ...state, placements: [...known] };
}

/** The directories of a placement are gone. If orders name an attempt of it again by now, it stays. */
export function placementCleared(state: HostState, placement: string): HostState {
  const placements = state.placements.filter((one) => one !== placement);
  return withPlacements({ ...state, placements });
}

/**
 * Directories that nobody needs any more: no attempt of their placement is left. Of a sticky one,
 * which a note in it says, the data are kept. What earlier starts of the agent have left is judged after the
 * first orders only, because these may go on with it.
 */
export function dueClears({ placements, attempts, ordersSeen }: HostState): HostMessage[] {
  if (ordersSeen === 0 || placements.length === 0) return [];
  const needed = new Set(Object.keys(attempts).map(placementOf));
  return placements
    .filter((placement) => !needed.has(placement))
    .map((placement) => ({ kind: "clear", to: placement, repeatedBy: "self", placement }));
}
