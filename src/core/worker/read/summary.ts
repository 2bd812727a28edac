import { bootOutcomeOf } from "../../../probes/boot.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { WorkerUpsert } from "../../messages.ts";
import { behaviorOf } from "../host/notice.ts";
import { callWaiting } from "../life/calls.ts";
import { proposalAt } from "../life/deadlines.ts";
import { isSurelyUnmade } from "../life/forced.ts";
import { isSelfHosted, measuredMemory, type ReadonlyLiving, type WorkerRecord } from "../state.ts";
import { activityOf } from "./activity.ts";
import { toldPrice } from "./prices.ts";

/**
 * The worker as its pool is to know it. A silent one is shown `unknown`, so that nothing more is placed on
 * it.
 */
export function upsertOf(state: ReadonlyLiving, now: Instant): WorkerUpsert {
  const { record } = state;
  const silent = activityOf(state, now).kind === "silent";
  const proposal = proposalAt(state);
  const bootOutcome = bootOutcomeOf(record);
  const price = toldPrice(record);
  return {
    worker: record.intent.worker,
    version: record.version,
    phase: silent ? "unknown" : record.phase,
    idleBehavior: behaviorOf(record),
    instance: record.instance?.id ?? null,
    address: record.instance?.address ?? null,
    readyAt: record.readyAt,
    booted: bootOutcome === "success",
    ...(bootOutcome === undefined ? {} : { bootOutcome }),
    reason: silent ? "its host has not been heard of lately" : record.reason,
    ...(record.acts === undefined ? {} : { acts: record.acts }),
    ...(price === undefined ? {} : { toldPrice: price }),
    ...failureOf(state),
    ...measuredOf(record),
    ...(isSurelyUnmade(record) ? { unmade: true as const } : {}),
    ...(record.forced === undefined ? {} : { forced: true as const }),
    wantsStop: proposal !== undefined && now >= proposal,
    waits: callWaiting(record),
    doubles: record.doubles,
  };
}

/**
 * What its host has measured: all of it for a self-hosted machine; of others the memory, as soon as it is
 * ready, so that it goes into the row that is written then.
 */
function measuredOf(record: WorkerRecord): Pick<WorkerUpsert, "resources" | "measuredMemory"> {
  if (isSelfHosted(record)) return { resources: record.measured ?? null };
  const bytes = measuredMemory(record);
  return bytes === undefined || record.readyAt === null ? {} : { measuredMemory: bytes };
}

/**
 * That its machine was not made, or that its boot came to nothing. What somebody has asked for, by a kill or
 * a drain, is no failure.
 */
function failureOf({ record }: ReadonlyLiving): Pick<WorkerUpsert, "failure"> {
  const { failure, createdAt, askedAt, reason, intent } = record;
  if (failure !== undefined) return { failure };
  if (intent.kind === "self-hosted" || intent.adopt !== undefined) return {};
  const outcome = bootOutcomeOf(record);
  if (outcome !== "failure" && outcome !== "disappeared") return {};
  return { failure: { class: "boot", text: reason, at: createdAt ?? askedAt } };
}

/** What tells apart what the pool has been told. */
export function poolKnows(upsert: WorkerUpsert): string {
  return `${upsert.version} ${upsert.phase} ${upsert.wantsStop}`;
}
