import type { Instant } from "../../../shared/machine.ts";
import { ownValue } from "../../own-value.ts";
import type { Blocked, Gate } from "../plan/pass.ts";
import { type Hold, isWaiting, providedWorkers, type WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { holdsOn, isClosed } from "./hold-offs.ts";

/**
 * Decides how many machines may be asked for now. Counts are queries over rows (invariant 6). `maxInstances`
 * bounds what a provider is asked for and paid for, so self-hosted machines do not count.
 *
 * A hold-off whose time is over is half open: one machine is tried, and what becomes of it decides
 * (decisions/pool.md#d7, decisions/pool.md#d24).
 */
export function openGate(state: ReadonlyConfigured, now: Instant): Gate {
  const { config, holds } = state.record;
  let instances = 0;
  let underWay = 0;
  for (const row of providedWorkers(state)) {
    instances += 1;
    if (isBeingMade(row)) underWay += 1;
  }
  const tried = new Set(holds.filter((hold) => isTried(state, hold) || isNext(state, hold, now)));
  const on = (name: string) => {
    const type = ownValue(config.instanceTypes, name);
    return type === undefined ? [] : holdsOn(holds, { instanceType: name, type });
  };
  const heldOf = (type: string) => on(type).filter((hold) => isClosed(hold, now) || tried.has(hold));
  return {
    filledBy(type) {
      const held = heldOf(type);
      if (held.some(({ cause }) => cause !== "quota") || config.maxInstances === 0) return null;
      if (held.length === 0 && instances < config.maxInstances) return null;
      return (row) => row.kind === "cloud" && holdsOn(held, row).length === held.length;
    },
    why(type) {
      const held = heldOf(type);
      if (held.length > 0) return blockedBy(held, now);
      if (config.maxInstances === 0) return { code: "no_workers" };
      if (instances >= config.maxInstances) return { code: "max_instances" };
      return underWay >= config.maxConcurrentCreates ? { code: "machine_asked" } : null;
    },
    take(type) {
      instances += 1;
      underWay += 1;
      for (const hold of on(type)) tried.add(hold);
    },
    instances: () => instances,
  };
}

/**
 * Which machines of ours would make room for this one by leaving, should the provider refuse it: it is being
 * tried although a quota was reached. Null: it is not.
 */
export function triedDespiteQuota(
  state: ReadonlyConfigured,
  row: WorkerRow,
): ((row: WorkerRow) => boolean) | null {
  if (!isBeingMade(row)) return null;
  const quotas = holdsOn(state.record.holds, row).filter(({ cause }) => cause === "quota");
  if (quotas.length === 0) return null;
  return (other) => other.kind === "cloud" && holdsOn(quotas, other).length === quotas.length;
}

/** Whether the provider may yet answer with a machine. */
function isBeingMade({ instance, phase }: WorkerRow): boolean {
  return instance === null && (phase === "asked" || phase === "booting");
}

/** Whether a machine has been tried since its time was over, of which nobody knows yet what it proves. */
export function isTried(state: ReadonlyConfigured, hold: Hold): boolean {
  for (const row of providedWorkers(state)) {
    const at = row.turn?.at ?? row.askedAt;
    if (hold.until === null || at < hold.until || !holdsOn([hold], row).length) continue;
    // Of one that is held there comes no outcome, until somebody lets it go on.
    const boots =
      hold.cause === "boot" && row.phase === "booting" && !row.booted && row.idleBehavior === "run";
    if (boots || (isBeingMade(row) && !isWaiting(row))) return true;
  }
  return false;
}

/** Whether a machine that was asked for before, and waits for its turn, is the one that will be tried. */
function isNext(state: ReadonlyConfigured, hold: Hold, now: Instant): boolean {
  for (const row of providedWorkers(state)) {
    if (!isBeingMade(row) || !isWaiting(row) || holdsOn([hold], row).length === 0) continue;
    if (!holdsOn(state.record.holds, row).some((one) => isClosed(one, now))) return true;
  }
  return false;
}

/** Of several hold-offs, the one that ends last; one that is being tried ends by what becomes of it. */
function blockedBy(held: readonly Hold[], now: Instant): Blocked {
  const ends = ({ until }: Hold) => until ?? Number.POSITIVE_INFINITY;
  const hold = held.reduce((last, one) => (ends(one) > ends(last) ? one : last));
  const { scope, until, reason } = hold;
  if (until === null) return { code: "hold_off", scope, reason };
  if (isClosed(hold, now)) return { code: "hold_off", scope, until, reason };
  return { code: "hold_off", scope, reason: `${reason}; one machine is being tried` };
}
