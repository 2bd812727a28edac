// When may a worker call the provider?
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import { CREATE_NOT_AFTER_MS } from "../../../shared/limits.ts";
import { earliest, type Instant, type Millis } from "../../../shared/machine.ts";
import type { CloudCall } from "../../messages.ts";
import { byAge } from "../plan/packing.ts";
import { unwantedCreates } from "../plan/withdraw.ts";
import { type CloudRow, type Hold, isWaiting, type WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { isTried } from "./gate.ts";
import { holdsOn, isClosed } from "./hold-offs.ts";
import { isSweepDue } from "./listings.ts";

/** Rates are calls per second. */
export const SECOND_MS: Millis = 1_000;

/**
 * Gives workers turns to call the provider. Each first create, each retry, each destroy and each look needs a
 * turn. In any second there are at most `maxCloudOpsPerSecond` calls, including listings, and of each sort at
 * most as many as the kind of provider takes (`TRAITS`). A worker gets no turn during a hold-off that its
 * call must obey. After a hold-off, only one machine is tried at first. Destroys come first, creates last.
 */
export function giveTurns(state: Configured, now: Instant): void {
  const { workers, memo } = state;
  memo.latest.turnsAt = now;
  const waiting = workers.derive(waitingOf);
  if (waiting.length === 0) return;
  const since = now - SECOND_MS;
  const calls = callsOf(state).filter((at) => at > since).length;
  let free = state.record.config.maxCloudOpsPerSecond - calls - (isSweepDue(state, now) ? 1 : 0);
  const left = forEachCall((call) => freeOf(state, call, since));
  const tried = new Set(state.record.holds.filter((hold) => isTried(state, hold)));
  const unwanted = new Set(unwantedCreates(state).map(({ worker }) => worker));
  for (const row of waiting) {
    if (free <= 0) return;
    const call = callOf(row);
    if (left[call] <= 0 || unwanted.has(row.worker)) continue;
    const holds = holdsOf(state, row);
    const isCreate = call === "create";
    if (holds.some((hold) => isClosed(hold, now) || (isCreate && tried.has(hold)))) continue;
    const turn = { version: row.version, at: now, call };
    // The time limit for the create call of a new worker starts at the worker's turn.
    const notAfter = row.phase === "asked" ? now + CREATE_NOT_AFTER_MS : row.notAfter;
    workers.set(row.worker, { ...row, turn, notAfter }, now);
    free -= 1;
    left[call] -= 1;
    if (isCreate) for (const hold of holds) tried.add(hold);
  }
}

/** The next time at which a turn becomes possible without another event; undefined: never. */
export function turnsAt(state: ReadonlyConfigured): Instant | undefined {
  const { turnsAt: given } = state.memo.latest;
  const waiting = state.workers.derive(waitingOf);
  if (waiting.length === 0) return undefined;
  const free = freeAfter(callsOf(state), state.record.config.maxCloudOpsPerSecond);
  const freeFor = forEachCall((call) => sortFreeAt(state, call));
  const times = waiting.map((row) => {
    const ends = holdsOf(state, row).map(({ until }) => until ?? Number.POSITIVE_INFINITY);
    return Math.max(free, freeFor[callOf(row)], ...ends);
  });
  return earliest(...times.filter((at) => at > given && at < Number.POSITIVE_INFINITY));
}

/** When the provider may be asked for a listing. Listings take precedence over the calls of workers. */
export function freeAt(state: ReadonlyConfigured): Instant {
  const { asked } = state.memo.latest;
  const calls = latestFirst(state.workers.derive(turnsOf), asked);
  return freeAfter(calls, state.record.config.maxCloudOpsPerSecond);
}

/** When one more call of this sort may be made, if nothing is held off. */
export function callFreeAt(state: ReadonlyConfigured, call: CloudCall): Instant {
  const all = freeAfter(callsOf(state), state.record.config.maxCloudOpsPerSecond);
  return Math.max(all, sortFreeAt(state, call));
}

/**
 * The time from which a limit per second allows one more call. `calls`: the times of calls, latest first.
 */
function freeAfter(calls: readonly Instant[], limit: number): Instant {
  const nth = calls[limit - 1];
  return nth === undefined ? 0 : nth + SECOND_MS;
}

/** The call for which a waiting worker wants its turn. */
function callOf({ waits }: CloudRow): CloudCall {
  return waits ?? "create"; // a worker that has not been heard from yet
}

/** How many calls of one sort per second the kind of provider takes. */
function rateOf({ record }: ReadonlyConfigured, call: CloudCall): number {
  return TRAITS[record.config.provider.kind].rates?.[call] ?? Number.POSITIVE_INFINITY;
}

/** How many more calls of one sort may be made in the second that began at `since`. */
function freeOf(state: ReadonlyConfigured, call: CloudCall, since: Instant): number {
  return rateOf(state, call) - timesOf(state, call).filter((at) => at > since).length;
}

/** When the next call of one sort may be made. */
function sortFreeAt(state: ReadonlyConfigured, call: CloudCall): Instant {
  return freeAfter(timesOf(state, call), rateOf(state, call));
}

/** The times of calls of one sort, latest first. A look may need a list, so a listing counts as a look. */
function timesOf(state: ReadonlyConfigured, call: CloudCall): Instant[] {
  const turns = state.workers.derive(TURNS_OF[call]);
  return call === "find" ? withListing(turns, state) : turns;
}

function forEachCall<Value>(of: (call: CloudCall) => Value): Record<CloudCall, Value> {
  return { create: of("create"), destroy: of("destroy"), find: of("find") };
}

/** The times at which turns for one sort of call were given, latest first. */
const TURNS_OF = forEachCall((call) => (workers: readonly WorkerRow[]) => turnsFor(workers, call));

function turnsFor(workers: readonly WorkerRow[], call: CloudCall): Instant[] {
  return turnsOf(workers.filter(({ turn }) => turn?.call === call));
}

/** The times of the workers' calls and of the latest listing, latest first. */
function callsOf(state: ReadonlyConfigured): Instant[] {
  return withListing(state.workers.derive(turnsOf), state);
}

/** These times, that of the latest listing, and those of calls that people asked for, latest first. */
function withListing(turns: readonly Instant[], { memo }: ReadonlyConfigured): Instant[] {
  return latestFirst(turns, [memo.sweptAt ?? 0, ...memo.latest.asked]);
}

function latestFirst(some: readonly Instant[], others: readonly Instant[]): Instant[] {
  return [...some, ...others].sort((a, b) => b - a);
}

/**
 * The hold-offs that a call must obey. A destroy or a look obeys only hold-offs of scope `all` for a rate
 * limit or a temporary failure.
 */
function holdsOf({ record: { holds } }: ReadonlyConfigured, row: CloudRow): Hold[] {
  if (callOf(row) === "create") return holdsOn(holds, row);
  return holds.filter(
    ({ cause, scope }) => scope === "all" && (cause === "rate_limit" || cause === "temporary"),
  );
}

/**
 * Whether this worker gets a turn when these hold-offs end. Then only the first waiting create call is tried.
 */
export function isFirstAfter(
  { workers }: ReadonlyConfigured,
  row: WorkerRow,
  holds: readonly Hold[],
): boolean {
  const first = workers
    .derive(waitingOf)
    .find((one) => callOf(one) === "create" && holdsOn(holds, one).length > 0);
  return first?.worker === row.worker;
}

/** The times at which turns were given, latest first. */
function turnsOf(workers: readonly WorkerRow[]): Instant[] {
  const turns: Instant[] = [];
  for (const { turn } of workers) if (turn !== undefined) turns.push(turn.at);
  return turns.sort((a, b) => b - a);
}

/**
 * Workers that wait for a turn. Destroys end costs, looks give back permits, and creates come last. Calls of
 * one sort are in the order of age.
 */
function waitingOf(workers: readonly WorkerRow[]): CloudRow[] {
  const waiting = byAge(workers.filter((row) => row.kind === "cloud").filter(isWaiting));
  const of = (call: CloudCall) => waiting.filter((row) => callOf(row) === call);
  return [...of("destroy"), ...of("find"), ...of("create")];
}
