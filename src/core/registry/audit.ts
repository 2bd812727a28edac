// Which entries of the audit log does the registry write (audit.md#owners)?
import type { PoolConfig } from "../../schema/pool.ts";
import type { Instant } from "../../shared/machine.ts";
import { diffOf } from "../audit/diff.ts";
import type { NewEntry } from "../audit/entry.ts";
import { ownValue } from "../own-value.ts";
import type { ReadonlyRows } from "../rows.ts";
import type { PoolsEvent, RegistryRecord } from "./pools.ts";
import { stateOf, type TokenEvent, type TokenRow } from "./tokens.ts";

type Draft = Omit<NewEntry, "at" | "run" | "result" | "pool"> & Partial<Pick<NewEntry, "pool" | "result">>;

/** The parts of the registry's state that say what an event changes. */
interface Known {
  record: RegistryRecord | null;
  tokens: ReadonlyRows<TokenRow>;
}

type Event = PoolsEvent | TokenEvent | { type: "tick" | "audit_exported" };

/**
 * The entry that belongs to an event, from the state before the event. Undefined: the event changes nothing
 * that the log tells. Another action needs another case here, and nothing else.
 */
export function registryEntry(state: Known, event: Event, now: Instant): NewEntry | undefined {
  const draft = draftOf(state, event, now);
  return draft && { at: now, run: null, pool: null, result: "ok", ...draft };
}

function draftOf({ record, tokens }: Known, event: Event, now: Instant): Draft | undefined {
  switch (event.type) {
    case "put": {
      const { pool, config, by } = event;
      const known = ownValue(record?.pools, pool);
      const stays = known === undefined || known.gone === true ? undefined : known;
      const diff = diffOfConfigs(stays?.wanted, config);
      if (diff.length === 0 && stays?.remove === undefined) return undefined;
      return { by, action: "pool.put", ...ofPool(pool), diff };
    }
    case "remove": {
      const known = ownValue(record?.pools, event.pool);
      if (known === undefined || known.gone === true) return undefined;
      return { by: event.by, action: "pool.delete", ...ofPool(event.pool), reason: `how: ${event.how}` };
    }
    case "configure_answered": {
      const { sent, answer } = event;
      const known = ownValue(record?.pools, sent.pool);
      if (answer.kind !== "refused" || known?.revision !== answer.revision) return undefined;
      const action = known.remove === undefined ? "pool.put" : "pool.delete";
      const { code, text } = answer;
      return {
        by: `pool:${sent.pool}`,
        action,
        ...ofPool(sent.pool),
        result: "denied",
        reason: `${code}: ${text}`,
      };
    }
    case "token_created": {
      const { createdBy, scopes, limits, expiresAt, ...token } = event.token;
      const diff = diffOf({}, { scopes, limits, expiresAt });
      return { by: createdBy, action: "token.create", ...ofToken(token), diff };
    }
    case "token_rotated": {
      const row = activeToken(tokens.get(event.id), now);
      return row && { by: event.by, action: "token.rotate", ...ofToken(row) };
    }
    case "token_revoked": {
      const row = activeToken(tokens.get(event.id), now);
      return row && { by: event.by, action: "token.revoke", ...ofToken(row) };
    }
    default:
      return undefined;
  }
}

function ofPool(pool: string) {
  return { pool, target: { kind: "pool", id: pool } } as const;
}

function ofToken({ id, name }: Pick<TokenRow, "id" | "name">) {
  return { target: { kind: "token", id, name } } as const;
}

function activeToken(row: TokenRow | undefined, now: Instant): TokenRow | undefined {
  return row !== undefined && stateOf(row, now) === "active" ? row : undefined;
}

/** The difference of two configurations, without the secret of their provider (audit.md#entries). */
function diffOfConfigs(before: PoolConfig | undefined, after: PoolConfig) {
  return diffOf(before ?? {}, after, (pointer) => pointer.startsWith("/provider") && mayHoldSecret(pointer));
}

/** Whether the value of a provider's field is, or contains, its secret. */
function mayHoldSecret(pointer: string): boolean {
  return pointer === "/provider" || pointer.startsWith("/provider/secret");
}
