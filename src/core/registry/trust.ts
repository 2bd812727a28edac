// Which tokens of which issuers are trusted, and for what (oidc.md#trust-rules)?
import type { TokenLimits } from "../../schema/access/token.ts";
import type { TrustRule } from "../../schema/access/trust.ts";
import type { Scope } from "../../shared/access/scopes.ts";
import { formatDuration } from "../../shared/duration.ts";
import type { DroverError } from "../../shared/errors.ts";
import { earliest, type Instant, type Millis } from "../../shared/machine.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { isFull, keyOf, type Named, tooManyOf } from "./projects.ts";

/** How many trust rules there can be. */
export const MAX_TRUST_RULES = 1_000;

/** A stored trust rule. */
export interface TrustRow {
  name: string;
  project: string;
  /** Another one after each change, so that no token is given by a rule that has changed meanwhile. */
  version: string;
  issuer: string;
  audience: string;
  /** By the name of a claim: the pattern that its value must match. */
  claims: Record<string, string>;
  scopes: Scope[];
  limits: TokenLimits;
  /** Whose budget runs of its tokens draw on, if its limits have one (projects.md#budgets-of-tokens). */
  payer: string;
  /** By the name of a label: the claim whose value every run of the token gets there. */
  labels: Record<string, string>;
  lifetimeMs: Millis;
  createdAt: Instant;
  /** Who made its present version. */
  createdBy: string;
  /** The id of the token that made its present version; null: the break-glass secret (access.md#children). */
  parent: string | null;
  /** When the token of its creator ends, and so the rule (access.md#tokens). */
  expiresAt: Instant | null;
  /** When it ended. Its row stays for a while, so that no backup brings it back (backup.md#ended). */
  at?: Instant;
}

export type TrustEvent =
  | { type: "trust_put"; rule: TrustRow }
  | { type: "trust_removed"; rule: Named; by: string };

/** Whether a rule has not ended. */
export function isLiveRule({ at }: TrustRow): boolean {
  return at === undefined;
}

/** The rule of this name; undefined: there is none, or it has ended. */
export function ruleNamed(rules: ReadonlyRows<TrustRow>, named: Named): TrustRow | undefined {
  const row = rules.get(keyOf(named));
  return row !== undefined && isLiveRule(row) ? row : undefined;
}

/** Applies a change of a rule to the table (oidc.md#trust-rules). */
export function foldTrust(rules: Rows<TrustRow>, event: TrustEvent, now: Instant): void {
  const key = keyOf(event.rule);
  const row = ruleNamed(rules, event.rule);
  if (event.type === "trust_put") rules.set(key, event.rule, now);
  else if (row !== undefined) rules.set(key, { ...row, at: now }, now);
}

/** Ends the rules whose time is over (oidc.md#trust-rules). */
export function foldTrustTime(rules: Rows<TrustRow>, now: Instant): void {
  for (const rule of [...rules.live()]) {
    if (rule.expiresAt !== null && rule.expiresAt <= now) rules.set(keyOf(rule), { ...rule, at: now }, now);
  }
}

/** When the next rule ends. */
export function trustExpiresAt(rules: ReadonlyRows<TrustRow>): Instant | undefined {
  return earliest(...[...rules.live()].map(({ expiresAt }) => expiresAt ?? undefined));
}

/** Why a rule cannot be stored; null: it can. */
export function refusalOfRule(rules: ReadonlyRows<TrustRow>, rule: Named): DroverError | null {
  const { project } = rule;
  if (ruleNamed(rules, rule) !== undefined || !isFull([...rules.live()], MAX_TRUST_RULES, project))
    return null;
  return tooManyOf(["trust rules", "delete those that are not used any more"], MAX_TRUST_RULES, project);
}

/** A rule as its owner sees it. */
export function ruleView(row: TrustRow): TrustRule {
  const { version: _, payer: _payer, at: _at, ...shown } = row;
  const { lifetimeMs, createdAt, expiresAt, ...rule } = shown;
  return {
    ...rule,
    lifetime: formatDuration(lifetimeMs),
    createdAt: iso(createdAt),
    expiresAt: isoOrNull(expiresAt),
  };
}

/** The rules of a project (null: of all), by name. */
export function ruleRows(rules: ReadonlyRows<TrustRow>, project: string | null): TrustRow[] {
  return [...rules.live()]
    .filter((rule) => project === null || rule.project === project)
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}
