// Which pools exist, and which configuration should each have?
import type { PoolConfig } from "../../schema/pool.ts";
import type { ErrorCode } from "../../shared/errors.ts";
import { earliest, type Instant, type Machine } from "../../shared/machine.ts";
import type { Answered, Letter } from "../inbox.ts";
import { ofRecord } from "../invariants.ts";
import type { ConfigureAnswer, LeftBehind, Removal } from "../messages.ts";
import { ownValue } from "../own-value.ts";

/** A pool: the wanted configuration, and the one that the pool last accepted. */
export interface PoolEntry {
  revision: number;
  seed: string;
  wanted: PoolConfig;
  accepted: { revision: number; config: PoolConfig } | null;
  /** How to delete it. Absent: keep it. */
  remove?: Removal;
  /** For a forced deletion: who forced it, and the machines that may be left behind. */
  by?: string | undefined;
  left?: LeftBehind[];
  /** The pool is deleted. The entry stays, so that a new pool of this name continues revision and seed. */
  gone?: true;
}

export interface RegistryRecord {
  pools: Record<string, PoolEntry>;
}

export interface RegistryState {
  record: RegistryRecord | null;
  /** By pool: why its latest configuration was refused, for the request that waits for it. */
  refusals: Record<string, { revision: number; code: ErrorCode; text: string }>;
  /** For each pool that is being deleted: when to ask it again. Absent: now. */
  askAt?: Record<string, Instant>;
}

export type RegistryEvent =
  | { type: "tick" }
  | { type: "put"; pool: string; config: PoolConfig; seed: string }
  | { type: "remove"; pool: string; how: Removal; by?: string | undefined }
  | Answered<"pool", "configure">;

export type RegistryMessage = Letter<"pool", "configure">;

/** How often a pool that is being deleted is asked whether it is empty. */
const ASK_DRAINED_MS = 10_000;

/** The registry's state machine. It owns the pools' configurations, and sends each until the pool has it. */
export const registryMachine: Machine<RegistryState, RegistryEvent, RegistryMessage> = {
  name: "registry",
  invariants: [
    ofRecord<RegistryRecord>("rules.md#r1", (before, { pools }) => {
      const isLost = ([pool, { accepted, revision }]: [string, PoolEntry]) =>
        (ownValue(pools, pool)?.revision ?? (accepted === null ? revision : 0)) < revision;
      const lost = Object.entries(before.pools).find(isLost);
      return lost && `pool ${lost[0]} had revision ${lost[1].revision}`;
    }),
  ],

  apply(state, event, now) {
    const pools = state.record?.pools ?? {};
    switch (event.type) {
      case "tick":
        return state;
      case "put": {
        const before = pools[event.pool];
        const revision = (before?.revision ?? 0) + 1;
        const entry = {
          revision,
          seed: before?.seed ?? event.seed,
          wanted: event.config,
          accepted: before?.accepted ?? null,
        };
        return { ...state, record: { pools: { ...pools, [event.pool]: entry } } };
      }
      case "remove":
        return foldRemove(state, event);
      case "configure_answered":
        return foldAnswer(state, event.sent.pool, event.answer, now);
    }
  },

  due(state, now) {
    const owed: RegistryMessage[] = [];
    for (const [pool, entry] of Object.entries(state.record?.pools ?? {})) {
      if (entry.gone === true) continue;
      const { revision, wanted: config, seed, remove, by } = entry;
      const isKnown = entry.accepted?.revision === revision;
      if (isKnown && (remove === undefined || now < (ownValue(state.askAt, pool) ?? 0))) continue;
      const body = { pool, revision, config, seed, ...(remove === undefined ? {} : { remove, by }) };
      owed.push({ object: "pool", to: pool, kind: "configure", repeatedBy: "self", body });
    }
    return owed;
  },

  wakeAt({ record, askAt = {} }) {
    const drained = Object.entries(record?.pools ?? {}).filter(([, { remove, gone }]) => remove && !gone);
    return earliest(...drained.map(([pool]) => ownValue(askAt, pool)));
  },
};

/** The pools that exist, by name. */
export function poolsOf({ record }: RegistryState): [string, PoolEntry][] {
  return Object.entries(record?.pools ?? {}).filter(([, { gone }]) => gone !== true);
}

/**
 * Deletes a pool by a new configuration that keeps no machine warm. A drain in progress is replaced only by a
 * forced deletion, and a forced deletion by none.
 */
function foldRemove(
  state: RegistryState,
  { pool, how, by }: Extract<RegistryEvent, { type: "remove" }>,
): RegistryState {
  const pools = state.record?.pools ?? {};
  const entry = ownValue(pools, pool);
  if (entry === undefined || entry.gone === true || isOnItsWay(entry, how)) return state;
  const wanted = { ...entry.wanted, minInstances: 0 };
  const next = { ...entry, revision: entry.revision + 1, wanted, remove: how, by };
  return { ...state, record: { pools: { ...pools, [pool]: next } } };
}

function isOnItsWay({ remove }: PoolEntry, how: Removal): boolean {
  return remove === "forced" || (remove === "drained" && how !== "forced");
}

/**
 * Folds in a pool's answer. If the configuration was refused, the last accepted one replaces it; if none was
 * ever accepted, the pool is removed.
 */
function foldAnswer(
  state: RegistryState,
  pool: string,
  answer: ConfigureAnswer,
  now: Instant,
): RegistryState {
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
    return { ...state, askAt, record: { pools: { ...pools, [pool]: next } } };
  }
  const refusals = { ...state.refusals, [pool]: answer };
  const { [pool]: _refused, ...others } = pools;
  if (entry.accepted === null) return { record: { pools: others }, refusals };
  const { remove: _remove, by: _by, left: _left, ...stays } = entry;
  const restored = {
    ...stays,
    wanted: entry.accepted.config,
    accepted: { ...entry.accepted, revision: entry.revision },
  };
  return { record: { pools: { ...pools, [pool]: restored } }, refusals };
}
