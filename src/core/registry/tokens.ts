// Which tokens exist, and what may each token do (access.md#tokens)?
import type { Token, TokenLimits } from "../../schema/access/token.ts";
import { nameIn } from "../../shared/access/project.ts";
import type { Scope } from "../../shared/access/scopes.ts";
import { DroverError } from "../../shared/errors.ts";
import { earliest, type Instant, type Millis } from "../../shared/machine.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { isFull, type Named, tooManyOf } from "./projects.ts";

/** The most tokens that may be valid at the same time. */
export const MAX_TOKENS = 10_000;
/** How long a token that has ended stays listed, and how long it is remembered that a rule was removed. */
export const ENDED_TOKEN_KEPT_MS = 90 * 24 * 3_600_000;

/**
 * A stored token. Instead of the token's text, its digest is stored, from which nobody can derive the text.
 */
export interface TokenRow {
  id: string;
  name: string;
  project: string;
  scopes: Scope[];
  limits: TokenLimits;
  /** Whose budget its runs draw on, if its limits have one (projects.md#budgets-of-tokens). */
  payer: string;
  /** SHA-256 of the whole token, as `contentDigest` writes it. */
  digest: string;
  /**
   * The digest of the secret before the latest rotation, and until when this secret is valid
   * (access.md#rotation).
   */
  old: { digest: string; until: Instant } | null;
  createdAt: Instant;
  createdBy: string;
  /**
   * The id of the token that made it (access.md#children). Null: the break-glass secret, or a trust rule.
   * Names cannot say that: the name of a token that has ended can be taken by another one.
   */
  parent: string | null;
  expiresAt: Instant | null;
  rotatedAt: Instant | null;
  /**
   * The day of its latest use, as `YYYY-MM-DD`. So the uses of a token cost at most one written row a day.
   */
  usedOn: string | null;
  ended: { how: "expired" } | { how: "revoked"; by: string } | null;
  /** When the token ended or, before its end, when it was created. */
  at: Instant;
  /**
   * The trust rule that gave it for a token of another issuer, and until when it is remembered
   * (oidc.md#exchange). Null: somebody created it.
   */
  given: { rule: string; keptUntil: Instant } | null;
}

/** What the edge must know about a token to judge the requests that carry it. */
export interface TokenGrant {
  id: string;
  name: string;
  project: string;
  scopes: Scope[];
  limits: TokenLimits;
  payer: string;
  /** The trust rule that gave it (oidc.md#exchange). Null: somebody created it. */
  rule: string | null;
  /** The digests of the valid secrets, and until when each secret is valid. Null: until the token ends. */
  digests: { digest: string; until: Instant | null }[];
}

/** What is known of a token when it is created. */
export type NewTokenRow = Omit<TokenRow, "old" | "rotatedAt" | "usedOn" | "ended" | "at" | "given">;

export type TokenEvent =
  | { type: "token_created"; token: NewTokenRow }
  | { type: "token_rotated"; id: string; digest: string; overlapMs: Millis; by: string }
  | { type: "token_revoked"; id: string; by: string; withChildren: boolean }
  | { type: "token_used"; id: string; digest: string };

/** Whether a token has not ended, as far as its row says. */
export function isLiveToken({ ended }: TokenRow): boolean {
  return ended === null;
}

/** Applies an event of a token to the table (access.md#tokens). Only an active token can change. */
export function foldToken(tokens: Rows<TokenRow>, event: TokenEvent, now: Instant): void {
  if (event.type === "token_created") {
    const fresh = { old: null, rotatedAt: null, usedOn: null, ended: null, at: now, given: null };
    tokens.set(event.token.id, { ...event.token, ...fresh }, now);
    return;
  }
  const row = tokens.get(event.id);
  if (row === undefined || stateOf(row, now) !== "active") return;
  switch (event.type) {
    case "token_rotated": {
      const until = Math.min(now + event.overlapMs, row.expiresAt ?? Number.POSITIVE_INFINITY);
      const old = event.overlapMs > 0 ? { digest: row.digest, until } : null;
      tokens.set(row.id, { ...row, digest: event.digest, old, rotatedAt: now }, now);
      return;
    }
    case "token_revoked":
      tokens.set(row.id, { ...row, ended: { how: "revoked", by: event.by }, at: now }, now);
      return;
    case "token_used": {
      if (row.given !== null) return; // it was given to be used at once
      if (!digestsOf(row, now).some(({ digest }) => digest === event.digest)) return;
      const usedOn = iso(now).slice(0, "YYYY-MM-DD".length);
      if (row.usedOn !== usedOn) tokens.set(row.id, { ...row, usedOn }, now);
    }
  }
}

