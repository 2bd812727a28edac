// Which failures of the provider cause a hold-off, how long does the hold-off last, and what ends it?
import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { backOffMs } from "../../../shared/time/backoff.ts";
import { jittered } from "../../jitter.ts";
import type { WorkerFailure } from "../../messages.ts";
import type { ListAnswer, ProviderFailure } from "../../provider-answers.ts";
import { isSameType } from "../config-diff.ts";
import { typeNamed, zonesOf } from "../plan/types.ts";
import type { Hold, PoolRecord, WorkerRow } from "../record.ts";

/** A kind of machine: the name of an instance type, the type as configured, and the zone. */
type Kind = Pick<WorkerRow, "instanceType" | "type" | "zone">;

/** The scope of a failure if the provider names no scope (decisions/pool.md#d18). */
const USUAL_SCOPE: Record<ProviderFailure["class"], NonNullable<ProviderFailure["scope"]>> = {
  rate_limit: "all",
  quota: "group",
  capacity: "offer",
  temporary: "all",
  auth: "all",
  invalid: "type",
};

/** The first and the longest pause after failures, if the provider names no pause. */
const PAUSES: Record<Exclude<ProviderFailure["class"], "invalid">, [Millis, Millis]> = {
  rate_limit: [5_000, 60_000],
  quota: [60_000, 15 * 60_000], // decisions/pool.md#d7
  capacity: [60_000, 60_000], // pool.md#capacity
  temporary: [5_000, 60_000],
  auth: [60_000, 15 * 60_000], // clouds.md#auth
};

/**
 * After this many failed boots in a row, no machine of the type is created for a while
 * (decisions/pool.md#d24; cases.md#case-17).
 */
const BOOT_FAILURES = 3;
const BOOT_PAUSES = { firstMs: 5 * 60_000, longestMs: 60 * 60_000 };

/** The scope of a hold-off for listings. Listings have a separate rate limit (pool.md#rate-limits). */
const LIST_SCOPE = "list";

/**
 * The scopes of the hold-offs that apply to a machine of this kind: `all`, its quota group (spot machines
 * have a separate group), its type, its zone, and its type in its zone.
 */
function scopesOf({ instanceType, type, zone }: Kind): string[] {
  const scopes = ["all", groupOf(type), `type:${instanceType}`];
  return zone === null ? scopes : [...scopes, `zone:${zone}`, `type:${instanceType}@${zone}`];
}

function groupOf({ quotaGroup, preemptible }: InstanceType): string {
  if (quotaGroup === undefined) return "all";
  return preemptible === true ? `group:${quotaGroup}:spot` : `group:${quotaGroup}`;
}

/** The scope of a hold-off. What concerns a zone concerns the whole type if no zone was named. */
function scopeOf(failure: WorkerFailure, { instanceType, type, zone }: Kind): string {
  const scope = failure.class === "boot" ? "type" : (failure.scope ?? USUAL_SCOPE[failure.class]);
  if (scope === "all") return "all";
  if (scope === "group") return groupOf(type);
  if (zone === null || scope === "type") return `type:${instanceType}`;
  return scope === "zone" ? `zone:${zone}` : `type:${instanceType}@${zone}`;
}

/** Whether the time of the hold-off is not over, so that even a trial machine is forbidden. */
export function isClosed({ until }: Hold, now: Instant): boolean {
  return until === null || now < until;
}

/** The hold-offs in force for a machine of this kind. */
export function holdsOn(holds: readonly Hold[], kind: Kind): Hold[] {
  const scopes = scopesOf(kind);
  return holds.filter((hold) => scopes.includes(hold.scope) && isInForce(hold));
}

/** Whether the hold-off forbids anything. Boot failures below the limit forbid nothing. */
export function isInForce({ cause, tries }: Hold): boolean {
  return cause !== "boot" || bootHoldMs(tries) > 0;
}

/**
 * Records a failed create call or a failed boot. A failure during a hold-off does not increase `tries`: the
 * machine may have been requested before the hold-off began. Such a failure can lengthen the hold-off only if
 * the cause is `capacity` or `rate_limit`, or if the provider named a pause (pool.md#capacity,
 * pool.md#rate-limits).
 */
export function holdAfterFailure(
  record: PoolRecord,
  kind: Kind,
  failure: WorkerFailure,
  now: Instant,
): PoolRecord {
  return withFailure(record, scopeOf(failure, wantedKind(record.config, kind)), failure, now);
}

/**
 * The kind of machine as it can be requested again. Where the provider chooses the zones, a zone that it has
 * chosen is no scope: no request names it (clouds.md#zones).
 */
function wantedKind(config: PoolConfig, kind: Kind): Kind {
  const zones = zonesOf(config, typeNamed(config, kind.instanceType) ?? kind.type);
  return zones.includes(null) ? { ...kind, zone: null } : kind;
}

