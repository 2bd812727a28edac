// Which tokens were given for tokens of other issuers, and which of those cannot be exchanged again
// (oidc.md#exchange)?
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { isFull, type Named } from "./projects.ts";
import type { NewTokenRow, TokenRow } from "./tokens.ts";
import { ruleNamed, type TrustRow } from "./trust.ts";

/** How many exchanges are remembered at the same time, and how many of them by one rule. */
export const MAX_EXCHANGED = 10_000;
export const MAX_EXCHANGED_OF_RULE = 5_000;
/** How long a caller waits before it tries again while too many exchanges are remembered. */
const FULL_RETRY_MS = 30_000;

/** What is known of a token when it is given for a token of an issuer. */
export type GivenToken = NewTokenRow & { given: NonNullable<TokenRow["given"]> };

/** A token to give, and the version of the rule by which it is given. */
export interface Exchange {
  token: GivenToken;
  version: string;
}

export type ExchangeEvent = { type: "token_exchanged"; token: GivenToken };

/**
 * Every exchange that is remembered is in memory. Its row is kept until neither the given token nor the token
 * of the issuer is valid any more, and is then deleted.
 */
export function isLiveExchange(): boolean {
  return true;
}

/**
 * Notes a token that was given (oidc.md#exchange). Its id follows from the token of the issuer, so this one
 * row is also what makes each token of an issuer good for one exchange.
 */
export function foldExchange(exchanged: Rows<TokenRow>, { token }: ExchangeEvent, now: Instant): void {
  const fresh = { old: null, rotatedAt: null, usedOn: null, ended: null, at: now };
  exchanged.set(token.id, { ...token, ...fresh }, now);
}

/** Ends the tokens that a rule gave (oidc.md#trust-rules). */
export function endExchangesOf(exchanged: Rows<TokenRow>, rule: Named, by: string, now: Instant): void {
  for (const row of [...exchanged.live()]) {
    if (!isGivenBy(row, rule) || row.ended !== null) continue;
    exchanged.set(row.id, { ...row, ended: { how: "revoked", by }, at: now }, now);
  }
}

/** Whether a rule gave this token. */
function isGivenBy({ given, project }: Pick<TokenRow, "given" | "project">, rule: Named): boolean {
  return given?.rule === rule.name && project === rule.project;
}

/** Forgets the exchanges that cannot matter any more (oidc.md#exchange). */
export function foldExchangeTime(exchanged: Rows<TokenRow>, now: Instant): void {
  if ((exchangeForgottenAt(exchanged) ?? Number.POSITIVE_INFINITY) > now) return;
  for (const { id, given } of [...exchanged.live()]) {
    if (given === null || given.keptUntil <= now) exchanged.delete(id);
  }
}

/** When the next exchange is forgotten. */
export function exchangeForgottenAt(exchanged: ReadonlyRows<TokenRow>): Instant | undefined {
  return exchanged.derive(firstForgotten);
}

function firstForgotten(rows: readonly TokenRow[]): Instant | undefined {
  let first: Instant | undefined;
  for (const { given } of rows) {
    if (given !== null && given.keptUntil < (first ?? Number.POSITIVE_INFINITY)) first = given.keptUntil;
  }
  return first;
}

/** The table that has the token with this id: that of exchanged tokens, or else that of created ones. */
export function tableOf<Table extends ReadonlyRows<TokenRow>>(
  { tokens, exchanged }: { tokens: Table; exchanged: Table },
  id: string,
): Table {
  return tokens.get(id) === undefined && exchanged.get(id) !== undefined ? exchanged : tokens;
}

/** Why a token cannot be exchanged; null: it can (oidc.md#exchange). */
export function refusalOfExchange(
  exchanged: ReadonlyRows<TokenRow>,
  rules: ReadonlyRows<TrustRow>,
  { token: { id, project, given }, version }: Exchange,
): DroverError | null {
  const rule = { project, name: given.rule };
  if (ruleNamed(rules, rule)?.version !== version) {
    const text = `the trust rule "${given.rule}" was changed at this very moment; send the token again`;
    return new DroverError("unavailable", text);
  }
  if (exchanged.get(id) !== undefined) {
    const text =
      "this token was exchanged before, and each token is good for one exchange; ask its issuer for another";
    return new DroverError("unauthorized", text);
  }
  const all = [...exchanged.live()];
  const ofRule = all.filter((row) => isGivenBy(row, rule)).length;
  if (!isFull(all, MAX_EXCHANGED, project) && ofRule < MAX_EXCHANGED_OF_RULE) return null;
  const text = "too many exchanged tokens are remembered now; they are forgotten as they end, so try again";
  return new DroverError("busy", text, { retryAfterMs: FULL_RETRY_MS });
}
