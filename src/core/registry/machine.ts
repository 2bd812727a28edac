// What does the registry hold: which pools exist, and which tokens are valid?
import type { Instant, Machine } from "../../shared/machine.ts";
import { earliest } from "../../shared/machine.ts";
import type { NewEntry } from "../audit/entry.ts";
import {
  type ExportAnswered,
  type ExportMessage,
  exportDue,
  foldExported,
  nothingExported,
} from "../audit/export.ts";
import type { AuditTable } from "../audit/table.ts";
import type { Letter } from "../inbox.ts";
import { ofRecord } from "../invariants.ts";
import { ownValue } from "../own-value.ts";
import type { Rows } from "../rows.ts";
import { registryEntry } from "./audit.ts";
import {
  configurationsOwed,
  foldPools,
  type PoolEntry,
  type PoolsEvent,
  type PoolsState,
  poolAskedAt,
  type RegistryRecord,
} from "./pools.ts";
import { foldToken, foldTokenTime, type TokenEvent, type TokenRow, tokenExpiresAt } from "./tokens.ts";

export interface RegistryState extends PoolsState {
  tokens: Rows<TokenRow>;
  /** Its part of the audit log. */
  audit: AuditTable;
}

export type RegistryEvent = { type: "tick" } | PoolsEvent | TokenEvent | ExportAnswered;

export type RegistryMessage = Letter<"pool", "configure"> | ExportMessage;

/** The state with its changed pools. If nothing has changed, this is the same state. */
function withPools(state: RegistryState, pools: PoolsState): RegistryState {
  return pools === state ? state : { ...state, ...pools };
}

function fold(state: RegistryState, event: RegistryEvent, now: Instant): RegistryState {
  switch (event.type) {
    case "tick":
      return state;
    case "put":
    case "remove":
    case "configure_answered":
      return withPools(state, foldPools(state, event, now));
    case "token_created":
    case "token_rotated":
    case "token_revoked":
    case "token_used":
      foldToken(state.tokens, event, now);
      return state;
    case "audit_exported": {
      const exported = foldExported(state.record?.exported, event);
      return exported === undefined ? state : { ...state, record: { pools: {}, ...state.record, exported } };
    }
  }
}

/** Stores an entry of the audit log in this step. */
function withEntry(state: RegistryState, entry: NewEntry, now: Instant): RegistryState {
  state.audit.add(entry, now);
  if (state.record?.exported !== undefined) return state;
  return { ...state, record: { pools: {}, ...state.record, exported: nothingExported(now) } };
}

/**
 * The registry's state machine. It owns the tokens and the pools' configurations, and sends each
 * configuration until the pool has confirmed it.
 */
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

  apply(state, event, now: Instant) {
    foldTokenTime(state.tokens, now);
    const entry = registryEntry(state, event, now);
    const next = fold(state, event, now);
    return entry === undefined ? next : withEntry(next, entry, now);
  },

  due: (state, now) => [...configurationsOwed(state, now), ...exportDue(state.record?.exported, now)],

  wakeAt: (state) => earliest(poolAskedAt(state), tokenExpiresAt(state.tokens)),
};
