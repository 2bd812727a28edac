// When does a pool accept a new configuration, or its own deletion?
import type { Instant } from "../../shared/machine.ts";
import { nothingExported } from "../audit/export.ts";
import type { Configure, ConfigureAnswer } from "../messages.ts";
import { isOtherProvider } from "./config-diff.ts";
import { forcedDeletion, markElsewhere } from "./forced.ts";
import { firstHour } from "./past/hours.ts";
import { enginelessAfterConfigure } from "./plan/seen/engineless.ts";
import { learnedAfterConfigure } from "./plan/seen/learned.ts";
import { markUsed } from "./projects.ts";
import { holdsAfterConfigure } from "./provider/hold-offs.ts";
import { NO_TALLY, providedWorkers, type WorkerRow } from "./record.ts";
import { isEmpty, isRemoved, type PoolState, type ReadonlyPool } from "./state.ts";

/**
 * Applies a configuration. Refuses to change the provider if that would abandon machines, and a deletion of
 * the kind `empty` while the pool has runs or machines. A deletion is part of a configuration. The next
 * configuration without a deletion cancels the deletion.
 */
export function foldConfigure(state: PoolState, configure: Configure, now: Instant): PoolState {
  const { record } = state;
  const { pool, revision, config, seed, remove } = configure;
  if (record === null) {
    if (remove !== undefined) return state;
    const exported = nothingExported(now);
    const fresh = { nextWorker: 1, holds: [], tally: NO_TALLY, emptySweptAt: now, exported, followers: {} };
    const hour = firstHour(now);
    return { ...state, record: { name: pool, revision, config, seed, ...fresh, hour } };
  }
  if (revision <= record.revision) return state;
  const refused = { ...state, memo: { ...state.memo, refusedRevision: revision } };
  if (remove === "empty" && !isEmpty(state)) return refused;
  const moves = isOtherProvider(record.config.provider, config.provider);
  if (moves && [...providedWorkers(state)].some(mayHaveMachine)) return refused;
  if (moves) markElsewhere(state, now);
  markUsed(state.workers, record.config, config, now);
  const memo = { ...state.memo, lookAt: undefined };
  const { leaving: _leaving, forced: _forced, learned: _learned, learnedGpus: _gpus, ...others } = record;
  const { engineless: _engineless, ...rest } = others;
  const { prices, pricesAsked, ...stays } = rest;
  const holds = holdsAfterConfigure(record, config);
  const priced = moves || prices === undefined ? {} : { prices, pricesAsked };
  const learned = { ...learnedAfterConfigure(record, config), ...enginelessAfterConfigure(record, config) };
  const known = { holds, ...priced, ...learned };
  const next = { ...stays, revision, config, ...known };
  if (remove === undefined) return { ...state, memo, record: next };
  const forced = remove === "forced" ? { forced: forcedDeletion(state, configure) } : {};
  return { ...state, memo, record: { ...next, leaving: true, ...forced } };
}

/**
 * Whether the present provider may have this worker's machine. A worker does not count if its create call
 * failed and no listing shows its machine. If such workers counted, a wrong address of the provider could
 * never be corrected.
 */
function mayHaveMachine({ phase, turn, instance, failure }: WorkerRow): boolean {
  if (phase === "asked" && turn === undefined) return false;
  return instance !== null || failure === null;
}

/** The answer to the registry: the pool's present configuration (rule R6). */
export function answerConfigure(state: ReadonlyPool, { revision, remove }: Configure): ConfigureAnswer {
  const { record, memo } = state;
  if (record === null)
    return { kind: "configured", revision: remove === undefined ? 0 : revision, removed: true };
  if (memo.refusedRevision === revision) {
    const text =
      remove === undefined
        ? "the provider's kind and url cannot change while the pool has machines; drain them first"
        : "the pool has runs that have not ended, or machines; end them first, or let the deletion drain it";
    return { kind: "refused", revision, code: "pool_in_use", text };
  }
  const left = record.forced === undefined ? {} : { left: record.forced.left };
  const answer: ConfigureAnswer = { kind: "configured", revision: record.revision, ...left };
  return isRemoved(state) ? { ...answer, removed: true } : answer;
}
