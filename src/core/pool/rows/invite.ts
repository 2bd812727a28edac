import type { InstanceType } from "../../../schema/pool.ts";
import { MAX_OPEN_ENROLLMENTS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { SELF_HOSTED } from "../../worker/read/status.ts";
import type { WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { newWorkerRow } from "./workers.ts";

/** What is known of a self-hosted machine before its host has said what it has: nothing fits there. */
const UNKNOWN_TYPE: InstanceType = { vcpus: 0, memory: 0, disk: 0, gpus: 0, price: 0 };

/**
 * A self-hosted machine may join as this worker for `ttlMs` from now on (api.md#enrollments). It is no
 * permit: `maxInstances` bounds what a provider is asked for. The same worker again changes nothing; one too
 * many is not written, which `worker` not being there tells.
 */
export function foldInvite(state: Configured, worker: string, ttlMs: Millis, now: Instant): Configured {
  if (state.workers.get(worker) !== undefined || isFullOfInvitations(state)) return state;
  const { record } = state;
  const wanted = { worker, instanceType: SELF_HOSTED, type: UNKNOWN_TYPE, notAfter: now + ttlMs };
  // It is up when its host says anything: nothing has to boot there.
  const row: WorkerRow = { ...newWorkerRow(record, wanted, now), kind: "self-hosted" };
  const settings = { ...row.settings, bootCommand: "true" };
  state.workers.set(worker, { ...row, settings, resources: null }, now);
  return { ...state, record: { ...record, nextWorker: record.nextWorker + 1 } };
}

/** Whether as many codes wait to be used as may. */
export function isFullOfInvitations({ workers }: ReadonlyConfigured): boolean {
  let open = 0;
  for (const row of workers.live()) if (row.kind === "self-hosted" && row.resources === null) open += 1;
  return open >= MAX_OPEN_ENROLLMENTS;
}
