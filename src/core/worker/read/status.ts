// What does a reader see of a worker, and why is it in its state?
import type { WorkerStatus } from "../../../schema/pool.ts";
import type { Why } from "../../../schema/why.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso, isoOrNull } from "../../../shared/time/instant.ts";
import type { Intent } from "../../messages.ts";
import { machineMade } from "../../refusal.ts";
import { NO_RESOURCES, reservedBy } from "../../resources.ts";
import { shownDevices } from "../host/devices.ts";
import { idleSince, placementEndsAt } from "../life/deadlines.ts";
import { leftBehind } from "../life/kill.ts";
import { keptRuns } from "../placements.ts";
import {
  capacityOf,
  isSelfHosted,
  lastHeardAt,
  livePlacements,
  ordersRevision,
  type ReadonlyExistingWorker,
  undeliveredPlacements,
  type WorkerRecord,
} from "../state.ts";
import { activityOf, stateOf } from "./activity.ts";
import { nextOf } from "./next.ts";
import { reasonOf } from "./reasons.ts";
import { upsertOf } from "./summary.ts";

/** Shown for a self-hosted machine in place of an instance type. */
export const SELF_HOSTED = "self-hosted";

/** Everything about a worker that readers see. */
export function statusOf(state: ReadonlyExistingWorker, now: Instant): WorkerStatus {
  const { record } = state;
  const { intent, notice, stale } = record;
  const live = livePlacements(state);
  const kept = keptRuns(state);
  const view = upsertOf(state, now);
  const left = leftBehind(record);
  return {
    id: intent.worker,
    pool: intent.pool,
    state: stateOf(activityOf(state, now)),
    idleBehavior: view.idleBehavior,
    ...kindOf(intent, view.listedPrice?.price),
    instance: view.instance,
    address: view.address,
    prices: record.prices.map(({ price, since }) => ({ price, since: iso(since) })),
    resources: capacityOf(record),
    ...devicesOf(state),
    used: reservedBy(live.map(({ order }) => order?.resources ?? NO_RESOURCES)),
    runs: live.map((row) => row.run),
    ...(kept.length === 0 ? {} : { kept: kept.map(({ run, until }) => ({ run, until: iso(until) })) }),
    askedAt: iso(record.askedAt),
    readyAt: isoOrNull(record.readyAt),
    idleSince: isoOrNull(idleSince(state) ?? null),
    lastRun: lastRunOf(state),
    machine: isSelfHosted(record) ? null : machineMade(record),
    doubles: record.doubles,
    reason: view.reason,
    version: record.version,
    boot: (record.boot?.steps ?? []).map((step) => ({ ...step, at: iso(step.at) })),
    bootProbe: probeOf(record),
    bootOutcome: view.bootOutcome,
    notice: notice === null ? null : { text: notice.text, goneAt: isoOrNull(notice.goneAt) },
    stale: Object.entries(stale).map(([run, { since, holder }]) => ({ run, holder, since: iso(since) })),
    ...(record.engine === undefined ? {} : { engine: record.engine }),
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

/** Its devices with who has them, if its host names any. */
function devicesOf(state: ReadonlyExistingWorker): Pick<WorkerStatus, "devices" | "devicesFault"> {
  const devices = shownDevices(state);
  const fault = state.record.devices?.fault;
  return {
    ...(devices === undefined ? {} : { devices }),
    ...(fault === undefined ? {} : { devicesFault: fault }),
  };
}

/** The kind of machine, and its hourly price: as listed by the provider, or else as configured. */
function kindOf(
  intent: Intent,
  listedPrice: number | undefined,
): Pick<WorkerStatus, "instanceType" | "providerType" | "own" | "price"> {
  if (intent.kind === "self-hosted") {
    return { instanceType: SELF_HOSTED, providerType: null, own: true, price: 0 };
  }
  const { instanceType, type } = intent;
  const providerType = type.providerType ?? instanceType;
  return { instanceType, providerType, own: false, price: listedPrice ?? type.price ?? null };
}

/**
 * Why a worker is in its state, and what happens next (invariant 5). If `run` is given, the answer also says
 * when the run's placement ends if the host stays silent (`placementEndsAt`), and whether the placement was
 * not sent to the host yet (`undelivered`).
 */
export function whyOf(state: ReadonlyExistingWorker, now: Instant, run?: string): Why {
  const shown = statusOf(state, now);
  const activity = activityOf(state, now);
  const reason = reasonOf(state, shown, activity);
  const ends = run === undefined ? undefined : placementEndsAt(state, run);
  if (ends !== undefined) reason.placementEndsAt = iso(ends);
  if (undeliveredPlacements(state).some((row) => row.run === run)) reason.undelivered = true;
  return { state: shown.state, reason, next: nextOf(state, activity, now), chain: [] };
}

/** The run whose placement ended last, if still known. */
function lastRunOf({ placements }: ReadonlyExistingWorker): WorkerStatus["lastRun"] {
  const [last] = placements.latestEnded("at", 1);
  return last === undefined ? null : { run: last.run, endedAt: iso(last.at) };
}

/** The boot probe, with null for an unknown exit code. */
function probeOf({ bootProbe }: WorkerRecord): WorkerStatus["bootProbe"] {
  return bootProbe === null ? null : { exitCode: null, ...bootProbe };
}
