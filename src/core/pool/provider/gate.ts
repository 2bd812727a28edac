// Can a machine be created now, and if not, why?
import type { Instant } from "../../../shared/machine.ts";
import type { Blocked, Gate, Offer } from "../plan/pass.ts";
import { type Hold, isUnmade, isWaiting, providedWorkers, type WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { holdsOn, isClosed } from "./hold-offs.ts";

/**
 * Decides how many machines can be created now. The counts are not stored: they are taken from the rows
 * (invariant 6). `maxInstances` limits provider machines, so self-hosted machines do not count.
 *
 * When the time of a hold-off is over, one machine is tried. The outcome of this trial ends the hold-off or
 * begins the next pause (decisions/pool.md#d7, decisions/pool.md#d24).
 */
export function openGate(state: ReadonlyConfigured, now: Instant): Gate {
  const { config, holds } = state.record;
  let instances = 0;
  let underWay = 0;
  for (const row of providedWorkers(state)) {
    instances += 1;
    if (isUnmade(row)) underWay += 1;
  }
  const tried = new Set(holds.filter((hold) => isTried(state, hold) || isNext(state, hold, now)));
  const on = ({ name, type, zone }: Offer) => holdsOn(holds, { instanceType: name, type, zone });
  const heldOf = (offer: Offer) => on(offer).filter((hold) => isClosed(hold, now) || tried.has(hold));
  return {
    filledBy(offer) {
      const held = heldOf(offer);
      if (held.some(({ cause }) => cause !== "quota") || config.maxInstances === 0) return null;
      if (held.length === 0 && instances < config.maxInstances) return null;
      return (row) => row.kind === "cloud" && holdsOn(held, row).length === held.length;
    },
    why(offer) {
      const held = heldOf(offer);
      if (held.length > 0) return blockedBy(held, now);
      if (config.maxInstances === 0) return { code: "no_workers" };
      if (instances >= config.maxInstances) return { code: "max_instances" };
      return underWay >= config.maxConcurrentCreates ? { code: "machine_asked" } : null;
    },
    take(offer) {
      instances += 1;
      underWay += 1;
      for (const hold of on(offer)) tried.add(hold);
    },
  };
}

/**
 * If the worker's machine is tried although a quota was reached: selects the machines that would make room
 * for it by leaving. Null: the worker's machine is not tried in this way.
 */
export function triedDespiteQuota(
  state: ReadonlyConfigured,
  row: WorkerRow,
): ((row: WorkerRow) => boolean) | null {
  if (!isUnmade(row)) return null;
  const quotas = holdsOn(state.record.holds, row).filter(({ cause }) => cause === "quota");
  if (quotas.length === 0) return null;
  return (other) => other.kind === "cloud" && holdsOn(quotas, other).length === quotas.length;
}

/** Whether the time of the hold-off is over, and a trial machine for it has no outcome yet. */
export function isTried(state: ReadonlyConfigured, hold: Hold): boolean {
  for (const row of providedWorkers(state)) {
    const at = row.turn?.at ?? row.askedAt;
    if (hold.until === null || at < hold.until || !holdsOn([hold], row).length) continue;
    // A worker on `hold` has no outcome until an operator releases it.
    const boots =
      hold.cause === "boot" &&
      row.phase === "booting" &&
      row.bootOutcome !== "success" &&
      row.idleBehavior === "run";
    if (boots || (isUnmade(row) && !isWaiting(row))) return true;
  }
  return false;
}

/** Whether the next trial machine is already requested and waits for its turn. */
function isNext(state: ReadonlyConfigured, hold: Hold, now: Instant): boolean {
  for (const row of providedWorkers(state)) {
    if (!isUnmade(row) || !isWaiting(row) || holdsOn([hold], row).length === 0) continue;
    if (!holdsOn(state.record.holds, row).some((one) => isClosed(one, now))) return true;
  }
  return false;
}

/**
 * Describes the hold-off that ends last. If its time is already over, only the outcome of the trial machine
 * can end it.
 */
function blockedBy(held: readonly Hold[], now: Instant): Blocked {
  const ends = ({ until }: Hold) => until ?? Number.POSITIVE_INFINITY;
  const hold = held.reduce((last, one) => (ends(one) > ends(last) ? one : last));
  const { scope, until, reason } = hold;
  if (until === null) return { code: "hold_off", scope, reason };
  if (isClosed(hold, now)) return { code: "hold_off", scope, until, reason };
  return { code: "hold_off", scope, reason: `${reason}; one machine is being tried` };
}
