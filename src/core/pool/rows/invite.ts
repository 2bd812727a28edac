// How does a self-hosted machine get a worker that it can enroll as?
import type { InstanceType } from "../../../schema/pool.ts";
import { MAX_OPEN_ENROLLMENTS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { SELF_HOSTED } from "../../worker/read/status.ts";
import type { WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { newWorkerRow } from "./workers.ts";

/** The type of a self-hosted machine that has not reported yet: nothing fits there. */
const UNKNOWN_TYPE: InstanceType = { vcpus: 0, memory: 0, disk: 0, gpus: 0, price: 0 };

/**
 * Adds a worker as which a self-hosted machine can enroll for `ttlMs` (api.md#enrollments). It does not count
 * towards `maxInstances`, which limits the provider. Repeating it changes nothing; beyond the limit no row is
 * written.
 */
export function foldInvite(state: Configured, worker: string, ttlMs: Millis, now: Instant): Configured {
  if (state.workers.get(worker) !== undefined || isFullOfInvitations(state)) return state;
  const { record } = state;
  const wanted = { worker, instanceType: SELF_HOSTED, type: UNKNOWN_TYPE, notAfter: now + ttlMs };
  // Its first report makes it ready: nothing has to boot there.
  const row: WorkerRow = { ...newWorkerRow(record, wanted, now), kind: "self-hosted" };
  const settings = { ...row.settings, bootCommand: "true" };
  state.workers.set(worker, { ...row, settings }, now);
  return { ...state, record: { ...record, nextWorker: record.nextWorker + 1 } };
}

/** Whether the limit of unused codes is reached. */
export function isFullOfInvitations({ workers }: ReadonlyConfigured): boolean {
  let open = 0;
  for (const row of workers.live()) if (row.kind === "self-hosted" && row.resources === null) open += 1;
  return open >= MAX_OPEN_ENROLLMENTS;
}
