// Which placements does a worker accept, and how do they end?
import type { Resources } from "../../schema/common.ts";
import { parseAttemptId, placementKey } from "../../shared/attempt-id.ts";
import { REMEMBER_ENDED_MS } from "../../shared/limits.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { Ended, EndedHow, Order, OrderAnswer } from "../messages.ts";
import { fitsInto } from "../resources.ts";
import { behaviorOf } from "./life/behavior.ts";
import {
  capacityOf,
  type ExistingWorker,
  livePlacements,
  measuredMemory,
  ordersRevision,
  type PlacementRow,
  type ReadonlyExistingWorker,
  type ReadonlyWorker,
  undeliveredPlacements,
  type WorkerRecord,
  type WorkerState,
} from "./state.ts";

/** The shortest time without a report after which a host counts as silent, and gets no further run. */
const SILENT_AT_LEAST_MS: Millis = 30_000;
/** How often ended placements are checked for their age. */
const FORGET_EVERY_MS: Millis = 3_600_000;

/**
 * Whether the host has been silent for three probe intervals, and for at least `SILENT_AT_LEAST_MS`. If this
 * process has not heard from the host yet, the host counts as silent: it costs less to place a refused run
 * again than to wait for a dead machine.
 */
export function isSilent(state: ReadonlyExistingWorker, now: Instant): boolean {
  const from = silentFrom(state);
  return from === undefined || now > from;
}

/** After this time the host counts as silent. Undefined: this process has not heard from the host yet. */
export function silentFrom({ memo, record }: ReadonlyExistingWorker): Instant | undefined {
  const silenceMs = Math.max(3 * record.intent.settings.probeIntervalMs, SILENT_AT_LEAST_MS);
  return memo.lastReportAt === null ? undefined : memo.lastReportAt + silenceMs;
}

/**
 * Applies an order of an allocation. `answerOrder` then answers the order from the new state. A connected
 * host gets the order at once, so the host may have the placement from now on.
 */
export function foldOrder(state: ExistingWorker, order: Order, now: Instant): WorkerState {
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
  state.placements.set(key, order.listening === true ? row : { ...row, undelivered: true }, now);
  return state;
}

/** Notes that all orders are being sent to the host. From now on, the host may have all placements. */
export function foldOrdersSent(state: ExistingWorker, now: Instant): WorkerState {
  for (const { undelivered: _, ...row } of undeliveredPlacements(state))
    state.placements.set(placementKey(row.run, row.epoch), row, now);
  return state;
}

/**
 * Ends undelivered placements if the host is silent or the worker is not ready. The host cannot have started
 * anything, so these placements end as `refused`, and their runs are placed again at once (rule R2).
 */
export function refuseUndelivered(state: ExistingWorker, now: Instant): WorkerState {
  const { phase } = state.record;
  if (phase === "ready" && !isSilent(state, now)) return state;
  endPlacements(state, undeliveredPlacements(state), "refused", true, now);
  return state;
}

/**
 * Whether a placement was ever on this worker. The placement's row is kept for a day after the placement's
 * end (rule R2).
 */
export function isGiven({ placements }: ReadonlyExistingWorker): (key: string) => boolean {
  return (key) => placements.get(key) !== undefined;
}

/**
 * Whether an attempt belongs to a placement of this worker, or to a stranger (a reported placement without a
 * row) about which the allocation is asked. Logs of any other attempt are dropped without asking an
 * allocation (reports.md).
 */
export function isPlaced(state: ReadonlyExistingWorker, attempt: string): boolean {
  const parts = parseAttemptId(attempt);
  if (parts === undefined) return false;
  const key = placementKey(parts.run, parts.epoch);
  return state.memo.reported[key] !== undefined || isGiven(state)(key);
}

/** Whether this worker's host is to run an attempt, by the present orders (oidc.md#request-tokens). */
export function isOrdered({ placements, record }: ReadonlyExistingWorker, attempt: string): boolean {
  const parts = parseAttemptId(attempt);
  if (parts === undefined || record.phase === "gone") return false;
  const row = placements.get(placementKey(parts.run, parts.epoch));
  const attempts = row?.state === "live" ? (row.order?.attempts ?? []) : [];
  return attempts.some(({ id, want, holdUntil }) => id === attempt && want === "run" && holdUntil !== 0);
}

/** The runs that have ended, and that this machine keeps for a look (tasks.md#kept). */
export function keptRuns(state: ReadonlyExistingWorker): { run: string; until: Instant }[] {
  return livePlacements(state).flatMap(({ run, order }) => {
    const until = Math.max(0, ...(order?.attempts ?? []).map(({ holdUntil = 0 }) => holdUntil));
    return until === 0 ? [] : [{ run, until }];
  });
}

