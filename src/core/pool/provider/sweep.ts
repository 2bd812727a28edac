// What does a listing of the provider's machines prove?
import type { Instance, LifecycleState } from "../../../schema/provider.ts";
import { WORKER_TAG } from "../../../shared/cloud/tags.ts";
import { MAX_STRANGERS_SHOWN } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { Sighting } from "../../messages.ts";
import type { Gap, ListAnswer } from "../../provider-answers.ts";
import { type PriceNews, withPrices } from "../plan/prices.ts";
import { type KnownAccount, providedWorkers, type WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { judgeAccount } from "./account.ts";
import { holdAfterList, holdsAfterRotation } from "./hold-offs.ts";
import { foldUnknown } from "./orphans.ts";

/** A listing, as the pool gets it. */
export interface Listing {
  answer: ListAnswer;
  /** The listing may not show the effects of calls that were made within this time before it began. */
  consistencyMs: Millis;
  /** A digest of the credentials that were used. Absent: unknown. */
  credentials?: string;
  /** What the provider says that the configured types cost. Absent: it was not asked, or could not say. */
  prices?: PriceNews;
  /** How long the provider took for it. Absent: it was not asked. */
  tookMs?: Millis;
}

/**
 * Applies a listing: notes the news for each worker, and adopts machines without a worker. A failed listing
 * proves nothing, and a partial listing does not prove that a machine is gone.
 */
export function foldListing(
  before: Configured,
  { answer, consistencyMs, credentials, prices, tookMs }: Listing,
  now: Instant,
): Configured {
  const failure = answer.kind === "failed" ? answer.failure : null;
  const priced = withPrices(before.record, prices);
  const held = holdsAfterRotation(holdAfterList(priced, answer, now), credentials);
  const shouldBeEmpty = failure === null && providedWorkers(before).next().done === true;
  // Until this time, a machine may still appear although the pool should have none.
  const lateUntil = now < (held.lateUntil ?? 0) ? held.lateUntil : undefined;
  const record = shouldBeEmpty ? { ...held, emptySweptAt: now, lateUntil } : held;
  const swept = { ...before, record, memo: { ...before.memo, sweptAt: now } };
  swept.memo.counting.listed(answer, tookMs);
  if (answer.kind === "failed") {
    const { unknownCode } = answer.failure;
    if (unknownCode !== undefined) swept.memo.counting.unknownCode(unknownCode);
    return { ...swept, memo: { ...swept.memo, sweepError: answer.failure.text } };
  }
  const judgment = judgeAccount({ ...before, record }, answer, credentials, now);
  const gap = judgment.gap ?? answer.partial;
  const state = withAccount(swept, judgment.account);
  const { machines: unknown, others } = machinesByWorker(state, answer.items);
  const sightings: Record<string, Sighting> = {};
  const strangers: string[] = [];
  const note = (worker: string, seen: Partial<Sighting>) => {
    const { provider } = record.config;
    sightings[worker] = { worker, beganAt: answer.beganAt, consistencyMs, provider, ...seen };
  };
  for (const row of providedWorkers(state)) {
    if (row.phase === "asked") continue;
    const { worker } = row;
    const instance = unknown.get(worker);
    unknown.delete(worker);
    const isPartial = isInGap(gap, row.zone);
    const doubles = doublesOf(row, others.get(worker), isPartial);
    strangers.push(...doubles);
    if (instance === undefined && isPartial) continue;
    const missingSince = instance === undefined ? (row.missingSince ?? answer.beganAt) : null;
    if (missingSince !== row.missingSince) state.workers.set(worker, { ...row, missingSince }, now);
    const isOther = doubles.some((id) => !row.doubles.includes(id));
    const isKnown = !isOther && doubles.length === row.doubles.length;
    if (instance === undefined) note(worker, { missingSince: missingSince ?? answer.beganAt, doubles });
    else if (!isKnown || isNews(row, instance)) note(worker, { instance, doubles });
  }
  for (const [worker, instance] of unknown) {
    const known = state.workers.get(worker);
    if (known === undefined && instance.state !== "terminated") continue;
    unknown.delete(worker);
    // The worker is marked gone, but its machine lives: the worker must destroy the machine again.
    const lives = known?.phase === "gone" && known.kind === "cloud" && instance.state !== "terminated";
    if (lives) note(worker, { instance });
  }
  const sweepError = gap === undefined ? null : `a listing is incomplete: ${gap.why}`;
  return foldUnknown({ ...state, memo: { ...state.memo, sweepError, sightings } }, unknown, strangers, now);
}

/** Whether a listing with this gap proves nothing about the absence of a machine in a zone. */
function isInGap(gap: Gap | undefined, zone: string | null): boolean {
  if (gap === undefined) return false;
  return gap.zones === undefined || zone === null || gap.zones.includes(zone);
}

/** Stores what is known of the account, if that has changed. */
function withAccount(state: Configured, account: KnownAccount | undefined): Configured {
  const { record } = state;
  if (account === undefined || JSON.stringify(account) === JSON.stringify(record.account)) return state;
  return { ...state, record: { ...record, account } };
}

/**
 * The ids of other machines under the worker's name. Known ids are kept after a partial listing, because the
 * listing may have omitted their machines.
 */
function doublesOf(
  { doubles, instance }: WorkerRow,
  seen: readonly string[] = [],
  isPartial: boolean,
): string[] {
  const all = new Set(isPartial ? [...seen, ...doubles] : seen);
  if (instance !== null) all.delete(instance);
  return [...all].sort().slice(0, MAX_STRANGERS_SHOWN);
}

/**
 * The listed machines by worker. If the id of a worker's machine is known, only this machine counts, even if
 * another machine is listed under the worker's name (cases.md#case-1): neither the life nor the end of
 * another machine proves anything. If no id is known, a living machine takes precedence over a terminated
 * machine. `others`: the ids of further living machines.
 */
function machinesByWorker({ workers }: ReadonlyConfigured, items: readonly Instance[]) {
  const machines = new Map<string, Instance>();
  const others = new Map<string, string[]>();
  for (const instance of items) {
    const worker = instance.tags[WORKER_TAG] ?? instance.name;
    const row = workers.get(worker);
    const known = row === undefined || row.phase === "gone" ? null : row.instance;
    const other = machines.get(worker);
    const isOwn =
      known === null ? other === undefined || other.state === "terminated" : instance.id === known;
    if (isOwn) machines.set(worker, instance);
    const left = isOwn ? other : instance;
    if (left === undefined || left.state === "terminated") continue;
    others.set(worker, [...(others.get(worker) ?? []), left.id]);
  }
  return { machines, others };
}

/** States that a machine does not leave by itself (decisions/workers.md#d28). */
const ENDING: readonly LifecycleState[] = ["stopping", "stopped", "error"];

/**
 * Whether a listing shows something new for a worker, or something that must be repeated until the worker has
 * acted.
 */
function isNews(row: WorkerRow, instance: Instance): boolean {
  if (instance.id !== row.instance || instance.state === "terminated" || row.phase === "shutdown")
    return true;
  if (instance.price !== undefined && instance.price !== row.listedPrice?.price) return true;
  return ENDING.includes(instance.state) && row.idleBehavior === "run";
}