/** Ends the tokens whose time is over (access.md#tokens). Returns whether there were any. */
export function foldTokenTime(tokens: Rows<TokenRow>, now: Instant): boolean {
  let anyEnded = false;
  for (const row of tokens.live()) {
    const { expiresAt } = row;
    if (expiresAt === null || expiresAt > now) continue;
    tokens.set(row.id, { ...row, ended: { how: "expired" }, at: expiresAt }, now);
    anyEnded = true;
  }
  return anyEnded;
}

/** When the next token expires. */
export function tokenExpiresAt(tokens: ReadonlyRows<TokenRow>): Instant | undefined {
  return earliest(...[...tokens.live()].map(({ expiresAt }) => expiresAt ?? undefined));
}

/** The present state of a token. */
export function stateOf({ ended, expiresAt }: TokenRow, now: Instant): Token["state"] {
  if (ended !== null) return ended.how;
  return expiresAt !== null && expiresAt <= now ? "expired" : "active";
}

/** How events name the holder of a token (access.md#actors). */
export function actorOfToken({
  name,
  project,
  given,
}: Pick<TokenRow, "name" | "project"> & { given: object | null }): string {
  return given === null ? `token:${nameIn(project, name, ":")}` : name;
}

/** The grant of an active token. Null: there is no active token with this id. */
export function grantOf(tokens: ReadonlyRows<TokenRow>, id: string, now: Instant): TokenGrant | null {
  const row = tokens.get(id);
  if (row === undefined || stateOf(row, now) !== "active") return null;
  const { name, project, scopes, limits, payer, given } = row;
  return {
    id,
    name,
    project,
    scopes,
    limits,
    payer,
    rule: given?.rule ?? null,
    digests: digestsOf(row, now),
  };
}

/** The digests of the secrets that are valid, the present one first. */
function digestsOf({ digest, old, expiresAt }: TokenRow, now: Instant): TokenGrant["digests"] {
  const present = { digest, until: expiresAt };
  return old === null || old.until <= now ? [present] : [present, old];
}

/** Why a token cannot be created; null: it can. */
export function refusalOfNewToken(
  tokens: ReadonlyRows<TokenRow>,
  { project, name }: Named,
): DroverError | null {
  const live = [...tokens.live()];
  if (isFull(live, MAX_TOKENS, project)) {
    return tooManyOf(["tokens", "revoke those that are not used any more"], MAX_TOKENS, project);
  }
  if (!live.some((row) => row.name === name && row.project === project)) return null;
  const text = `there is a token "${name}" already; rotate or revoke it, or choose another name`;
  return new DroverError("token_exists", text);
}

/** Why a token cannot get another secret; null: it can. */
export function refusalOfRotation(row: TokenRow, now: Instant): DroverError | null {
  if (row.given !== null) {
    const text = `the token "${row.id}" was given for a token of another issuer; exchange another one`;
    return new DroverError("token_ended", text);
  }
  const state = stateOf(row, now);
  if (state === "active") return null;
  return new DroverError("token_ended", `the token "${row.id}" is ${state}; create another one`);
}

/** A token as its owner sees it. */
export function tokenView(row: TokenRow, now: Instant): Token {
  const { id, name, project, scopes, limits, createdAt, createdBy, old, ended } = row;
  const revoked = ended?.how === "revoked" ? ended : null;
  return {
    id,
    name,
    project,
    scopes,
    limits,
    state: stateOf(row, now),
    payer: limits.maxCostPerHour === undefined ? null : row.payer,
    rule: row.given?.rule ?? null,
    createdAt: iso(createdAt),
    createdBy,
    parent: row.parent,
    expiresAt: isoOrNull(row.expiresAt),
    rotatedAt: isoOrNull(row.rotatedAt),
    oldSecretUntil: old !== null && old.until > now ? iso(old.until) : null,
    lastUsedOn: row.usedOn,
    revokedAt: revoked === null ? null : iso(row.at),
    revokedBy: revoked?.by ?? null,
  };
}

/**
 * The tokens of a project (null: of all), newest first, including created tokens that ended lately. Of the
 * exchanged tokens only those that are valid.
 */
export function tokenViews(
  { tokens, exchanged }: { tokens: ReadonlyRows<TokenRow>; exchanged: ReadonlyRows<TokenRow> },
  project: string | null,
  now: Instant,
): Token[] {
  const ended = [...tokens.ended(MAX_TOKENS)]
    .map(([, row]) => row)
    .filter(({ at }) => at > now - ENDED_TOKEN_KEPT_MS);
  const given = [...exchanged.live()].filter((row) => stateOf(row, now) === "active");
  return [...tokens.live(), ...ended, ...given]
    .filter((row) => project === null || row.project === project)
    .sort((a, b) => b.createdAt - a.createdAt)
    .map((row) => tokenView(row, now));
}
