// What has a token made that outlives its revocation (access.md#children)?
import type { TokenChildren } from "../../schema/access/token.ts";
import type { Instant } from "../../shared/machine.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { endExchangesOf, tableOf } from "./exchanged.ts";
import { keyOf } from "./projects.ts";
import { foldToken, MAX_TOKENS, stateOf, type TokenRow } from "./tokens.ts";
import { foldTrust, type TrustRow } from "./trust.ts";

interface Tables {
  tokens: ReadonlyRows<TokenRow>;
  exchanged: ReadonlyRows<TokenRow>;
  trust: ReadonlyRows<TrustRow>;
}

interface ChangeableTables extends Tables {
  tokens: Rows<TokenRow>;
  exchanged: Rows<TokenRow>;
  trust: Rows<TrustRow>;
}

/** The tokens and trust rules that a token has made, also indirectly, and that are valid now. */
interface Children {
  tokens: TokenRow[];
  rules: TrustRow[];
}

/**
 * What a token has made, by itself or by what it has made, and what is valid now (access.md#children). A
 * token that has ended in between does not hide what it has made itself.
 */
export function childrenOf({ tokens, exchanged, trust }: Tables, id: string, now: Instant): Children {
  const ended = [...tokens.ended(MAX_TOKENS)].map(([, row]) => row);
  const made = groupedBy([...tokens.live(), ...ended], ({ parent }) => parent);
  const given = groupedBy([...exchanged.live()], ({ project, given: by }) =>
    by === null ? null : keyOf({ project, name: by.rule }),
  );
  const rulesOf = groupedBy([...trust.live()], ({ parent }) => parent);
  const found: Children = { tokens: [], rules: [] };
  const seen = new Set([id]);
  const open = [id];
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    const rules = rulesOf.get(parent) ?? [];
    found.rules.push(...rules);
    const children = [...(made.get(parent) ?? []), ...rules.flatMap((rule) => given.get(keyOf(rule)) ?? [])];
    for (const child of children) {
      if (seen.has(child.id)) continue;
      seen.add(child.id);
      open.push(child.id);
      if (stateOf(child, now) === "active") found.tokens.push(child);
    }
  }
  return found;
}

function groupedBy<Row>(rows: readonly Row[], groupOf: (row: Row) => string | null): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = groupOf(row);
    if (key !== null) groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return groups;
}

/** Ends what a token has made (access.md#children). */
export function endChildren(tables: ChangeableTables, id: string, by: string, now: Instant): void {
  const { tokens, rules } = childrenOf(tables, id, now);
  for (const { project, name } of rules) {
    const rule = { project, name };
    foldTrust(tables.trust, { type: "trust_removed", rule, by }, now);
    endExchangesOf(tables.exchanged, rule, by, now);
  }
  for (const child of tokens) {
    const event = { type: "token_revoked", id: child.id, by, withChildren: false } as const;
    foldToken(tableOf(tables, child.id), event, now);
  }
}

/** What a token has made, for its owner: ids and names. */
export function childrenView({ tokens, rules }: Children): TokenChildren {
  return {
    tokens: tokens.map(({ id, name }) => ({ id, name })),
    trustRules: rules.map(({ name }) => name),
  };
}
