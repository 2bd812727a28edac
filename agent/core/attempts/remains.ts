// Which ended placements still have something that holds on to their directories (workers.md#stale-runs)?
import type { Report } from "../../../src/schema/host.ts";
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import { reportFully } from "../reports/socket.ts";
import type { HostState, Remains } from "../types.ts";
import { runOf } from "./placements.ts";

/** The pause between two tries to delete directories that something holds on to. */
export const CLEAR_AGAIN_MS: Millis = 5_000;
/** How many tries must have failed before the run is reported: a process may be about to end. */
export const TRIES_BEFORE_STALE = 2;
/** A report may name so many runs. */
const MAX_REPORTED = 64;

/** Notes that the directories of an ended placement cannot be deleted, and why. It is tried again later. */
export function foldHeldOn(state: HostState, placement: string, holder: string, now: Instant): HostState {
  const { tries = 0 } = state.remains[placement] ?? {};
  const remains = {
    ...state.remains,
    [placement]: { holder, tries: tries + 1, againAt: now + CLEAR_AGAIN_MS },
  };
  const next = { ...state, remains };
  return tries + 1 === TRIES_BEFORE_STALE ? reportFully(next, now) : next;
}

/** The state without what held on to a placement, whose directories are deleted, or whose data are kept. */
export function withoutRemains(state: HostState, placement: string, now: Instant): HostState {
  const known = state.remains[placement];
  if (known === undefined) return state;
  const { [placement]: _, ...remains } = state.remains;
  const next = { ...state, remains };
  return known.tries < TRIES_BEFORE_STALE ? next : reportFully(next, now);
}

/** Begins the tries to delete directories that are due. */
export function elapseRemains({ remains }: HostState, now: Instant): HostState["remains"] {
  if (!Object.values(remains).some(({ againAt }) => againAt !== undefined && againAt <= now)) return remains;
  const begun = (one: Remains) => ((one.againAt ?? now) <= now ? { ...one, againAt: undefined } : one);
  return Object.fromEntries(Object.entries(remains).map(([placement, one]) => [placement, begun(one)]));
}

/** When `elapseRemains` will change something next. */
export function clearsAgainAt({ remains }: HostState): Instant | undefined {
  return earliest(...Object.values(remains).flatMap(({ againAt }) => againAt ?? []));
}

/** The stale runs, in a full report. */
export function staleReport({ remains }: HostState): Pick<Report, "stale"> {
  const stale = Object.entries(remains).filter(([, { tries }]) => tries >= TRIES_BEFORE_STALE);
  if (stale.length === 0) return {};
  return {
    stale: stale.slice(0, MAX_REPORTED).map(([placement, { holder }]) => ({ run: runOf(placement), holder })),
  };
}
