// What does the registry want of each pool, and what has the pool accepted?
import type { PoolConfig } from "../../schema/pool.ts";
import type { ErrorCode } from "../../shared/errors.ts";
import { earliest, type Instant } from "../../shared/machine.ts";
import type { Exported } from "../audit/export.ts";
import type { Answered, Letter } from "../inbox.ts";
import type { ConfigureAnswer, LeftBehind, Removal } from "../messages.ts";
import { ownValue } from "../own-value.ts";

/** A pool: the wanted configuration, and the configuration that the pool last accepted. */
export interface PoolEntry {
  revision: number;
  seed: string;
  wanted: PoolConfig;
  accepted: { revision: number; config: PoolConfig } | null;
  /** How to delete the pool. Absent: the pool stays. */
  remove?: Removal;
  /** For a forced deletion: who forced it, and the machines that may be left behind. */
  by?: string | undefined;
  left?: LeftBehind[];
  /** The pool is deleted. The entry stays, so that a new pool of this name continues revision and seed. */
  gone?: true;
}

/** What the registry stores as one value. */
export interface RegistryRecord {
  pools: Record<string, PoolEntry>;
  /** How far the registry's part of the audit log is exported. Absent: it has no entry yet. */
  exported?: Exported;
  /**
   * Tokens and trust rules that ended until then may be forgotten (backup.md#ended). Absent: none was.
   */
  forgotten?: Instant;
}

/** The part of the registry's state that is about pools. */
export interface PoolsState {
  record: RegistryRecord | null;
  /** By pool: why its latest configuration was refused, for the request that waits for the pool's answer. */
  refusals: Record<string, { revision: number; code: ErrorCode; text: string }>;
  /** For each pool that is being deleted: when to ask it again. Absent: now. */
  askAt?: Record<string, Instant>;
}

export type PoolsEvent =
  | { type: "put"; pool: string; config: PoolConfig; seed: string; by: string }
  | { type: "remove"; pool: string; how: Removal; by: string }
  | Answered<"pool", "configure">;

/** How often a pool that is being deleted is asked whether it is empty. */
const ASK_DRAINED_MS = 10_000;

/** Applies a request for a pool, or the answer of a pool. Returns the new state. */
export function foldPools(state: PoolsState, event: PoolsEvent, now: Instant): PoolsState {
  switch (event.type) {
    case "put":
      return foldPut(state, event);
    case "remove":
      return foldRemove(state, event);
    case "configure_answered":
      return foldAnswer(state, event.sent.pool, event.answer, now);
  }
}

/** The configurations that are owed to their pools (messages.md#self-repair). */
export function configurationsOwed(state: PoolsState, now: Instant): Letter<"pool", "configure">[] {
  const owed: Letter<"pool", "configure">[] = [];
  for (const [pool, entry] of Object.entries(state.record?.pools ?? {})) {
    if (entry.gone === true) continue;
    const { revision, wanted: config, seed, remove, by } = entry;
    const isKnown = entry.accepted?.revision === revision;
    if (isKnown && (remove === undefined || now < (ownValue(state.askAt, pool) ?? 0))) continue;
    const body = { pool, revision, config, seed, ...(remove === undefined ? {} : { remove, by }) };
    owed.push({ object: "pool", to: pool, kind: "configure", repeatedBy: "self", body });
  }
  return owed;
}

/** When a pool that is being deleted is asked again. */
export function poolAskedAt({ record, askAt = {} }: PoolsState): Instant | undefined {
  const drained = Object.entries(record?.pools ?? {}).filter(([, { remove, gone }]) => remove && !gone);
  return earliest(...drained.map(([pool]) => ownValue(askAt, pool)));
}

/** The pools that exist, by name. */
export function poolsOf({ record }: Pick<PoolsState, "record">): [string, PoolEntry][] {
  return Object.entries(record?.pools ?? {}).filter(([, { gone }]) => gone !== true);
}

function foldPut(state: PoolsState, event: Extract<PoolsEvent, { type: "put" }>): PoolsState {
  const pools = state.record?.pools ?? {};
  const before = pools[event.pool];
  const entry = {
    revision: (before?.revision ?? 0) + 1,
    seed: before?.seed ?? event.seed,
    wanted: event.config,
    accepted: before?.accepted ?? null,
  };
  return { ...state, record: { ...state.record, pools: { ...pools, [event.pool]: entry } } };
}

/**
 * Deletes a pool by a new configuration with `minInstances` 0. Only a forced deletion replaces a deletion
 * that drains the pool. No deletion replaces a forced deletion.
 */
function foldRemove(
  state: PoolsState,
  { pool, how, by }: Extract<PoolsEvent, { type: "remove" }>,
): PoolsState {
  const pools = state.record?.pools ?? {};
  const entry = ownValue(pools, pool);
  if (entry === undefined || entry.gone === true || isOnItsWay(entry, how)) return state;
  const wanted = { ...entry.wanted, minInstances: 0 };
  const next = { ...entry, revision: entry.revision + 1, wanted, remove: how, by };
  return { ...state, record: { ...state.record, pools: { ...pools, [pool]: next } } };
}

function isOnItsWay({ remove }: PoolEntry, how: Removal): boolean {
  return remove === "forced" || (remove === "drained" && how !== "forced");
}

/**
 * Applies a pool's answer. If the pool refused the configuration, the last accepted configuration replaces
 * it. If the pool has never accepted a configuration, its entry is removed.
 */
function foldAnswer(state: PoolsState, pool: string, answer: ConfigureAnswer, now: Instant): PoolsState {
  const pools = state.record?.pools ?? {};
  const entry = ownValue(pools, pool);
  if (entry === undefined || answer.revision !== entry.revision) return state;
  if (answer.kind === "configured") {
    const isKnown = entry.accepted?.revision === entry.revision;
    const askAt = { ...state.askAt, [pool]: now + ASK_DRAINED_MS };
    const isGone = entry.remove !== undefined && answer.removed === true;
    if (isKnown && !isGone) return { ...state, askAt };
    const accepted = { revision: entry.revision, config: entry.wanted };
    const left = answer.left === undefined ? {} : { left: answer.left };
    const next = { ...entry, accepted, ...left, ...(isGone ? { gone: true as const } : {}) };
    return { ...state, askAt, record: { ...state.record, pools: { ...pools, [pool]: next } } };
  }
  const refusals = { ...state.refusals, [pool]: answer };
  const { [pool]: _refused, ...others } = pools;
  if (entry.accepted === null) return { ...state, record: { ...state.record, pools: others }, refusals };
  const { remove: _remove, by: _by, left: _left, ...stays } = entry;
  const restored = {
    ...stays,
    wanted: entry.accepted.config,
    accepted: { ...entry.accepted, revision: entry.revision },
  };
  return { ...state, record: { ...state.record, pools: { ...pools, [pool]: restored } }, refusals };
}
