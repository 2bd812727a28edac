// What does the registry hold: which pools exist, which tokens are valid, and which secrets are there?
import type { Instant, Machine } from "../../shared/machine.ts";
import { earliest } from "../../shared/machine.ts";
import type { Letter } from "../inbox.ts";
import { ofRecord } from "../invariants.ts";
import { ownValue } from "../own-value.ts";
import type { Rows } from "../rows.ts";
import {
  configurationsOwed,
  foldPools,
  type PoolEntry,
  type PoolsEvent,
  type PoolsState,
  poolAskedAt,
  type RegistryRecord,
} from "./pools.ts";
import { foldSecret, type Rewrap, rewrapsOwed, type SecretEvent, type SecretsState } from "./secrets.ts";
import { foldToken, foldTokenTime, type TokenEvent, type TokenRow, tokenExpiresAt } from "./tokens.ts";

export interface RegistryState extends PoolsState, SecretsState {
  tokens: Rows<TokenRow>;
}

export type RegistryEvent = { type: "tick" } | PoolsEvent | TokenEvent | SecretEvent;

export type RegistryMessage = Letter<"pool", "configure"> | Rewrap;

/** The state with its changed pools. If nothing has changed, this is the same state. */
function withPools(state: RegistryState, pools: PoolsState): RegistryState {
  return pools === state ? state : { ...state, ...pools };
}

/**
 * The registry's state machine. It owns the tokens, the secrets and the pools' configurations, and sends
 * each configuration until the pool has confirmed it.
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
      case "secret_set":
      case "secret_removed":
      case "secret_handed":
      case "data_key_made":
      case "data_key_rewrapped":
        foldSecret(state, event, now);
        return state;
    }
  },

  due: (state, now) => [...configurationsOwed(state, now), ...rewrapsOwed(state)],

  wakeAt: (state) => earliest(poolAskedAt(state), tokenExpiresAt(state.tokens)),
};
