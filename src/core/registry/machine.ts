// What does the registry hold: which pools exist, which tokens are valid, and which issuers are trusted?
import type { Instant, Machine } from "../../shared/machine.ts";
import { earliest } from "../../shared/machine.ts";
import type { Letter } from "../inbox.ts";
import { ofRecord } from "../invariants.ts";
import { ownValue } from "../own-value.ts";
import type { Rows } from "../rows.ts";
import {
  type ExchangeEvent,
  endExchangesOf,
  exchangeForgottenAt,
  foldExchange,
  foldExchangeTime,
  tableOf,
} from "./exchanged.ts";
import {
  configurationsOwed,
  foldPools,
  type PoolEntry,
  type PoolsEvent,
  type PoolsState,
  poolAskedAt,
  type RegistryRecord,
} from "./pools.ts";
import { foldKey, foldKeyTime, type KeyEvent, keyDeletedAt, type SigningKeyRow } from "./signing-keys.ts";
import { foldToken, foldTokenTime, type TokenEvent, type TokenRow, tokenExpiresAt } from "./tokens.ts";
import { foldTrust, foldTrustTime, type TrustEvent, type TrustRow, trustExpiresAt } from "./trust.ts";

export interface RegistryState extends PoolsState {
  tokens: Rows<TokenRow>;
  /** The tokens that were given for tokens of other issuers (oidc.md#exchange). */
  exchanged: Rows<TokenRow>;
  trust: Rows<TrustRow>;
  /** The keys with which Drover signs the tokens of its runs (oidc.md#rotation). */
  keys: Rows<SigningKeyRow>;
}

export type RegistryEvent =
  | { type: "tick" }
  | PoolsEvent
  | TokenEvent
  | ExchangeEvent
  | TrustEvent
  | KeyEvent;

export type RegistryMessage = Letter<"pool", "configure">;

/** The state with its changed pools. If nothing has changed, this is the same state. */
function withPools(state: RegistryState, pools: PoolsState): RegistryState {
  return pools === state ? state : { ...state, ...pools };
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
    foldExchangeTime(state.exchanged, now);
    foldTrustTime(state.trust, now);
    foldKeyTime(state.keys, now);
    switch (event.type) {
      case "tick":
        return state;
      case "put":
      case "remove":
      case "configure_answered":
        return withPools(state, foldPools(state, event, now));
      case "token_created":
        foldToken(state.tokens, event, now);
        return state;
      case "token_rotated":
      case "token_revoked":
      case "token_used":
        foldToken(tableOf(state, event.id), event, now);
        return state;
      case "token_exchanged":
        foldExchange(state.exchanged, event, now);
        return state;
      case "key_made":
        foldKey(state.keys, event, now);
        return state;
      case "trust_put":
        foldTrust(state.trust, event, now);
        return state;
      case "trust_removed":
        foldTrust(state.trust, event, now);
        endExchangesOf(state.exchanged, event.name, event.by, now);
        return state;
    }
  },

  due: configurationsOwed,

  wakeAt: (state) =>
    earliest(
      poolAskedAt(state),
      tokenExpiresAt(state.tokens),
      exchangeForgottenAt(state.exchanged),
      trustExpiresAt(state.trust),
      keyDeletedAt(state.keys),
    ),
};
