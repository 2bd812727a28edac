import type { Instant } from "../machine.ts";
import type { WorkerUpsert } from "../messages.ts";
import { proposalAt } from "./life.ts";
import { isSilent } from "./placements.ts";
import { isOwnMachine, type Living } from "./state.ts";

/**
 * The worker as its pool is to know it. A silent one is shown `unknown`, so that nothing more is placed on
 * it.
 */
export function upsertOf(state: Living, now: Instant): WorkerUpsert {
  const { record } = state;
  const silent = record.phase === "ready" && isSilent(state, now);
  const proposal = proposalAt(state);
  return {
    worker: record.intent.worker,
    version: record.version,
    phase: silent ? "unknown" : record.phase,
    idleBehavior: record.idleBehavior,
    instance: record.instance?.id ?? null,
    address: record.instance?.address ?? null,
    readyAt: record.readyAt,
    booted: record.readyAt !== null,
    reason: silent ? "its host has not been heard of lately" : record.reason,
    ...(isOwnMachine(record) ? { resources: record.measured ?? null } : {}),
    wantsStop: proposal !== undefined && now >= proposal,
  };
}

/** What tells apart what the pool has been told. */
export function poolKnows(upsert: WorkerUpsert): string {
  return `${upsert.version} ${upsert.phase} ${upsert.wantsStop}`;
}
