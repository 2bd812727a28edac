// What happens to a worker as time passes, and when?
import { bootFailure } from "../../../probes/boot.ts";
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import { LEASE_MARGIN_MS } from "../../../shared/limits.ts";
import { earliest, type Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { endPlacements, forgetOld, silentFrom } from "../placements.ts";
import {
  type ExistingWorker,
  isSelfHosted,
  lastHeardAt,
  livePlacements,
  type ReadonlyExistingWorker,
  undeliveredPlacements,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";
import { behaviorOf, foldBehavior, isDrained } from "./behavior.ts";
import { goneNow, isLetGo, shutDown } from "./shutdown.ts";

/**
 * When the host's lease ends. Undefined: no live placement depends on the lease, and its end does not end the
 * worker.
 */
function leaseEnd(state: ReadonlyExistingWorker): Instant | undefined {
  return livePlacements(state).length > 0 || isLetGo(state) ? state.record.leaseUntil : undefined;
}

/** When a ready worker's host will have been silent for the probe timeout (workers.md#t9). */
function silentAt(state: ReadonlyExistingWorker): Instant | undefined {
  const { record } = state;
  if (record.phase !== "ready" || record.idleBehavior === "hold") return undefined;
  return (lastHeardAt(state) ?? record.readyAt ?? 0) + record.intent.settings.probeMs;
}

/**
 * The time from which the host has surely killed everything (rule R4): its lease has been over for
 * `LEASE_MARGIN_MS`, and this object has known for as long that the lease or a report is overdue. So a report
 * could have arrived, but none did.
 */
function lostAt(state: ReadonlyExistingWorker): Instant | undefined {
  const end = leaseEnd(state);
  const { overdueSince } = state.record;
  return end === undefined || overdueSince === null
    ? undefined
    : Math.max(end, overdueSince) + LEASE_MARGIN_MS;
}

/**
 * When the worker of a silent host is given up: after all its runs are lost, and only when this object has
 * known for `LEASE_MARGIN_MS` that the lease or a report is overdue. The worker of a self-hosted machine is
 * never given up, since its host may return at any time (host-protocol.md#self-hosted-machines).
 */
function givenUpAt(state: ReadonlyExistingWorker): Instant | undefined {
  const at = isSelfHosted(state.record) ? undefined : silentAt(state);
  const { overdueSince } = state.record;
  if (at === undefined || overdueSince === null) return undefined;
  return Math.max(at, overdueSince + LEASE_MARGIN_MS, lostAt(state) ?? 0);
}

/**
 * What happens first if the host stays silent from now on: undelivered placements are taken back
 * (`undelivered`), runs are lost (`runs`), or the worker is given up or ends (`worker`). Undefined: nothing.
 */
export function ifSilent(
  state: ReadonlyExistingWorker,
): { at: Instant; ends: "undelivered" | "runs" | "worker" } | undefined {
  const over = state.record.overdueSince ?? earliest(leaseEnd(state), silentAt(state));
  const seen = { ...state, record: { ...state.record, overdueSince: over ?? null } };
  const [undelivered, lost, givenUp] = [undeliveredUntil(state), lostAt(seen), givenUpAt(seen)];
  const at = earliest(undelivered, lost, givenUp);
  if (at === undefined) return undefined;
  if (at === givenUp || isLetGo(state)) return { at, ends: "worker" };
  return { at, ends: at === lost ? "runs" : "undelivered" };
}

/** Since when the worker has been idle: ready, and without placements. Undefined: it is not idle. */
export function idleSince(state: ReadonlyExistingWorker): Instant | undefined {
  const { record } = state;
  if (record.phase !== "ready" || record.readyAt === null) return undefined;
  if (livePlacements(state).length > 0) return undefined;
  return Math.max(record.readyAt, state.placements.highest("at"));
}

/**
 * When the worker proposes its stop to the pool: after its idle time. If the worker must make room for a run,
 * it proposes its stop at once, even while it is booting. Undefined: the worker proposes no stop. A
 * self-hosted machine costs nothing, and stays.
 */
export function proposalAt(state: ReadonlyExistingWorker): Instant | undefined {
  const { record, memo } = state;
  if (behaviorOf(record) !== "run" || isSelfHosted(record)) return undefined;
  if (isToMakeRoom(state)) return memo.makeRoomAt ?? undefined;
  const since = idleSince(state);
  if (since === undefined) return undefined;
  return stopWithinStep(record, Math.max(since + record.intent.settings.idleMs, memo.proposeAt));
}

/** A machine that is billed in long steps stops shortly before a step is over (clouds.md#billing-steps). */
const STOP_BEFORE_MS = 5 * 60_000;
/** Later than this before the end of a step, the provider may count the next step, which then is used. */
const STOP_MARGIN_MS = 60_000;

/**
 * When an idle machine stops: at `at`, or later, just before the end of the billing step that is paid for
 * already. `idle` of 0 says that nothing is to be used any longer.
 */
function stopWithinStep({ intent, paid }: WorkerRecord, at: Instant): Instant {
  if (intent.kind === "self-hosted" || paid === null || intent.settings.idleMs === 0) return at;
  const { stepMs } = TRAITS[intent.provider.kind].billing;
  if (stepMs <= 2 * STOP_BEFORE_MS) return at;
  const steps = Math.ceil((at + STOP_MARGIN_MS - paid.from) / stepMs);
  return Math.max(at, paid.from + steps * stepMs - STOP_BEFORE_MS);
}

/** How long before its provider ends it a machine takes no more runs, at most, and as a part of its life. */
const DRAIN_BEFORE_END_MS = 30 * 60_000;
const DRAIN_PART = 0.25;

/** When the machine begins to drain, because its provider ends it by itself. Undefined: never. */
function drainsAt({ record }: ReadonlyExistingWorker): Instant | undefined {
  const { endsAt, paid, phase, idleBehavior } = record;
  if (endsAt === null || phase === "shutdown" || phase === "gone" || idleBehavior !== "run") return undefined;
  const life = endsAt - (paid?.from ?? record.askedAt);
  return endsAt - Math.min(DRAIN_BEFORE_END_MS, DRAIN_PART * life);
}

/** Whether the pool has asked the worker to make room, and the worker has been idle or booting since. */
export function isToMakeRoom(state: ReadonlyExistingWorker): boolean {
  const { makeRoomAt } = state.memo;
  if (makeRoomAt === null) return false;
  return state.record.phase === "booting" || (idleSince(state) ?? Number.POSITIVE_INFINITY) <= makeRoomAt;
}

/**
 * When a worker that is not ready in time is given up; undefined: never. A self-hosted machine must enroll
 * before its code expires, and then has no deadline.
 */
export function bootDeadline(state: ReadonlyExistingWorker): Instant | undefined {
  const { record } = state;
  if (isSelfHosted(record)) return isUnclaimed(state) ? record.intent.notAfter : undefined;
  const waits = record.phase === "booting" && record.idleBehavior !== "hold";
  return waits ? (record.createdAt ?? record.askedAt) + record.intent.settings.bootMs : undefined;
}

/** Why a machine is not ready yet, as far as that is known. */
export function bootTrouble({ bootProbe, secret, instance, reason, intent }: WorkerRecord): string {
  if (bootProbe !== null) return bootFailure(bootProbe, intent.settings.bootCommand);
  if (secret !== null) return "its host has enrolled, and its boot probe has not ended";
  return instance === null ? reason : "its host has not called yet";
}

/** The next time at which the worker changes without another event. */
export function lifeWakesAt(state: ReadonlyExistingWorker): Instant | undefined {
  const { record } = state;
  const overdue = record.overdueSince === null ? earliest(leaseEnd(state), silentAt(state)) : undefined;
  return earliest(
    undeliveredUntil(state),
    bootDeadline(state),
    proposalAt(state),
    overdue,
    lostAt(state),
    givenUpAt(state),
    createWakesAt(state),
    orphanEndsAt(state),
    drainsAt(state),
  );
}

/** When undelivered placements end: as soon as the host counts as silent (`refuseUndelivered`). */
function undeliveredUntil(state: ReadonlyExistingWorker): Instant | undefined {
  const from = undeliveredPlacements(state).length === 0 ? undefined : silentFrom(state);
  return from === undefined ? undefined : from + 1;
}

/**
 * When a run's placement ends if its host stays silent. An undelivered placement ends once the host counts as
 * silent, and any other placement ends once the lease is surely over. Undefined: the run has no live
 * placement.
 */
export function placementEndsAt(state: ReadonlyExistingWorker, run: string): Instant | undefined {
  const row = livePlacements(state).find((one) => one.run === run);
  if (row === undefined) return undefined;
  if (row.undelivered === true) return undeliveredUntil(state);
  return lostAt(state) ?? state.record.leaseUntil + LEASE_MARGIN_MS;
}

/**
 * When an adopted machine is destroyed: one lease and `LEASE_MARGIN_MS` after its adoption
 * (decisions/pool.md#adoption). This worker knows no secret of the host, so the host cannot join.
 */
export function orphanEndsAt({ record }: ReadonlyExistingWorker): Instant | undefined {
  const waits = record.phase === "unknown" && record.idleBehavior !== "hold";
  return waits ? record.leaseUntil + LEASE_MARGIN_MS : undefined;
}

/** When the next create call may be made, or when create calls end for good, whichever comes first. */
export function createWakesAt(state: ReadonlyExistingWorker): Instant | undefined {
  const { createNotBefore, intent } = state.record;
  return isUnmade(state) ? Math.min(createNotBefore ?? Infinity, intent.notAfter) : undefined;
}

/** Whether the machine may still be created. */
export function isUnmade({ record }: ReadonlyExistingWorker): boolean {
  return record.phase === "booting" && record.instance === null && !isSelfHosted(record);
}

/** Whether the enrollment code is still unused. */
function isUnclaimed({ record }: ReadonlyExistingWorker): boolean {
  return record.phase === "booting" && record.secret === null;
}

/** Applies the deadlines that have passed, and ends a worker that has drained. */
export function foldTime(before: ExistingWorker, now: Instant): WorkerState {
  const state = endPause(noteOverdue(forgetOld(before, now), now), now);
  const { record } = state;
  if (hasPassed(lostAt(state), now)) {
    endPlacements(state, livePlacements(state), "lost", true, now);
    if (isLetGo(state)) return goneNow(state, "its lease is over", now);
  }
  if (isUnmade(state) && now >= record.intent.notAfter) {
    return shutDown(state, "the provider did not say in time whether it had made the machine", now);
  }
  if (hasPassed(bootDeadline(state), now)) {
    const text = isSelfHosted(record)
      ? "its code was not used in time"
      : `it did not become ready in time: ${bootTrouble(record)}`;
    return shutDown(state, text, now, "failure");
  }
  if (hasPassed(orphanEndsAt(state), now)) {
    return shutDown(state, "no worker owned it, and its host cannot hold a lease any more", now);
  }
  if (hasPassed(givenUpAt(state), now)) {
    return shutDown(state, "its host has been silent for too long", now);
  }
  const draining = withOwnEnd(state, now);
  if (!isDrained(draining)) return draining;
  // A record never disappears.
  const released = shutDown(draining, draining.record.reason, now) as ExistingWorker;
  const isOver = isLetGo(released) && hasPassed(lostAt(released), now);
  return isOver ? goneNow(released, "its lease is over", now) : released;
}

/** Drains a machine that its provider ends soon by itself. */
function withOwnEnd(state: ExistingWorker, now: Instant): ExistingWorker {
  if (!hasPassed(drainsAt(state), now)) return state;
  const by = `the provider, which ends it by itself at ${iso(state.record.endsAt ?? now)}`;
  return foldBehavior(state, "drain", by, now) as ExistingWorker; // a record never disappears
}

function noteOverdue(state: ExistingWorker, now: Instant): ExistingWorker {
  const { record } = state;
  if (record.overdueSince !== null || !hasPassed(earliest(leaseEnd(state), silentAt(state)), now))
    return state;
  return { ...state, record: { ...record, overdueSince: now } };
}

/** When the pause that the provider asked for is over, clears it. */
function endPause(state: ExistingWorker, now: Instant): ExistingWorker {
  const { record } = state;
  if (record.createNotBefore === null || now < record.createNotBefore) return state;
  return { ...state, record: { ...record, createNotBefore: null } };
}

function hasPassed(deadline: Instant | undefined, now: Instant): boolean {
  return deadline !== undefined && now >= deadline;
}
