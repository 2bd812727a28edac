import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { backOffMs } from "../../../shared/time/backoff.ts";
import { jittered } from "../../jitter.ts";
import type { ProviderFailure, WorkerFailure } from "../../messages.ts";
import { ownValue } from "../../own-value.ts";
import { isSameType } from "../config-diff.ts";
import type { Hold, PoolRecord, WorkerRow } from "../record.ts";
import { bootHoldMs } from "./breaker.ts";

/** Which machines a hold-off is about: those of this type. */
type Kind = Pick<WorkerRow, "instanceType" | "type">;

/** What a failure holds for if the provider does not say (decisions/pool.md#d18). */
const USUAL_SCOPE: Record<ProviderFailure["class"], NonNullable<ProviderFailure["scope"]>> = {
  rate_limit: "all",
  quota: "group",
  capacity: "type",
  temporary: "all",
  invalid: "type",
};

/** The pause after a first failure, and the longest after many in a row, if the provider names none. */
const PAUSES: Record<"rate_limit" | "quota" | "capacity" | "temporary", [Millis, Millis]> = {
  rate_limit: [5_000, 60_000],
  quota: [60_000, 15 * 60_000], // decisions/pool.md#d7
  capacity: [60_000, 60_000], // pool.md#capacity
  temporary: [5_000, 60_000],
};

/** Where a provider's pause for listings is kept: they have a bucket of their own (pool.md#rate-limits). */
const LIST_SCOPE = "list";

/** The scopes that a machine of this type is in: all, its quota group (spot apart), its type. */
function scopesOf({ instanceType, type }: Kind): string[] {
  return ["all", groupOf(type), `type:${instanceType}`];
}

function groupOf({ quotaGroup, preemptible }: InstanceType): string {
  if (quotaGroup === undefined) return "all";
  return preemptible === true ? `group:${quotaGroup}:spot` : `group:${quotaGroup}`;
}

function scopeOf(failure: WorkerFailure, { instanceType, type }: Kind): string {
  const scope = failure.class === "boot" ? "type" : (failure.scope ?? USUAL_SCOPE[failure.class]);
  if (scope === "all") return "all";
  return scope === "group" ? groupOf(type) : `type:${instanceType}`;
}

/** Whether no machine at all may be asked for because of it, not even one to try. */
export function isClosed({ until }: Hold, now: Instant): boolean {
  return until === null || now < until;
}

/** The hold-offs that a machine of this type is under. A boot failure or two only count. */
export function holdsOn(holds: readonly Hold[], kind: Kind): Hold[] {
  const scopes = scopesOf(kind);
  return holds.filter((hold) => scopes.includes(hold.scope) && isInForce(hold));
}

/** Whether it holds anything: the breaker counts up to its limit first. */
export function isInForce({ cause, tries }: Hold): boolean {
  return cause !== "boot" || bootHoldMs(tries) > 0;
}

/**
 * Folds in that a machine could not be had. While a hold-off lasts, others that were under way may fail, too:
 * that is no further try, and can only lengthen the pauses that count from the latest failure
 * (pool.md#capacity, pool.md#rate-limits).
 */
export function holdAfterFailure(
  record: PoolRecord,
  kind: Kind,
  failure: WorkerFailure,
  now: Instant,
): PoolRecord {
  return withFailure(record, scopeOf(failure, kind), failure, now);
}

/**
 * Folds in that the provider did not list its machines: it names when to ask again, or the next sweep does.
 */
export function holdAfterList(record: PoolRecord, failure: ProviderFailure | null, now: Instant): PoolRecord {
  if (failure === null) return without(record, (hold) => hold.scope === LIST_SCOPE);
  if (failure.retryAfterMs === undefined) return record;
  return withFailure(record, LIST_SCOPE, { ...failure, class: "rate_limit", at: now }, now);
}

/** When the provider lets itself be asked again what exists. */
export function listHeldUntil({ holds }: PoolRecord): Instant {
  return holds.find((hold) => hold.scope === LIST_SCOPE)?.until ?? 0;
}

function withFailure(record: PoolRecord, scope: string, failure: WorkerFailure, now: Instant): PoolRecord {
  const { class: cause, text: reason } = failure;
  const before = record.holds.find((hold) => hold.cause === cause && hold.scope === scope);
  const lasts = before !== undefined && isInForce(before) && isClosed(before, now);
  const tries = (before?.tries ?? 0) + (lasts ? 0 : 1);
  const until = untilOf(failure, tries, `${record.name}-${record.seed} ${scope} ${tries}`, now);
  if (lasts) {
    const lengthens = cause === "capacity" || cause === "rate_limit" || failure.retryAfterMs !== undefined;
    if (!lengthens || (until ?? 0) <= (before.until ?? 0)) return record;
  }
  const hold: Hold = { cause, scope, tries, until, reason };
  return { ...record, holds: [...record.holds.filter((one) => one !== before), hold] };
}

function untilOf({ class: cause, retryAfterMs, at }: WorkerFailure, tries: number, id: string, now: Instant) {
  if (cause === "invalid") return null;
  if (cause === "boot") return now + bootHoldMs(tries);
  if (retryAfterMs !== undefined) return at + retryAfterMs;
  const [firstMs, longestMs] = PAUSES[cause];
  return now + Math.min(longestMs, jittered(backOffMs({ firstMs, longestMs }, tries), id));
}

/** A machine was made. That ends what was being tried; while a hold-off lasts it is one of those before. */
export function holdsAfterCreate(record: PoolRecord, kind: Kind, now: Instant): PoolRecord {
  const scopes = scopesOf(kind);
  return without(
    record,
    (hold) => hold.cause !== "boot" && scopes.includes(hold.scope) && !isClosed(hold, now),
  );
}

/** A machine became ready: what is booted there can be. */
export function holdsAfterBoot(record: PoolRecord, kind: Kind): PoolRecord {
  const scopes = scopesOf(kind);
  return without(record, (hold) => hold.cause === "boot" && scopes.includes(hold.scope));
}

/**
 * One of our machines has left: one may be tried again where the quota was reached (decisions/pool.md#d7).
 */
export function holdsAfterLeaving(record: PoolRecord, kind: Kind, now: Instant): PoolRecord {
  const scopes = scopesOf(kind);
  const ends = (hold: Hold) => hold.cause === "quota" && scopes.includes(hold.scope) && isClosed(hold, now);
  if (!record.holds.some(ends)) return record;
  return { ...record, holds: record.holds.map((hold) => (ends(hold) ? { ...hold, until: now } : hold)) };
}

/**
 * What is left of the hold-offs under another configuration. What the provider called invalid may be cured by
 * any that is put, the breaker by another image or another description of the type, and the rest by whatever
 * has changed; but what a provider has asked for is obeyed.
 */
export function holdsAfterConfigure({ config: before, holds }: PoolRecord, config: PoolConfig): Hold[] {
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const sameKind = (name: string) =>
    before.image === config.image &&
    isSameType(ownValue(before.instanceTypes, name), ownValue(config.instanceTypes, name));
  const types = Object.keys(config.instanceTypes).map((name) => `type:${name}`);
  return holds.filter(({ cause, scope }) => {
    if (cause === "invalid" || (scope.startsWith("type:") && !types.includes(scope))) return false;
    if (cause === "boot") return sameKind(scope.slice("type:".length));
    return cause === "rate_limit" ? same(before.provider, config.provider) : same(before, config);
  });
}

function without(record: PoolRecord, ends: (hold: Hold) => boolean): PoolRecord {
  return record.holds.some(ends) ? { ...record, holds: record.holds.filter((hold) => !ends(hold)) } : record;
}
