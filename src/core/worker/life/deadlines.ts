import type { ProviderConfig } from "../../../schema/pool.ts";
import type { Instance } from "../../../schema/provider.ts";
import { LEASE_MARGIN_MS, UNLISTED_MS } from "../../../shared/limits.ts";
import { earliest, type Instant } from "../../../shared/machine.ts";
import type { Sighting } from "../../messages.ts";
import { isElsewhere } from "../../pool/config-diff.ts";
import { behaviorOf } from "../host/notice.ts";
import { forgetOld, loseAll, silentFrom } from "../placements.ts";
import { withPrice } from "../read/prices.ts";
import {
  isSelfHosted,
  type Living,
  lastHeardAt,
  livePlacements,
  note,
  type ReadonlyLiving,
  untoldPlacements,
  type WorkerState,
} from "../state.ts";
import { foldBehavior, isDrained } from "./behavior.ts";
import { bootTrouble } from "./boot.ts";
import { withDoubles } from "./doubles.ts";
import { goneNow, isLetGo, shutDown } from "./shutdown.ts";

/** When the host's lease ends, if that would lose something, or is all that can still be waited for. */
function leaseEnd(state: ReadonlyLiving): Instant | undefined {
  return livePlacements(state).length > 0 || isLetGo(state) ? state.record.leaseUntil : undefined;
}

/** When a ready worker whose host says nothing any more is out of time (workers.md#t9). */
function silentAt(state: ReadonlyLiving): Instant | undefined {
  const { record } = state;
  if (record.phase !== "ready" || record.idleBehavior === "hold") return undefined;
  return (lastHeardAt(state) ?? record.readyAt ?? 0) + record.intent.settings.probeMs;
}

/**
 * When it is certain that the host has killed everything (rule R4): its lease is over, and for as long as the
 * margin we have known that, and were there to be told otherwise.
 */
function lostAt(state: ReadonlyLiving): Instant | undefined {
  const end = leaseEnd(state);
  const { overdueSince } = state.record;
  return end === undefined || overdueSince === null
    ? undefined
    : Math.max(end, overdueSince) + LEASE_MARGIN_MS;
}

/**
 * When a silent worker is given up: not before all is lost that may be on it, nor for our own absence. A
 * self-hosted machine never is: its host may join again whenever it likes
 * (host-protocol.md#self-hosted-machines).
 */
function givenUpAt(state: ReadonlyLiving): Instant | undefined {
  const at = isSelfHosted(state.record) ? undefined : silentAt(state);
  const { overdueSince } = state.record;
  if (at === undefined || overdueSince === null) return undefined;
  return Math.max(at, overdueSince + LEASE_MARGIN_MS, lostAt(state) ?? 0);
}

/**
 * What comes of it first if its host says nothing from now on: what the host was not told is taken back,
 * what is on it is lost, or it is given up, which for a self-hosted machine that was let go is its end.
 * Undefined: nothing.
 */
export function ifSilent(
  state: ReadonlyLiving,
): { at: Instant; ends: "untold" | "runs" | "worker" } | undefined {
  const over = state.record.overdueSince ?? earliest(leaseEnd(state), silentAt(state));
  const seen = { ...state, record: { ...state.record, overdueSince: over ?? null } };
  const [untold, lost, givenUp] = [untoldUntil(state), lostAt(seen), givenUpAt(seen)];
  const at = earliest(untold, lost, givenUp);
  if (at === undefined) return undefined;
  if (at === givenUp || isLetGo(state)) return { at, ends: "worker" };
  return { at, ends: at === lost ? "runs" : "untold" };
}

/** Since when the worker has been ready with nothing on it; undefined if it is neither. */
export function idleSince(state: ReadonlyLiving): Instant | undefined {
  const { record } = state;
  if (record.phase !== "ready" || record.readyAt === null) return undefined;
  if (livePlacements(state).length > 0) return undefined;
  return Math.max(record.readyAt, state.placements.highest("at"));
}

/**
 * When the worker proposes to the pool to stop; undefined while it has no cause to: when it has been idle for
 * long enough, or at once, idle or booting, if it stands in the way of a run. A self-hosted machine costs
 * nothing, and stays.
 */
export function proposalAt(state: ReadonlyLiving): Instant | undefined {
  const { record, memo } = state;
  if (behaviorOf(record) !== "run" || isSelfHosted(record)) return undefined;
  if (isToMakeRoom(state)) return memo.makeRoomAt ?? undefined;
  const since = idleSince(state);
  return since === undefined ? undefined : Math.max(since + record.intent.settings.idleMs, memo.proposeAt);
}

/** Whether its pool wants it gone, and it has had nothing to do since it was told so: idle, or booting. */
export function isToMakeRoom(state: ReadonlyLiving): boolean {
  const { makeRoomAt } = state.memo;
  if (makeRoomAt === null) return false;
  return state.record.phase === "booting" || (idleSince(state) ?? Number.POSITIVE_INFINITY) <= makeRoomAt;
}

