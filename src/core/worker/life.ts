import type { Instance } from "../../schema/provider.ts";
import { CREATE_STRAGGLER_MS, LEASE_MARGIN_MS } from "../limits.ts";
import { earliest, type Instant } from "../machine.ts";
import type { Sighting } from "../messages.ts";
import { forgetOld, isGivenUp, loseAll } from "./placements.ts";
import { type Living, livePlacements, note, type WorkerState } from "./state.ts";

/**
 * When it is certain that the host has killed everything (rule R4): its lease and a margin are over, and we
 * have been up long enough for a report of our own past to arrive.
 */
export function lostAt(state: Living): Instant {
  return Math.max(state.record.leaseUntil, state.memo.loadedAt) + LEASE_MARGIN_MS;
}

/** Since when the worker has been ready with nothing on it; undefined if it is neither. */
export function idleSince(state: Living): Instant | undefined {
  const { record } = state;
  if (record.phase !== "ready" || record.readyAt === null) return undefined;
  let since = record.readyAt;
  for (const row of state.placements.live()) {
    if (row.state === "live") return undefined;
    since = Math.max(since, row.at);
  }
  return since;
}

/** When the worker proposes to the pool to stop; undefined while it has no cause to. */
export function proposalAt(state: Living): Instant | undefined {
  const since = idleSince(state);
  if (since === undefined || state.record.idleBehavior !== "run") return undefined;
  return Math.max(since + state.record.intent.settings.idleMs, state.memo.proposeAt);
}

/** When a worker that has never been ready is given up; undefined once it has been. */
function bootDeadline(state: Living): Instant | undefined {
  const { record } = state;
  const waits = record.phase === "booting" && record.idleBehavior !== "hold";
  return waits ? (record.createdAt ?? record.askedAt) + record.intent.settings.bootMs : undefined;
}

/** When a ready worker whose host says nothing any more is given up (`arvados.md` T9 as decided). */
function probeDeadline(state: Living): Instant | undefined {
  const { record, memo } = state;
  if (record.phase !== "ready" || record.idleBehavior === "hold") return undefined;
  const silent =
    Math.max(memo.lastReportAt ?? record.readyAt ?? 0, memo.loadedAt) + record.intent.settings.probeMs;
  return livePlacements(state).length === 0 ? silent : Math.max(silent, lostAt(state));
}

/** When time alone changes something. */
export function lifeWakesAt(state: Living): Instant | undefined {
  const { record } = state;
  const live = livePlacements(state).length > 0;
  const notAfter =
    record.phase === "booting" && record.instance === null ? record.intent.notAfter : undefined;
  const lost = live ? lostAt(state) : undefined;
  return earliest(bootDeadline(state), probeDeadline(state), proposalAt(state), lost, notAfter);
}

/** What time brings about: deadlines that have passed, and a drain that has nothing left to wait for. */
export function foldTime(before: Living, now: Instant): WorkerState {
  const state = forgetOld(before, now) as Living; // forgetOld keeps the record
  const { record } = state;
  if (now >= lostAt(state) && livePlacements(state).length > 0) loseAll(state, "all", now);
  if (record.phase === "booting") {
    if (record.instance === null && now >= record.intent.notAfter) {
      return shutDown(state, "the provider did not answer in time whether it made the machine", now);
    }
    if (passed(bootDeadline(state), now)) return shutDown(state, "it did not become ready in time", now);
  }
  if (passed(probeDeadline(state), now))
    return shutDown(state, "its host has not been heard of for too long", now);
  const empty = livePlacements(state).every((row) => isGivenUp(state, row));
  const drained =
    record.idleBehavior === "drain" && empty && (record.phase === "booting" || record.phase === "ready");
  return drained ? shutDown(state, record.reason, now) : state;
}

function passed(deadline: Instant | undefined, now: Instant): boolean {
  return deadline !== undefined && now >= deadline;
}

/** Begins the end: from this step on orders are refused and the machine is to be destroyed. */
export function shutDown(state: Living, reason: string, now: Instant): WorkerState {
  if (state.record.phase === "shutdown" || state.record.phase === "gone") return state;
  // A create call whose answer never came counts as ended now: nothing may be proved by an older listing.
  const calledAt = state.record.calledAt ?? now;
  const record = note({ ...state.record, phase: "shutdown", reason, calledAt }, "Shutdown", reason, now);
  return { ...state, record, memo: { ...state.memo, destroyAskedAt: null } };
}

/** The machine is gone, by observation: what was on it is lost. */
export function goneNow(state: Living, reason: string, now: Instant): WorkerState {
  if (state.record.phase === "gone") return state;
  loseAll(state, "all", now);
  return {
    ...state,
    record: note({ ...state.record, phase: "gone", reason, goneAt: now }, "Gone", reason, now),
  };
}

/**
 * What a complete listing says (invariant 3, rule R5). That the provider calls it terminated is proof. That
 * it is missing is proof only when the host's lease is over, and only the second time, by two listings that
 * began later than the consistency window after our latest call, and that far apart.
 */
export function foldSighting(
  state: Living,
  sighting: Sighting,
  consistencyMs: number,
  now: Instant,
): WorkerState {
  const { record } = state;
  if (record.phase === "gone") return state;
  const { instance, beganAt, missingSince = beganAt } = sighting;
  if (instance?.state === "terminated") return goneNow(state, "the provider says that it is terminated", now);
  if (instance !== undefined) return foldListed(state, instance, beganAt, now);
  const leased = record.leaseUntil > 0 && beganAt < record.leaseUntil + LEASE_MARGIN_MS;
  const tooSoon = beganAt < latestCallEnd(state) + consistencyMs;
  const mayYetCreate = record.phase === "booting" && record.instance === null;
  if (leased || tooSoon || mayYetCreate) return state;
  // A listing in between had it, or the pool cannot say that none did: this is the first one again.
  const first = record.omittedAt === null || missingSince > record.omittedAt ? beganAt : record.omittedAt;
  if (first === beganAt) return { ...state, record: { ...record, omittedAt: beganAt } };
  if (beganAt < first + consistencyMs) return state;
  return goneNow(state, "two listings omit it, and its host's lease is over", now);
}

/**
 * When the latest call that can have made or ended the machine is over: one of an earlier process may still
 * be under way.
 */
function latestCallEnd({ record, memo }: Living): Instant {
  if (record.instance !== null) return record.calledAt ?? memo.loadedAt;
  return Math.max(record.calledAt ?? 0, memo.loadedAt + CREATE_STRAGGLER_MS);
}

/** It exists. If it was to be destroyed long enough before the listing began, it is asked for again (T19). */
function foldListed(state: Living, instance: Instance, beganAt: Instant, now: Instant): WorkerState {
  const { record, memo } = state;
  const { id, address } = instance;
  const asked = memo.destroyAskedAt;
  const again = asked !== null && beganAt >= asked + record.intent.settings.shutdownMs;
  const next = again ? { ...state, memo: { ...memo, destroyAskedAt: null } } : state;
  if (record.instance?.id === id && record.instance.address === address) return next;
  const createdAt = record.createdAt ?? now;
  return { ...next, record: { ...record, instance: { id, address }, createdAt } };
}