/**
 * Records the result of a listing. After a failure, the next listing waits for the pause that the provider
 * named. If the provider named no pause, the next sweep takes place at the usual time, or a minute later if
 * the credentials were refused.
 *
 * Listings pause as well while little is left of the account's calls, which other pools and other tools share
 * with this pool: what is left is for destroys (pool.md#rate-limits).
 */
export function holdAfterList(record: PoolRecord, answer: ListAnswer, now: Instant): PoolRecord {
  if (answer.kind === "listed") {
    const over = without(record, (hold) => hold.scope === LIST_SCOPE);
    const { limit = 0, remaining = 0 } = answer.budget ?? {};
    if (remaining >= limit * SCARCE_PART) return over;
    const text = `the account has ${remaining} of ${limit} calls left, which are for ending machines`;
    return withFailure(
      over,
      LIST_SCOPE,
      { class: "rate_limit", text, retryAfterMs: SCARCE_MS, at: now },
      now,
    );
  }
  const { failure } = answer;
  const retryAfterMs = failure.class === "auth" ? (failure.retryAfterMs ?? SCARCE_MS) : failure.retryAfterMs;
  if (retryAfterMs === undefined) return record;
  return withFailure(record, LIST_SCOPE, { ...failure, retryAfterMs, class: "rate_limit", at: now }, now);
}

/**
 * Ends the hold-offs for refused credentials once other credentials are used: a rotation changes no
 * configuration (clouds.md#auth).
 */
export function holdsAfterRotation(record: PoolRecord, credentials: string | undefined): PoolRecord {
  if (credentials === undefined || credentials === record.credentials) return record;
  return { ...without(record, ({ cause }) => cause === "auth"), credentials };
}

/** Whether creates wait for other credentials, so that listings must show whether there are any. */
export function awaitsCredentials({ holds }: Pick<PoolRecord, "holds">): boolean {
  return holds.some(({ cause }) => cause === "auth");
}

/** Below this part of the account's calls, listings pause, for this long. */
const SCARCE_PART = 0.1;
const SCARCE_MS = 60_000;

/** When the provider accepts the next listing. */
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

/**
 * The length of the pause after this many boot failures in a row: 0 below `BOOT_FAILURES`, then 5, 10, 20, 40
 * and finally 60 minutes. No machine of the type is created during the pause, and one machine is tried after
 * it.
 */
function bootHoldMs(failures: number): Millis {
  if (failures < BOOT_FAILURES) return 0;
  return backOffMs(BOOT_PAUSES, failures - BOOT_FAILURES + 1);
}

/**
 * Ends the hold-offs whose time is over, after a machine in their scope was created. Hold-offs for boot
 * failures stay. A hold-off whose time is not over also stays, because the create call may have been in
 * flight when the hold-off began.
 */
export function holdsAfterCreate(record: PoolRecord, kind: Kind, now: Instant): PoolRecord {
  const scopes = scopesOf(kind);
  return without(
    record,
    (hold) => hold.cause !== "boot" && scopes.includes(hold.scope) && !isClosed(hold, now),
  );
}

/** Ends the hold-off for boot failures of a type, after a successful boot. */
export function holdsAfterBoot(record: PoolRecord, kind: Kind): PoolRecord {
  const scopes = scopesOf(kind);
  return without(record, (hold) => hold.cause === "boot" && scopes.includes(hold.scope));
}

/** Allows one trial machine after a machine has left a group that is at its quota (decisions/pool.md#d7). */
export function holdsAfterLeaving(record: PoolRecord, kind: Kind, now: Instant): PoolRecord {
  const scopes = scopesOf(kind);
  const ends = (hold: Hold) => hold.cause === "quota" && scopes.includes(hold.scope) && isClosed(hold, now);
  if (!record.holds.some(ends)) return record;
  return { ...record, holds: record.holds.map((hold) => (ends(hold) ? { ...hold, until: now } : hold)) };
}

/**
 * The hold-offs that remain under a new configuration. A hold-off for invalid requests, or for a removed
 * type, always ends. A hold-off for boot failures ends if the image or the type has changed. A hold-off for a
 * rate limit ends if the provider has changed. Every other hold-off ends if anything in the configuration has
 * changed.
 */
export function holdsAfterConfigure({ config: before, holds }: PoolRecord, config: PoolConfig): Hold[] {
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const sameKind = (name: string) =>
    before.image === config.image && isSameType(typeNamed(before, name), typeNamed(config, name));
  return holds.filter(({ cause, scope }) => {
    const [name] = scope.startsWith("type:") ? scope.slice("type:".length).split("@") : [];
    if (cause === "invalid" || (name !== undefined && typeNamed(config, name) === undefined)) return false;
    if (cause === "boot") return name !== undefined && sameKind(name);
    return cause === "rate_limit" ? same(before.provider, config.provider) : same(before, config);
  });
}

function without(record: PoolRecord, ends: (hold: Hold) => boolean): PoolRecord {
  return record.holds.some(ends) ? { ...record, holds: record.holds.filter((hold) => !ends(hold)) } : record;
}
