// What does a worker tell its pool about itself?
import { SECOND_PROTOCOL } from "../../../shared/compat.ts";
import type { Instant } from "../../../shared/machine.ts";
import { owedField } from "../../audit/outbox.ts";
import type { WorkerUpsert } from "../../messages.ts";
import { usableGpus } from "../host/devices.ts";
import { behaviorOf } from "../life/behavior.ts";
import { callWaiting } from "../life/calls.ts";
import { proposalAt } from "../life/deadlines.ts";
import { isSurelyUnmade } from "../life/kill.ts";
import { engineFault } from "../placements.ts";
import {
  capacityOf,
  isSelfHosted,
  measuredMemory,
  type ReadonlyExistingWorker,
  type WorkerRecord,
} from "../state.ts";
import { activityOf } from "./activity.ts";

/** The worker as its pool knows it. A silent worker is `unknown`, so that no further run is placed on it. */
export function upsertOf(state: ReadonlyExistingWorker, now: Instant): WorkerUpsert {
  const { record } = state;
  const silent = activityOf(state, now).kind === "silent";
  const proposal = proposalAt(state);
  return {
    worker: record.intent.worker,
    version: record.version,
    phase: silent ? "unknown" : record.phase,
    idleBehavior: behaviorOf(record),
    instance: record.instance?.id ?? null,
    address: record.instance?.address ?? null,
    zone: record.zone,
    paid: record.paid,
    destroyFailure: record.destroyFailure,
    readyAt: record.readyAt,
    bootOutcome: record.bootOutcome,
    reason: silent ? "its host is silent" : record.reason,
    protocol: record.protocol,
    ...engineField(record),
    listedPrice: record.prices.at(-1) ?? null,
    failure: failureOf(state),
    resources: isSelfHosted(record) && record.measured !== null ? capacityOf(record) : null,
    gpus: isSelfHosted(record) || record.readyAt !== null ? usableGpus(record) : undefined,
    // The pool learns this only when the worker becomes ready: the worker's row is written then anyway.
    measuredMemory: record.readyAt === null ? null : (measuredMemory(record) ?? null),
    unmade: isSurelyUnmade(record),
    forced: record.forced !== null,
    wantsStop: proposal !== undefined && now >= proposal,
    waits: callWaiting(record) ?? null,
    doubles: record.doubles,
    calls: record.calls,
    clockSkewMs: record.clockSkewMs,
    ...owedField(record.audit),
  };
}

/** Why a host that has reported takes no containers. An older agent says nothing of that. */
function engineField(record: WorkerRecord): Pick<WorkerUpsert, "noEngine"> {
  const isKnown = record.readyAt !== null && record.protocol >= SECOND_PROTOCOL;
  const fault = isKnown ? engineFault(record) : null;
  return fault === null ? {} : { noEngine: { why: fault, lasts: record.engine?.state !== "down" } };
}

/**
 * Why the machine was not made, or why its boot failed. A kill or a drain that ended the worker is not a
 * failure.
 */
function failureOf({ record }: ReadonlyExistingWorker): WorkerUpsert["failure"] {
  const { failure, createdAt, askedAt, reason, intent, bootOutcome } = record;
  if (failure !== null || intent.kind === "self-hosted" || intent.adopt !== undefined) return failure;
  if (bootOutcome !== "failure" && bootOutcome !== "disappeared") return null;
  return { class: "boot", text: reason, at: createdAt ?? askedAt };
}

/** A key that is equal for upserts without news for the pool. */
export function upsertKey(upsert: WorkerUpsert): string {
  return `${upsert.version} ${upsert.phase} ${upsert.wantsStop}`;
}
