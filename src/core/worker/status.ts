import type { WorkerState as ShownState, WorkerStatus } from "../../schema/pool.ts";
import type { Why } from "../../schema/why.ts";
import type { Instant } from "../machine.ts";
import type { IdleBehavior } from "../messages.ts";
import { lifeWakesAt, placementEndsAt, proposalAt } from "./life.ts";
import { reasonOf } from "./reasons.ts";
import {
  capacityOf,
  isOwnMachine,
  type Living,
  lastHeardAt,
  livePlacements,
  ordersRevision,
} from "./state.ts";
import { upsertOf } from "./summary.ts";

/** What is shown in place of an instance type. With its blank it is the name of none. */
export const OWN_MACHINE = "own machine";

/** A worker, whole, as a reader sees it. */
export function statusOf(state: Living, now: Instant): WorkerStatus {
  const { record } = state;
  const { intent, notice, stale = {} } = record;
  const live = livePlacements(state);
  const view = upsertOf(state, now);
  return {
    id: intent.worker,
    pool: intent.pool,
    state: shownState(view.phase, live.length),
    idleBehavior: view.idleBehavior,
    instanceType: intent.provider === null ? OWN_MACHINE : intent.instanceType,
    own: intent.provider === null,
    instance: view.instance,
    address: view.address,
    price: intent.provider === null ? 0 : (view.toldPrice?.price ?? intent.type.price ?? null),
    prices: (record.prices ?? []).map(({ price, since }) => ({ price, since: iso(since) })),
    resources: capacityOf(record),
    runs: live.map((row) => row.run),
    askedAt: iso(record.askedAt),
    readyAt: orNull(record.readyAt),
    reason: view.reason,
    version: record.version,
    bootProbe: record.bootProbe,
    bootOutcome: view.bootOutcome ?? null,
    notice: notice === undefined ? null : { text: notice.text, goneAt: orNull(notice.goneAt) },
    stale: Object.entries(stale).map(([run, { since, holder }]) => ({ run, holder, since: iso(since) })),
    createdAt: orNull(record.createdAt),
    joinedAt: orNull(record.joinedAt),
    lastReportAt: orNull(lastHeardAt(state)),
    leaseUntil: record.leaseUntil === 0 ? null : iso(record.leaseUntil),
    incarnation: record.incarnation,
    ordersRevision: ordersRevision(state),
    orders: live.map(({ run, epoch, order }) => ({
      run,
      epoch,
      attempts: order?.attempts.map(({ id }) => id) ?? [],
    })),
    events: record.events,
  };
}

/**
 * The five states, and `gone`: a ready worker is `idle` or `running` by what is on it (`arvados.md` §1.2).
 */
export function shownState(phase: Living["record"]["phase"] | "asked", runs: number): ShownState {
  if (phase === "ready") return runs > 0 ? "running" : "idle";
  return phase === "asked" ? "booting" : phase;
}

/**
 * Why a worker is in its state, and what happens next (invariant 5). `run`: also until when its host may say
 * nothing of this run, before that is placed elsewhere (`placementEndsAt`).
 */
export function whyOf(state: Living, now: Instant, run?: string): Why {
  const shown = statusOf(state, now);
  const wakes = lifeWakesAt(state);
  const at = wakes === undefined ? null : iso(wakes);
  const reason = reasonOf(state, shown);
  const ends = run === undefined ? undefined : placementEndsAt(state, run);
  if (ends !== undefined) reason.placementEndsAt = iso(ends);
  return { state: shown.state, reason, next: { action: nextAction(state, shown), at }, chain: [] };
}

function nextAction(state: Living, { state: shown, runs, idleBehavior }: WorkerStatus): string {
  const held = idleBehavior === "hold";
  const own = isOwnMachine(state.record) ? nextOfOwn(state, shown) : undefined;
  if (own !== undefined) return own;
  switch (shown) {
    case "booting":
      if (state.record.createNotBefore !== null) return "ask the provider again to make the machine";
      return held
        ? `become ready, or not: ${STAY}`
        : "give it up, if its boot probe has not succeeded by then";
    case "running":
      return nextWithRuns(idleBehavior, runs.length);
    case "idle":
      return proposalAt(state) === undefined ? STAY : "stop, if it is still idle then";
    case "unknown":
      return held ? STAY : "give it up, if its host stays silent until then";
    case "shutdown":
      return "ask the provider again to destroy it, until it is seen to be gone";
    case "gone":
      return "nothing: it is gone";
  }
}

/** What is next for a machine of one's own, where that differs. */
function nextOfOwn({ record }: Living, shown: ShownState): string | undefined {
  switch (shown) {
    case "booting":
      if (record.secret !== null) return "become ready with the first report of its host";
      return "take the first machine that enrolls with its code, or end with the code";
    case "unknown":
      return "wait for its host to report again, until an operator kills it";
    case "shutdown":
      return "tell its agent to end, until it has, or its lease is over";
    default:
      return undefined;
  }
}

const STAY = "stay, until an operator says otherwise";

function nextWithRuns(behavior: IdleBehavior, count: number): string {
  const runs = `${count} run${count === 1 ? "" : "s"}`;
  switch (behavior) {
    case "run":
      return `go on with ${runs}, as long as its host reports`;
    case "hold":
      return `go on with ${runs}, take no others, and ${STAY}`;
    case "drain":
      return `go on with ${runs}, take no others, and stop when the last has ended`;
  }
}

function iso(at: Instant): string {
  return new Date(at).toISOString();
}

function orNull(at: Instant | null): string | null {
  return at === null ? null : iso(at);
}
