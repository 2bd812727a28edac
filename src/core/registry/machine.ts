// What does the registry hold: which pools exist, and which tokens and browser sessions are valid?
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
import {
  foldSession,
  foldSessionTime,
  type SessionEvent,
  type SessionRow,
  sessionEndsAt,
} from "./sessions.ts";
import { foldToken, foldTokenTime, type TokenEvent, type TokenRow, tokenExpiresAt } from "./tokens.ts";

export interface RegistryState extends PoolsState {
  tokens: Rows<TokenRow>;
  sessions: Rows<SessionRow>;
}

export type RegistryEvent = { type: "tick" } | PoolsEvent | TokenEvent | SessionEvent;

export type RegistryMessage = Letter<"pool", "configure">;

/** The state with its changed pools. If nothing has changed, this is the same state. */
function withPools(state: RegistryState, pools: PoolsState): RegistryState {
  return pools === state ? state : { ...state, ...pools };
}

/**
 * The registry's state machine. It owns the tokens, the browser sessions and the pools' configurations, and
 * sends each configuration until the pool has confirmed it.
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
    foldSessionTime(state.sessions, state.tokens, now);
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
        foldSessionTime(state.sessions, state.tokens, now);
        return state;
      case "session_offered":
      case "session_started":
      case "session_used":
      case "session_ended":
        foldSession(state.sessions, event, now);
        return state;
    }
  },

  due: configurationsOwed,

  wakeAt: (state) =>
    earliest(poolAskedAt(state), tokenExpiresAt(state.tokens), sessionEndsAt(state.sessions)),
};
