// What does an answer of the provider tell about a machine: where it is, since when it is paid for, its end?
import type { Instance } from "../../../schema/provider.ts";
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { WorkerRecord } from "../state.ts";

/** How far the clock of a provider may differ from Drover's: a time beyond that is not believed. */
const CLOCK_DRIFT_MS: Millis = 5 * 60_000;

type Known = Pick<WorkerRecord, "instance" | "zone" | "paid" | "endsAt">;

/** What is known of a worker's machine after the provider has shown it. */
export function knownOf(record: WorkerRecord, shown: Instance, now: Instant): Known {
  const { id, address, zone } = shown;
  const endsAt = shown.endsAt === undefined ? record.endsAt : Date.parse(shown.endsAt);
  return {
    instance: { id, address },
    zone: zone ?? record.zone,
    paid: record.paid ?? { from: bornAt(shown, record.askedAt, now), until: null },
    endsAt,
  };
}

/** When the machine came to be: as its provider says, if that is plausible, or else when it was asked for. */
function bornAt({ createdAt }: Instance, askedAt: Instant, now: Instant): Instant {
  const at = Date.parse(createdAt);
  const isPlausible = at >= askedAt - CLOCK_DRIFT_MS && at <= now + CLOCK_DRIFT_MS;
  return isPlausible ? Math.min(now, Math.max(askedAt, at)) : askedAt;
}

/**
 * When the machine ended: as the provider says, or else now, or when a listing first omitted it. An omission
 * says nothing of a machine that was shown after it.
 */
function endedAt({ omittedAt }: WorkerRecord, shown: Instance | undefined, now: Instant): Instant {
  if (shown === undefined) return Math.min(now, omittedAt ?? now);
  const said = shown.endedAt === undefined ? Number.NaN : Date.parse(shown.endedAt);
  return said <= now + CLOCK_DRIFT_MS ? Math.min(now, said) : now;
}

/** Until when a machine that has ended is paid for: providers count whole steps (pool.md#prices). */
export function paidUntil(
  record: WorkerRecord,
  from: Instant,
  shown: Instance | undefined,
  now: Instant,
): Instant {
  const { intent } = record;
  const until = Math.max(from, endedAt(record, shown, now));
  if (intent.kind === "self-hosted") return until;
  const { minMs, stepMs } = TRAITS[intent.provider.kind].billing;
  return from + Math.ceil(Math.max(minMs, until - from) / stepMs) * stepMs;
}