/**
 * The secrets of an attempt that this worker's host is to start, by the names that its task has for them.
 * Undefined: the attempt is not in the present orders, has begun, or has no secrets (secrets.md#handed).
 */
export function secretsOrdered(
  { placements, memo }: ReadonlyExistingWorker,
  attempt: string,
): Record<string, string> | undefined {
  const parts = parseAttemptId(attempt);
  const key = parts && placementKey(parts.run, parts.epoch);
  const row = key === undefined ? undefined : placements.get(key);
  if (key === undefined || row === undefined || row.state !== "live") return undefined;
  const reported = memo.reported[key]?.attempts.find(({ id }) => id === attempt);
  if (reported !== undefined && reported.state !== "preparing") return undefined;
  const order = row.order?.attempts.find(({ id }) => id === attempt);
  const uses = order?.want === "run" ? order.task?.secrets : undefined;
  if (uses === undefined) return undefined;
  return Object.fromEntries(Object.entries(uses).map(([key, { secret }]) => [key, secret]));
}

/** Why a new placement is refused; null: it is accepted. */
function refusal(state: ReadonlyExistingWorker, order: Order, now: Instant): string | null {
  const { record } = state;
  if (record.phase !== "ready") return `the worker is ${record.phase}`;
  const behavior = behaviorOf(record);
  if (behavior !== "run") return `the worker is set to ${behavior}`;
  if (!order.attempts.some((attempt) => attempt.want === "run")) return "it has no attempt to run";
  if (now >= record.leaseUntil || isSilent(state, now)) return "its host is silent";
  if (record.protocol < order.protocol) return "its agent is too old for it";
  const wantsContainer = order.attempts.some(
    (one) => one.want === "run" && one.task?.container !== undefined,
  );
  const noEngine = wantsContainer ? engineFault(record) : null;
  if (noEngine !== null) return noEngine;
  const live = livePlacements(state);
  const { maxRuns } = record.intent.settings;
  if (maxRuns > 0 && live.length >= maxRuns) return "the worker is full";
  const used = live.map((row) => row.order?.resources).filter((one): one is Resources => one !== undefined);
  return fitsInto(capacityOf(record), used, order.resources, measuredMemory(record))
    ? null
    : "the worker is full";
}

/** Why a host cannot run containers; null: it can (containers.md#engines). */
export function engineFault({ engine }: Pick<WorkerRecord, "engine">): string | null {
  if (engine === undefined) return "the machine has no container engine";
  return engine.state === "usable" ? null : (engine.fault ?? `${engine.name} is ${engine.state}`);
}

/** The answer to an order: the worker's present view of the placement (rule R6). */
export function answerOrder(state: ReadonlyWorker, order: Order): OrderAnswer {
  const row = state.placements.get(placementKey(order.run, order.epoch));
  if (state.record === null || row === undefined) return { kind: "no_such" };
  if (row.end !== null) return { kind: "ended", ...endOf(state.record, row.end) };
  return { kind: "accepted", revision: row.order?.revision ?? 0 };
}

/**
 * The end of a placement as reported to its allocation. If the host gave notice, a lost placement has the
 * cause `interruption`.
 */
export function endOf(
  { notice }: WorkerRecord,
  { how, held }: Pick<Ended, "how" | "held">,
): Pick<Ended, "how" | "held" | "cause"> {
  return { how, held, ...(how === "lost" && notice !== null ? { cause: "interruption" } : {}) };
}

/** Ends live placements (rule R2). `owed`: their allocations do not know about the end yet. */
export function endPlacements(
  state: ExistingWorker,
  rows: readonly PlacementRow[],
  how: EndedHow,
  owed: boolean,
  now: Instant,
): void {
  for (const { undelivered, ...row } of rows) {
    const end = { how, held: undelivered !== true, owed };
    const ended = { ...row, state: "ended" as const, at: now, order: null, end };
    const revision = ordersRevision(state) + 1;
    state.placements.set(placementKey(row.run, row.epoch), { ...ended, revision }, now);
  }
}

/** Drops placements that ended over 24 h ago (rule R2), if this is due. Keeps the revision of the orders. */
export function forgetOld(state: ExistingWorker, now: Instant): ExistingWorker {
  const { forgotAt } = state.memo;
  if (forgotAt !== null && now < forgotAt + FORGET_EVERY_MS) return state;
  const memo = { ...state.memo, forgotAt: now };
  if (forgotAt === null) return { ...state, memo };
  const revision = ordersRevision(state);
  state.placements.forget(now - REMEMBER_ENDED_MS);
  const record = revision === state.record.revision ? state.record : { ...state.record, revision };
  return { ...state, record, memo };
}
