import type { Instant } from "../../shared/machine.ts";
import type { Configure, ConfigureAnswer } from "../messages.ts";
import { isElsewhere } from "./config-diff.ts";
import { forcedBy, tellElsewhere } from "./forced.ts";
import { learnedAfterConfigure } from "./plan/learned.ts";
import { holdsAfterConfigure } from "./provider/hold-offs.ts";
import { providedWorkers, type WorkerRow } from "./record.ts";
import { isEmpty, isRemoved, type PoolState, type ReadonlyPool } from "./state.ts";

/**
 * Takes a configuration, unless it would lose sight of machines that the present provider has, or of a pool
 * that is not empty. That a pool is deleted is a part of its configuration: the next one takes that back.
 */
export function foldConfigure(state: PoolState, configure: Configure, now: Instant): PoolState {
  const { record } = state;
  const { pool, revision, config, seed, remove } = configure;
  if (record === null) {
    if (remove !== undefined) return state;
    const fresh = { nextWorker: 1, holds: [], hold: null, emptySweptAt: now };
    return { ...state, record: { name: pool, revision, config, seed, ...fresh } };
  }
  if (revision <= record.revision) return state;
  const refused = { ...state, memo: { ...state.memo, refusedRevision: revision } };
  if (remove === "empty" && !isEmpty(state)) return refused;
  const moves = isElsewhere(record.config.provider, config.provider);
  if (moves && [...providedWorkers(state)].some(mayHaveMachine)) return refused;
  if (moves) tellElsewhere(state, now);
  const memo = { ...state.memo, lookAt: undefined };
  const { leaving: _leaving, forced: _forced, learned: _learned, ...stays } = record;
  const known = { holds: holdsAfterConfigure(record, config), ...learnedAfterConfigure(record, config) };
  const next = { ...stays, revision, config, ...known };
  if (remove === undefined) return { ...state, memo, record: next };
  const forced = remove === "forced" ? { forced: forcedBy(state, configure) } : {};
  return { ...state, memo, record: { ...next, leaving: true, ...forced } };
}

/**
 * Whether the present provider has a machine of this worker, as far as is known, or has not answered yet. One
 * whose create has failed, and of which no listing has shown a machine, is no reason to keep a wrong address.
 */
function mayHaveMachine({ phase, turn, instance, failure }: WorkerRow): boolean {
  if (phase === "asked" && turn === undefined) return false;
  return instance !== null || failure === undefined;
}

/** What the registry is answered: the pool's present view of what is configured (rule R6). */
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
