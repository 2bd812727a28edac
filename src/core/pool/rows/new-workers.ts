// How does a pool add a worker to its rows: by a permit, or by an invitation?
import type { InstanceType } from "../../../schema/pool.ts";
import { CREATE_NOT_AFTER_MS, MAX_OPEN_ENROLLMENTS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { type Caused, viaField } from "../../audit/via.ts";
import type { Intent } from "../../messages.ts";
import { SELF_HOSTED } from "../../worker/read/status.ts";
import type { Offer } from "../plan/pass.ts";
import { projectOfMachine } from "../projects.ts";
import { type AnyWorkerRow, NOTHING_SAID, type PoolRecord, settingsOf, type WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";

/** The type of a self-hosted machine that has not reported yet: no run fits on such a machine. */
const UNKNOWN_TYPE: InstanceType = { vcpus: 0, memory: 0, disk: 0, gpus: 0, price: 0 };

/**
 * Adds a worker for a self-hosted machine, which can enroll for `ttlMs` (api.md#enrollments). The worker does
 * not count toward `maxInstances`, which limits provider machines. Repeating the invitation changes nothing.
 * If the limit of open invitations is reached, no row is written.
 */
export function foldInvite(
  state: Configured,
  { worker, ttlMs, by, via }: { worker: string; ttlMs: Millis; by: string } & Caused,
  now: Instant,
): Configured {
  if (state.workers.get(worker) !== undefined || isFullOfInvitations(state)) return state;
  const { record } = state;
  const notAfter = now + ttlMs;
  const wanted = { worker, instanceType: SELF_HOSTED, type: UNKNOWN_TYPE, zone: null, notAfter };
  // The first report makes the worker ready: no boot command has to succeed before.
  const row: WorkerRow = { ...newWorkerRow(record, wanted, now), kind: "self-hosted" };
  const settings = { ...row.settings, bootCommand: "true" };
  state.workers.set(worker, { ...row, settings }, now);
  const target = { kind: "worker", id: worker } as const;
  const about = { target, pool: record.name, run: null, project: projectOfMachine(record.config, row) };
  const entry = { at: now, by, action: "enrollment.create", ...about, result: "ok" } as const;
  state.audit.add({ ...entry, ...viaField({ via }) }, now);
  return { ...state, record: { ...record, nextWorker: record.nextWorker + 1 } };
}

/** Whether the limit of unused codes is reached. */
function isFullOfInvitations({ workers }: ReadonlyConfigured): boolean {
  let open = 0;
  for (const row of workers.live()) if (row.kind === "self-hosted" && row.resources === null) open += 1;
  return open >= MAX_OPEN_ENROLLMENTS;
}

/**
 * Permits a new worker to create its machine: the worker's row is stored before its record, and its record
 * before the create call (invariant 3).
 */
export function askForWorker(
  state: Configured,
  { name: instanceType, type, zone }: Pick<Offer, "name" | "type" | "zone">,
  now: Instant,
): Configured {
  const { record } = state;
  const worker = nextWorkerName(record);
  const notAfter = now + CREATE_NOT_AFTER_MS;
  const wanted = { worker, instanceType, type, zone, notAfter };
  const { image } = record.config;
  state.workers.set(worker, { ...newWorkerRow(record, wanted, now), kind: "cloud", image }, now);
  return { ...state, record: { ...record, nextWorker: record.nextWorker + 1 } };
}

/**
 * The name of the next worker. The seed makes the name unique among all pools that ever had the pool's name.
 */
export function nextWorkerName({
  name,
  seed,
  nextWorker,
}: {
  name: string;
  seed: string;
  nextWorker: number | string;
}): string {
  return `${name.slice(0, 40)}-${seed}-${nextWorker}`;
}

/** The row of a worker that has not received its intent yet. */
export function newWorkerRow(
  { config }: PoolRecord,
  wanted: Pick<AnyWorkerRow, "worker" | "instanceType" | "type" | "zone" | "notAfter">,
  now: Instant,
): AnyWorkerRow {
  return {
    ...wanted,
    version: 0,
    phase: "asked",
    idleBehavior: "run",
    instance: null,
    address: null,
    readyAt: null,
    ...NOTHING_SAID,
    reason: "asked for",
    askedAt: now,
    stopUntil: 0,
    missingSince: null,
    refusals: 0,
    pausedUntil: 0,
    settings: settingsOf(config),
    heardAt: now,
    endingAt: null,
    project: null,
  };
}

/** The intent of a worker. */
export function intentOf(state: ReadonlyConfigured, row: WorkerRow): Intent {
  const { config, name } = state.record;
  const { worker, instanceType, type, zone, notAfter, settings } = row;
  // If the pool is deleted by force, a new worker must not create a machine any more.
  const until = row.phase === "asked" && state.record.forced !== undefined ? 0 : notAfter;
  const any = { worker, pool: name, notAfter: until, settings };
  if (row.kind === "self-hosted") return { ...any, kind: "self-hosted" };
  const { provider, image: present, tags } = config;
  const { image = present } = row;
  return { ...any, kind: "cloud", instanceType, type, zone, provider, image, tags, adopt: row.adopt };
}
