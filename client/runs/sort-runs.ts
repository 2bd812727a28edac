// In which order are runs listed, besides newest first?
import { hasFailed } from "../../src/shared/run-state.ts";
import type { RunSummary } from "../types.ts";

/** What runs can be sorted by (api.md#finding). */
export const RUN_ORDERS = ["created", "ended", "duration", "state", "pool"] as const;
export type RunOrder = (typeof RUN_ORDERS)[number];

/** What needs a look comes first; a command that has ended with another code than 0 follows these. */
const STATES: readonly RunSummary["state"][] = [
  "failed",
  "timedout",
  "unknown",
  "running",
  "pending",
  "aborted",
  "complete",
];
const LIVE = STATES.indexOf("running");

/**
 * Sorts runs: by `created` the newest is first, by `ended` the latest end, by `duration` the longest, and
 * runs without an end or a start are last. By `state`, failures are first. Runs that are equal in this stay
 * in their order. `now`: until when a run that has not ended has taken, in milliseconds since 1970.
 */
export function sortRuns(runs: readonly RunSummary[], by: RunOrder, now: number): RunSummary[] {
  const compare = COMPARISONS[by];
  return [...runs].sort((a, b) => compare(a, b, now));
}

const COMPARISONS: Record<RunOrder, (a: RunSummary, b: RunSummary, now: number) => number> = {
  created: (a, b) => descending(a.submittedAt, b.submittedAt),
  ended: (a, b) => descending(a.finishedAt ?? "", b.finishedAt ?? ""),
  duration: (a, b, now) => descending(durationMs(a, now), durationMs(b, now)),
  state: (a, b) => rank(a) - rank(b),
  pool: (a, b) => descending(b.pool, a.pool),
};

function descending<Value extends string | number>(a: Value, b: Value): number {
  return a === b ? 0 : a < b ? 1 : -1;
}

function rank(run: RunSummary): number {
  return run.state === "complete" && hasFailed(run) ? LIVE - 0.5 : STATES.indexOf(run.state);
}

/** How long a run has taken; -1 before its start. */
function durationMs({ startedAt, finishedAt }: RunSummary, now: number): number {
  if (startedAt === null) return -1;
  return (finishedAt === null ? now : Date.parse(finishedAt)) - Date.parse(startedAt);
}
