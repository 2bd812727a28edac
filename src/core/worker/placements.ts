import type { Resources } from "../../schema/common.ts";
import { parseAttemptId, placementKey } from "../../shared/attempt-id.ts";
import { REMEMBER_ENDED_MS } from "../../shared/limits.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { lackedOf } from "../../shared/means.ts";
import type { Ended, EndedHow, Order, OrderAnswer } from "../messages.ts";
import { fitsInto } from "../resources.ts";
import { behaviorOf, lossCause } from "./host/notice.ts";
import {
  capacityOf,
  type Living,
  livePlacements,
  measuredMemory,
  ordersRevision,
  type PlacementRow,
  type ReadonlyLiving,
  type ReadonlyWorker,
  untoldPlacements,
  type WorkerRecord,
  type WorkerState,
} from "./state.ts";

/** At least this long without a report, and a host is silent: it is trusted with no further run. */
const SILENT_AT_LEAST_MS: Millis = 30_000;
/** How often they are looked through for old ones. */
const FORGET_EVERY_MS: Millis = 3_600_000;

/**
 * Whether the host has not been heard of for three probe intervals. To a process that no host has reported
 * to, it is silent: a run that is refused is placed again when the host has been heard, and costs less than
 * one that waits for a dead machine.
 */
export function isSilent(state: ReadonlyLiving, now: Instant): boolean {
  const from = silentFrom(state);
  return from === undefined || now > from;
}

/** When the host is silent if it says nothing more; undefined: nobody has heard it in this process. */
export function silentFrom({ memo, record }: ReadonlyLiving): Instant | undefined {
  return memo.lastReportAt === null ? undefined : memo.lastReportAt + patienceMs(record);
}

function patienceMs({ intent }: WorkerRecord): Millis {
  return Math.max(3 * intent.settings.probeIntervalMs, SILENT_AT_LEAST_MS);
}

/**
 * Folds in an order of an allocation. What it is answered is `answerOrder`, from the state after this. If a
 * host is listening, it gets the order at once, so it counts as told from now on.
 */
export function foldOrder(state: Living, order: Order, now: Instant): WorkerState {
  const key = placementKey(order.run, order.epoch);
  const known = state.placements.get(key);
  if (known?.state === "ended") return state;
  const revision = ordersRevision(state) + 1;
  const { revision: ofAllocation, attempts, resources, signals } = order;
  const wanted = {
    revision: ofAllocation,
    attempts,
    resources,
    ...(signals === undefined ? {} : { signals }),
  };
  if (known !== undefined) {
    const newer = known.order === null || order.revision > known.order.revision;
    if (newer) state.placements.set(key, { ...known, revision, order: wanted }, now);
    return state;
  }
  const { run, epoch } = order;
  if (refusal(state, order, now) !== null) {
    const end = { how: "refused" as const, held: false, owed: false };
    state.placements.set(key, { run, epoch, state: "ended", revision, at: now, order: null, end }, now);
    return state;
  }
  const row = { run, epoch, state: "live" as const, revision, at: now, order: wanted, end: null };
  state.placements.set(key, order.listening === true ? row : { ...row, untold: true }, now);
  return state;
}

/** Orders are leaving for the host: whatever is in them, it may hold from now on. */
export function foldTold(state: Living, now: Instant): WorkerState {
  for (const { untold: _, ...row } of untoldPlacements(state))
    state.placements.set(placementKey(row.run, row.epoch), row, now);
  return state;
}

/**
 * Ends what the host was never told, once it is silent or its machine is to end: nothing of it can be there,
 * so it is `refused`, and its run may be placed elsewhere at once (rule R2).
 */
export function refuseUntold(state: Living, now: Instant): WorkerState {
  const { phase } = state.record;
  if (phase === "ready" && !isSilent(state, now)) return state;
  for (const row of untoldPlacements(state)) endPlacement(state, row, "refused", true, now);
  return state;
}