/**
 * When a worker that has never been ready is given up; undefined once it has been. A self-hosted machine
 * has until the end of its enrollment code to enroll, and then no deadline at all.
 */
export function bootDeadline(state: ReadonlyLiving): Instant | undefined {
  const { record } = state;
  if (isSelfHosted(record)) return isUnclaimed(state) ? record.intent.notAfter : undefined;
  const waits = record.phase === "booting" && record.idleBehavior !== "hold";
  return waits ? (record.createdAt ?? record.askedAt) + record.intent.settings.bootMs : undefined;
}

/** When time alone changes something. */
export function lifeWakesAt(state: ReadonlyLiving): Instant | undefined {
  const { record } = state;
  const overdue = record.overdueSince === null ? earliest(leaseEnd(state), silentAt(state)) : undefined;
  const create = createWakesAt(state);
  const orphan = orphanEndsAt(state);
  const untold = untoldUntil(state);
  return earliest(
    untold,
    bootDeadline(state),
    proposalAt(state),
    overdue,
    lostAt(state),
    givenUpAt(state),
    create,
    orphan,
  );
}

/** When placements end whose order the host has not fetched: it is silent then (`refuseUntold`). */
function untoldUntil(state: ReadonlyLiving): Instant | undefined {
  const from = untoldPlacements(state).length === 0 ? undefined : silentFrom(state);
  return from === undefined ? undefined : from + 1;
}

/**
 * When a placement ends of which its host says nothing: what was not told when the host is silent, and what
 * it may hold when its lease is over for certain. Undefined: no such placement lives here.
 */
export function placementEndsAt(state: ReadonlyLiving, run: string): Instant | undefined {
  const row = livePlacements(state).find((one) => one.run === run);
  if (row === undefined) return undefined;
  if (row.untold === true) return untoldUntil(state);
  return lostAt(state) ?? state.record.leaseUntil + LEASE_MARGIN_MS;
}

/**
 * When a machine that was adopted is destroyed: not before one lease and its margin after it was first listed
 * (decisions/pool.md#adoption). It has no secret here, so its host cannot join.
 */
export function orphanEndsAt({ record }: ReadonlyLiving): Instant | undefined {
  const waits = record.phase === "unknown" && record.idleBehavior !== "hold";
  return waits ? record.leaseUntil + LEASE_MARGIN_MS : undefined;
}

/** When the provider may be asked again to make the machine, and after that: when it may no longer be. */
export function createWakesAt(state: ReadonlyLiving): Instant | undefined {
  const { createNotBefore, intent } = state.record;
  return isUnmade(state) ? Math.min(createNotBefore ?? Infinity, intent.notAfter) : undefined;
}

/** Whether its machine may still be created. */
export function isUnmade({ record }: ReadonlyLiving): boolean {
  return record.phase === "booting" && record.instance === null && !isSelfHosted(record);
}

/** Whether nobody has used its enrollment code yet. */
function isUnclaimed({ record }: ReadonlyLiving): boolean {
  return record.phase === "booting" && record.secret === null;
}

/** What time brings about: deadlines that have passed, and a drain that has nothing left to wait for. */
export function foldTime(before: Living, now: Instant): WorkerState {
  const state = mayCreate(seeOverdue(forgetOld(before, now), now), now);
  const { record } = state;
  if (passed(lostAt(state), now)) {
    loseAll(state, "all", now);
    if (isLetGo(state)) return goneNow(state, "its lease is over", now);
  }
  if (isUnmade(state) && now >= record.intent.notAfter) {
    return shutDown(state, "the provider did not answer in time whether it made the machine", now);
  }
  if (passed(bootDeadline(state), now)) {
    const text = isSelfHosted(record)
      ? "its code was not used in time"
      : `it did not become ready in time: ${bootTrouble(record)}`;
    return shutDown(state, text, now, "failure");
  }
  if (passed(orphanEndsAt(state), now)) {
    return shutDown(state, "nobody knows of it, and no lease of its host can be left", now);
  }
  if (passed(givenUpAt(state), now)) {
    return shutDown(state, "its host has not been heard of for too long", now);
  }
  return isDrained(state) ? shutDown(state, record.reason, now) : state;
}

function seeOverdue(state: Living, now: Instant): Living {
  const { record } = state;
  if (record.overdueSince !== null || !passed(earliest(leaseEnd(state), silentAt(state)), now)) return state;
  return { ...state, record: { ...record, overdueSince: now } };
}

/** The pause that the provider asked for is over. */
function mayCreate(state: Living, now: Instant): Living {
  const { record } = state;
  if (record.createNotBefore === null || now < record.createNotBefore) return state;
  return { ...state, record: { ...record, createNotBefore: null } };
}

function passed(deadline: Instant | undefined, now: Instant): boolean {
  return deadline !== undefined && now >= deadline;
}

