import type { Instance, LifecycleState } from "../../../schema/provider.ts";
import { MAX_STRANGERS_SHOWN } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { ListAnswer, Sighting } from "../../messages.ts";
import { type PoolRecord, providedWorkers, type WorkerRow } from "../record.ts";
import { WORKER_TAG } from "../rows/workers.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { holdAfterList } from "./hold-offs.ts";
import { foldUnknown } from "./orphans.ts";

/**
 * Folds in a listing: each worker must hear what it says of its instance, if that is any news to it, and what
 * nobody knows is taken into the ledger. A listing that failed proves nothing, and one that is partial proves
 * no absence.
 */
export function foldListing(
  before: Configured,
  answer: ListAnswer,
  consistencyMs: Millis,
  now: Instant,
): Configured {
  const failure = answer.kind === "failed" ? answer.failure : null;
  const held = holdAfterList(before.record, failure, now);
  const shouldBeEmpty = failure === null && providedWorkers(before).next().done === true;
  const record = shouldBeEmpty ? { ...held, emptySweptAt: now, lateUntil: lateAfter(held, now) } : held;
  const state = { ...before, record, memo: { ...before.memo, sweptAt: now } };
  if (answer.kind === "failed") {
    return { ...state, memo: { ...state.memo, sweepError: answer.failure.text } };
  }
  const { machines: unknown, others } = machinesByWorker(state, answer.items);
  const sightings: Record<string, Sighting> = {};
  const strangers: string[] = [];
  const see = (worker: string, seen: Partial<Sighting>) => {
    const { provider } = record.config;
    sightings[worker] = { worker, beganAt: answer.beganAt, consistencyMs, provider, ...seen };
  };
  for (const row of providedWorkers(state)) {
    if (row.phase === "asked") continue;
    const { worker } = row;
    const instance = unknown.get(worker);
    unknown.delete(worker);
    if (instance === undefined && answer.partial !== undefined) continue;
    const missingSince = instance === undefined ? (row.missingSince ?? answer.beganAt) : null;
    if (missingSince !== row.missingSince) state.workers.set(worker, { ...row, missingSince }, now);
    if (instance === undefined) see(worker, { missingSince: missingSince ?? answer.beganAt });
    else {
      const doubles = doublesOf(row, instance, others.get(worker), answer.partial !== undefined);
      const isOther = doubles.some((id) => row.doubles?.includes(id) !== true);
      const isTold = !isOther && doubles.length === (row.doubles?.length ?? 0);
      if (!isTold || isNews(row, instance)) see(worker, { instance, doubles });
      strangers.push(...doubles);
    }
  }
  for (const [worker, instance] of unknown) {
    const known = state.workers.get(worker);
    if (known === undefined && instance.state !== "terminated") continue;
    unknown.delete(worker);
    // It was taken for gone, and lives: its worker takes it into the ledger again.
    const lives = known?.phase === "gone" && known.kind === "cloud" && instance.state !== "terminated";
    if (lives) see(worker, { instance });
  }
  const sweepError = answer.partial === undefined ? null : `a listing is not whole: ${answer.partial}`;
  return foldUnknown({ ...state, memo: { ...state.memo, sweepError, sightings } }, unknown, strangers, now);
}

/** Which other machines have the worker's name. One that a partial listing does not show may be there. */
function doublesOf(
  { doubles = [] }: WorkerRow,
  { id }: Instance,
  seen: readonly string[] = [],
  isPartial: boolean,
): string[] {
  const all = new Set(isPartial ? [...seen, ...doubles] : seen);
  all.delete(id);
  return [...all].sort().slice(0, MAX_STRANGERS_SHOWN);
}

/** Until when a machine may still appear late, after a listing of a pool that should be empty. */
function lateAfter({ lateUntil }: PoolRecord, now: Instant): Instant | undefined {
  return lateUntil !== undefined && now < lateUntil ? lateUntil : undefined;
}

/**
 * The listed machines by their workers. Of two of one worker, the one that the worker knows (case 1); that
 * another one has ended says nothing of that. `others`: those that live besides it, by id.
 */
function machinesByWorker({ workers }: ReadonlyConfigured, items: readonly Instance[]) {
  const machines = new Map<string, Instance>();
  const others = new Map<string, string[]>();
  for (const instance of items) {
    const worker = instance.tags[WORKER_TAG] ?? instance.name;
    const known = workers.get(worker)?.instance ?? null;
    if (instance.state === "terminated" && known !== null && instance.id !== known) continue;
    const other = machines.get(worker);
    const better = other === undefined || isBetter(instance, other, known);
    if (better) machines.set(worker, instance);
    const left = better ? other : instance;
    if (left === undefined || left.state === "terminated") continue;
    others.set(worker, [...(others.get(worker) ?? []), left.id]);
  }
  return { machines, others };
}

/** One that lives before one that does not; of those, the one that is known. */
function isBetter(one: Instance, other: Instance, known: string | null): boolean {
  if ((one.state === "terminated") !== (other.state === "terminated")) return other.state === "terminated";
  return one.id === known;
}

/** What a machine does not come back from by itself (decisions/workers.md#d28). */
const ENDING: readonly LifecycleState[] = ["stopping", "stopped", "error"];

/** Whether a listing tells a worker what it does not know, or must know again until it has acted on it. */
function isNews(row: WorkerRow, instance: Instance): boolean {
  if (instance.id !== row.instance || instance.state === "terminated" || row.phase === "shutdown")
    return true;
  if (instance.price !== undefined && instance.price !== row.toldPrice?.price) return true;
  return ENDING.includes(instance.state) && row.idleBehavior === "run";
}
