import type { PoolConfig } from "../../schema/pool.ts";
import type { ErrorCode } from "../errors.ts";
import type { Envelope, Machine } from "../machine.ts";
import type { Configure, ConfigureAnswer } from "../messages.ts";

/** A pool as the registry knows it: what is wanted, and what the pool has last accepted. */
export interface PoolEntry {
  revision: number;
  seed: string;
  wanted: PoolConfig;
  accepted: { revision: number; config: PoolConfig } | null;
}

export interface RegistryRecord {
  pools: Record<string, PoolEntry>;
}

export interface RegistryState {
  record: RegistryRecord | null;
  /** By pool: why its latest configuration was refused, for whoever waits to hear. */
  refusals: Record<string, { revision: number; code: ErrorCode; text: string }>;
}

export type RegistryEvent =
  | { type: "tick" }
  | { type: "put"; pool: string; config: PoolConfig; seed: string }
  | { type: "configured"; pool: string; answer: ConfigureAnswer };

export type RegistryMessage = Envelope & { kind: "configure"; body: Configure };

/** What the registry decides: it owns the pools' configurations, and repeats each until its pool has it. */
export const registryMachine: Machine<RegistryState, RegistryEvent, RegistryMessage> = {
  apply(state, event) {
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
      case "configured":
        return foldAnswer(state, event.pool, event.answer);
    }
  },

  due(state) {
    const owed: RegistryMessage[] = [];
    for (const [pool, entry] of Object.entries(state.record?.pools ?? {})) {
      if (entry.accepted?.revision === entry.revision) continue;
      const body = { pool, revision: entry.revision, config: entry.wanted, seed: entry.seed };
      owed.push({ to: pool, kind: "configure", repeatedBy: "self", body });
    }
    return owed;
  },

  wakeAt() {
    return undefined;
  },
};

/** A refused configuration is taken back: what the pool has is wanted again, or the pool was never one. */
function foldAnswer(state: RegistryState, pool: string, answer: ConfigureAnswer): RegistryState {
  const pools = state.record?.pools ?? {};
  const entry = pools[pool];
  if (entry === undefined || answer.revision !== entry.revision) return state;
  if (answer.kind === "configured") {
    const accepted = { revision: entry.revision, config: entry.wanted };
    return { ...state, record: { pools: { ...pools, [pool]: { ...entry, accepted } } } };
  }
  const refusals = { ...state.refusals, [pool]: answer };
  const { [pool]: _refused, ...others } = pools;
  if (entry.accepted === null) return { record: { pools: others }, refusals };
  const restored = {
    ...entry,
    wanted: entry.accepted.config,
    accepted: { ...entry.accepted, revision: entry.revision },
  };
  return { record: { pools: { ...pools, [pool]: restored } }, refusals };
}