/**
 * What a complete listing says (invariant 3, rule R5). That the provider calls it terminated is proof; of
 * another machine with our tags, which a create has made twice, it says nothing of ours. That
 * it is missing is proof only when the host's lease is over, and only the second time, by two listings that
 * began later than the consistency window after our latest call, and that far apart. What another provider
 * lists says nothing.
 */
export function foldSighting(before: Living, sighting: Sighting, now: Instant): WorkerState {
  const { intent } = before.record;
  if (intent.kind === "self-hosted" || isElsewhere(intent.provider, sighting.provider)) return before;
  const state = withDoubles(withProvider(before, sighting.provider), sighting);
  const { record } = state;
  const { instance, beganAt, missingSince = beganAt, consistencyMs } = sighting;
  if (instance?.state === "terminated") {
    return isAnother(record, instance.id)
      ? state
      : goneNow(state, "the provider says that it is terminated", now);
  }
  if (instance !== undefined) return foldListed(withPrice(state, instance, beganAt), instance, beganAt, now);
  if (record.phase === "gone") return state;
  const leased = record.leaseUntil > 0 && beganAt < record.leaseUntil + LEASE_MARGIN_MS;
  const { unlistedMs = UNLISTED_MS } = record.intent.settings;
  const unlisted = record.leaseUntil === 0 && beganAt < (record.createdAt ?? 0) + unlistedMs;
  const tooSoon = record.calledAt === null || beganAt < record.calledAt + consistencyMs;
  if (leased || tooSoon || unlisted || isUnmade(state)) return state;
  // A listing in between had it, or the pool cannot say that none did: this is the first one again.
  const first = record.omittedAt === null || missingSince > record.omittedAt ? beganAt : record.omittedAt;
  if (first === beganAt) return { ...state, record: { ...record, omittedAt: beganAt } };
  if (beganAt < first + consistencyMs) return state;
  return goneNow(state, "two listings omit it, and its host's lease is over", now);
}

function isAnother({ instance }: Living["record"], id: string): boolean {
  return instance !== null && instance.id !== id;
}

/**
 * The provider's secret may have been changed since the worker was asked for: without it nothing is
 * destroyed.
 */
function withProvider(state: Living, provider: ProviderConfig): Living {
  const { intent } = state.record;
  if (intent.kind === "self-hosted" || JSON.stringify(intent.provider) === JSON.stringify(provider))
    return state;
  return { ...state, record: { ...state.record, intent: { ...intent, provider } } };
}

/**
 * It exists. If it was to be destroyed long enough before the listing began, that is asked for again (T19).
 * If it was gone, it was not: it is in the ledger again, to be destroyed (invariant 3).
 */
function foldListed(state: Living, instance: Instance, beganAt: Instant, now: Instant): WorkerState {
  const { record } = state;
  const { id, address } = instance;
  const asked = record.destroyAskedAt;
  const ignored = asked !== null && beganAt >= asked + record.intent.settings.shutdownMs;
  const same = record.instance?.id === id && record.instance.address === address;
  if (same && !ignored && record.phase !== "gone") return foldLifecycle(state, instance, now);
  const destroyAskedAt = ignored ? null : asked;
  const { failure: tried, ...known } = record;
  // Its create had no answer, and has made it.
  const reason = tried !== undefined && record.phase === "booting" ? "booting" : record.reason;
  const createdAt = record.createdAt ?? now;
  const again = ignored || record.phase === "gone" ? { waits: true as const } : {};
  const next = { ...known, reason, instance: { id, address }, destroyAskedAt, createdAt, ...again };
  const found = { ...state, record: next };
  if (record.phase !== "gone") return isAnother(record, id) ? found : foldLifecycle(found, instance, now);
  // What is seen to exist is waited for, whatever was forced before that.
  const { forced: _forced, ...seen } = next;
  const back = { ...seen, phase: "shutdown" as const, destroyAskedAt: null, goneAt: null };
  return {
    ...state,
    record: note(back, "Back", "a listing shows its machine, which was taken for gone", now),
  };
}

/**
 * The provider's word on a machine that it has not ended (decisions/workers.md#d28). One that stops, has
 * stopped or is broken takes no more runs, and is destroyed when no lease says that any is on it (invariant
 * 4): while it boots, at once. A held one is left alone.
 */
function foldLifecycle(state: Living, { state: said }: Instance, now: Instant): WorkerState {
  const ends = said === "stopping" || said === "stopped" || said === "error";
  const { phase, idleBehavior } = state.record;
  if (!ends || phase === "shutdown" || idleBehavior !== "run") return state;
  const text = `the provider, which says that it is ${WORDS[said]}`;
  // That nobody wants it any more would be no failure of its boot: this is one.
  if (phase === "booting") return shutDown(state, `ended by ${text}`, now, "failure");
  return foldBehavior(state, "drain", text, now);
}

const WORDS = { stopping: "about to stop", stopped: "stopped", error: "broken" };
