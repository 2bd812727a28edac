import type { WorkerStatus } from "../../../schema/pool.ts";
import type { Why } from "../../../schema/why.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso, isoOrNull } from "../../../shared/time/instant.ts";
import type { Intent } from "../../messages.ts";
import { saidNo } from "../../refusal.ts";
import { idleSince, placementEndsAt } from "../life/deadlines.ts";
import { leftBehind } from "../life/forced.ts";
import {
  capacityOf,
  isSelfHosted,
  type Living,
  lastHeardAt,
  livePlacements,
  ordersRevision,
  type ReadonlyLiving,
  untoldPlacements,
} from "../state.ts";
import { activityOf, stateOf } from "./activity.ts";
import { nextOf } from "./next.ts";
import { reasonOf } from "./reasons.ts";
import { upsertOf } from "./summary.ts";

/** What is shown in place of an instance type. With its blank it is the name of none. */
export const SELF_HOSTED = "self-hosted";

/** A worker, whole, as a reader sees it. */
export function statusOf(state: ReadonlyLiving, now: Instant): WorkerStatus {
  const { record } = state;
  const { intent, notice, stale = {} } = record;
  const live = livePlacements(state);
  const view = upsertOf(state, now);
  const left = leftBehind(record);
  return {
    id: intent.worker,
    pool: intent.pool,
    state: stateOf(activityOf(state, now)),
    idleBehavior: view.idleBehavior,
    ...kindOf(intent, view.toldPrice?.price),
    instance: view.instance,
    address: view.address,
    prices: (record.prices ?? []).map(({ price, since }) => ({ price, since: iso(since) })),
    resources: capacityOf(record),
    runs: live.map((row) => row.run),
    askedAt: iso(record.askedAt),
    readyAt: isoOrNull(record.readyAt),
    idleSince: isoOrNull(idleSince(state) ?? null),
    lastRun: lastRunOf(state),
    machine: machineMade(record),
    doubles: record.doubles ?? [],
    reason: view.reason,
    version: record.version,
    bootProbe: probeOf(record),
    bootOutcome: view.bootOutcome ?? null,
    notice: notice === undefined ? null : { text: notice.text, goneAt: isoOrNull(notice.goneAt) },
    stale: Object.entries(stale).map(([run, { since, holder }]) => ({ run, holder, since: iso(since) })),
    createdAt: isoOrNull(record.createdAt),
    joinedAt: isoOrNull(record.joinedAt),
    lastReportAt: isoOrNull(lastHeardAt(state)),
    leaseUntil: record.leaseUntil === 0 ? null : iso(record.leaseUntil),
    ...(left === undefined ? {} : { leftBehind: left }),
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

/** What kind of machine it is, and what an hour of it costs by its provider's word, or else by the list. */
function kindOf(
  intent: Intent,
  told: number | undefined,
): Pick<WorkerStatus, "instanceType" | "providerType" | "own" | "price"> {
  if (intent.kind === "self-hosted") {
    return { instanceType: SELF_HOSTED, providerType: null, own: true, price: 0 };
  }
  const { instanceType, type } = intent;
  const providerType = type.providerType ?? instanceType;
  return { instanceType, providerType, own: false, price: told ?? type.price ?? null };
}

/**
 * Why a worker is in its state, and what happens next (invariant 5). `run`: also until when its host may say
 * nothing of this run, before that is placed elsewhere (`placementEndsAt`), and whether the host has not been
 * told of it (`untold`).
 */
export function whyOf(state: ReadonlyLiving, now: Instant, run?: string): Why {
  const shown = statusOf(state, now);
  const activity = activityOf(state, now);
  const reason = reasonOf(state, shown, activity);
  const ends = run === undefined ? undefined : placementEndsAt(state, run);
  if (ends !== undefined) reason.placementEndsAt = iso(ends);
  if (untoldPlacements(state).some((row) => row.run === run)) reason.untold = true;
  return { state: shown.state, reason, next: nextOf(state, activity, now), chain: [] };
}

/** The run whose placement ended last, of those that are kept. */
function lastRunOf({ placements }: ReadonlyLiving): WorkerStatus["lastRun"] {
  const [last] = placements.latestEnded("at", 1);
  return last === undefined ? null : { run: last.run, endedAt: iso(last.at) };
}

function machineMade(record: Living["record"]): NonNullable<WorkerStatus["machine"]> | null {
  if (isSelfHosted(record)) return null;
  if (record.instance !== null) return "made";
  if (record.failure === undefined) return "asked";
  return saidNo(record.failure) ? "refused" : "unconfirmed";
}

/** With the exit code wherever it is known, null where it is not. */
function probeOf({ bootProbe }: Living["record"]): WorkerStatus["bootProbe"] {
  return bootProbe === null ? null : { exitCode: null, ...bootProbe };
}