/** Whether a placement was ever given to this worker: its row is kept for a day after its end (rule R2). */
export function isGiven({ placements }: ReadonlyLiving): (key: string) => boolean {
  return (key) => placements.get(key) !== undefined;
}

/**
 * Whether an attempt is of a placement that this worker was given, or of a stranger whose run is asked. When
 * a log of any other attempt comes, no run is asked (`docs/design/reports.md`).
 */
export function isPlaced(state: ReadonlyLiving, attempt: string): boolean {
  const parts = parseAttemptId(attempt);
  if (parts === undefined) return false;
  const key = placementKey(parts.run, parts.epoch);
  return state.memo.reported[key] !== undefined || isGiven(state)(key);
}

/** Why a placement that is new to this worker is not taken; null if it is. */
function refusal(state: ReadonlyLiving, order: Order, now: Instant): string | null {
  const { record } = state;
  if (record.phase !== "ready") return `the worker is ${record.phase}`;
  const behavior = behaviorOf(record);
  if (behavior !== "run") return `the worker is set to ${behavior}`;
  if (!order.attempts.some((attempt) => attempt.want === "run")) return "nothing of it shall run";
  if (now >= record.leaseUntil || isSilent(state, now)) return "its host is silent";
  if (lackedOf(order.needs, record.acts).length > 0) return "its agent is too old for it";
  const live = livePlacements(state);
  const { maxRuns } = record.intent.settings;
  if (maxRuns > 0 && live.length >= maxRuns) return "the worker is full";
  const used = live.map((row) => row.order?.resources).filter((one): one is Resources => one !== undefined);
  return fitsInto(capacityOf(record), used, order.resources, measuredMemory(record))
    ? null
    : "the worker is full";
}

/** What an order is answered: the worker's present view of that placement (rule R6). */
export function answerOrder(state: ReadonlyWorker, order: Order): OrderAnswer {
  const row = state.placements.get(placementKey(order.run, order.epoch));
  if (state.record === null || row === undefined) return { kind: "no_such" };
  if (row.end !== null) return { kind: "ended", ...endOf(state.record, row.end) };
  return { kind: "accepted", revision: row.order?.revision ?? 0 };
}

/** How a placement ended, as its allocation is told. */
export function endOf(
  record: WorkerRecord,
  { how, held }: Pick<Ended, "how" | "held">,
): Pick<Ended, "how" | "held" | "cause"> {
  const cause = how === "lost" ? lossCause(record) : undefined;
  return { how, held, ...(cause === undefined ? {} : { cause }) };
}

/** Ends a live placement. `owed`: the allocation does not know it yet. */
export function endPlacement(
  state: Living,
  row: PlacementRow,
  how: EndedHow,
  owed: boolean,
  now: Instant,
): void {
  const key = placementKey(row.run, row.epoch);
  const { untold, ...known } = row;
  const held = untold !== true;
  const revision = ordersRevision(state) + 1;
  state.placements.set(
    key,
    { ...known, state: "ended", revision, at: now, order: null, end: { how, held, owed } },
    now,
  );
}

/**
 * Ends every live placement whose order the host may have held, or all: the machine is lost to them (rule
 * R2).
 */
export function loseAll(state: Living, which: "held" | "all", now: Instant): void {
  for (const row of livePlacements(state)) {
    if (row.untold !== true || which === "all") endPlacement(state, row, "lost", true, now);
  }
}

/** Forgets ended placements after 24 h (rule R2), now and then, keeping the revision of the orders. */
export function forgetOld(state: Living, now: Instant): Living {
  const { forgotAt } = state.memo;
  if (forgotAt !== null && now < forgotAt + FORGET_EVERY_MS) return state;
  const memo = { ...state.memo, forgotAt: now };
  if (forgotAt === null) return { ...state, memo };
  const revision = ordersRevision(state);
  state.placements.forget(now - REMEMBER_ENDED_MS);
  const record = revision === state.record.revision ? state.record : { ...state.record, revision };
  return { ...state, record, memo };
}
