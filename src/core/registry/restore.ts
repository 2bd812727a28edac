// Which tokens and trust rules go into a backup, and which of a backup come back (backup.md#access)?
import type { AccessBackup, Restored, RuleBackup, TokenBackup } from "../../schema/access/backup.ts";
import { credentialsOf } from "../../shared/cloud/account.ts";
import { durationMs, formatDuration } from "../../shared/duration.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { type PoolsState, poolsOf, type RegistryRecord } from "./pools.ts";
import { hasProject, keyOf, type ProjectRow, unknownProject } from "./projects.ts";
import { ENDED_TOKEN_KEPT_MS, refusalOfNewToken, stateOf, type TokenRow } from "./tokens.ts";
import { isLiveRule, refusalOfRule, ruleRows, type TrustRow } from "./trust.ts";

/** The tables that say whether something can come back. */
export interface Known extends Pick<PoolsState, "record"> {
  tokens: ReadonlyRows<TokenRow>;
  exchanged: ReadonlyRows<TokenRow>;
  trust: ReadonlyRows<TrustRow>;
  projects: ReadonlyRows<ProjectRow>;
}

/** What is known of a restore besides the thing itself. */
export interface Terms {
  by: string;
  now: Instant;
  /** When the backup was made. */
  madeAt: Instant;
  /** The parents of tokens that come with it, by id: a chain of parents may lead through them. */
  parents: ReadonlyMap<string, string | null>;
  /** Projects that count as there: those that a rehearsal would have made. */
  expected: readonly string[];
}

export type RestoreEvent =
  | { type: "token_restored"; token: TokenRow; by: string }
  | { type: "trust_restored"; rule: TrustRow; by: string };

/** Brings a token or a rule back. */
export function foldRestored(
  { tokens, trust }: { tokens: Rows<TokenRow>; trust: Rows<TrustRow> },
  event: RestoreEvent,
  now: Instant,
): void {
  if (event.type === "token_restored") tokens.set(event.token.id, event.token, now);
  else trust.set(keyOf(event.rule), event.rule, now);
}

/** What becomes of one thing of a backup. `event`: what brings it back; absent: nothing is to be done. */
export interface Restoring {
  answer: Restored;
  event?: RestoreEvent;
}

/**
 * The valid tokens and rules, as a backup has them, and whose secrets pools name. Tokens of issuers live for
 * minutes and are left out.
 */
export function accessBackup({ tokens, trust, record }: Known, now: Instant): AccessBackup {
  const valid = [...tokens.live()].filter((row) => stateOf(row, now) === "active");
  return {
    tokens: valid.map((row) => tokenBackup(row, now)).sort((a, b) => (a.id < b.id ? -1 : 1)),
    trustRules: ruleRows(trust, null).map(ruleBackup),
    poolSecrets: poolsOf({ record }).flatMap(([pool, { wanted }]) => {
      const credentials = credentialsOf(wanted.provider)?.value;
      const isNamed = typeof credentials === "object" && "secret" in credentials;
      return isNamed ? [{ pool, ...credentials }] : [];
    }),
  };
}

function tokenBackup(row: TokenRow, now: Instant): TokenBackup {
  const { id, name, project, scopes, limits, payer, digest, old, createdBy, parent } = row;
  const outgoing = old !== null && old.until > now ? { digest: old.digest, until: iso(old.until) } : null;
  return {
    ...{ id, name, project, limits, payer, digest, createdBy, parent },
    scopes: scopes.filter((scope) => scope !== "admin"),
    old: outgoing,
    createdAt: iso(row.createdAt),
    expiresAt: isoOrNull(row.expiresAt),
    rotatedAt: isoOrNull(row.rotatedAt),
  };
}

function ruleBackup({ version: _, at: _at, lifetimeMs, ...row }: TrustRow): RuleBackup {
  return {
    ...row,
    scopes: row.scopes.filter((scope) => scope !== "admin"),
    lifetime: formatDuration(lifetimeMs),
    createdAt: iso(row.createdAt),
    expiresAt: isoOrNull(row.expiresAt),
  };
}

/**
 * Forgets tokens and trust rules that ended long ago, and notes that it did (backup.md#ended). Returns the
 * new state.
 */
export function withoutEnded<
  State extends { tokens: Rows<TokenRow>; trust: Rows<TrustRow>; record: RegistryRecord | null },
>(state: State, now: Instant): State {
  const until = now - ENDED_TOKEN_KEPT_MS;
  const tables = [state.tokens, state.trust].filter((rows) => rows.hasForgettable(until));
  if (tables.length === 0) return state;
  for (const rows of tables) rows.forget(until);
  return { ...state, record: { pools: {}, ...state.record, forgotten: until } };
}

/**
 * What becomes of a token of a backup. A token that is there stays as it is, and one that has ended here
 * does not come back: a backup from before a revocation must not undo it (backup.md#ended).
 */
export function restoringToken(known: Known, token: TokenBackup, terms: Terms): Restoring {
  const { tokens } = known;
  const { now, by } = terms;
  const answerOf = answering("token", token);
  const there = tokens.get(token.id);
  if (there !== undefined) {
    const state = stateOf(there, now);
    return state === "active" ? answerOf("exists") : answerOf("refused", endedHere(state));
  }
  const row = rowOfToken(token);
  if (stateOf(row, now) !== "active") return answerOf("refused", "its time is over");
  const refusal = refusalOfAny(known, token, terms) ?? refusalOfNewToken(tokens, token)?.message;
  if (refusal !== undefined) return answerOf("refused", refusal);
  return { ...answerOf("created"), event: { type: "token_restored", token: row, by } };
}

/**
 * What becomes of a trust rule of a backup. `version`: a fresh one. A rule of its name stays as it is, and
 * one that was removed here does not come back (backup.md#ended).
 */
export function restoringRule(known: Known, rule: RuleBackup, version: string, terms: Terms): Restoring {
  const { by, now } = terms;
  const answerOf = answering("trust_rule", rule);
  const there = known.trust.get(keyOf(rule));
  if (there !== undefined) {
    if (!isLiveRule(there)) return answerOf("refused", endedHere("removed"));
    const isSame = JSON.stringify(ruled(ruleBackup(there))) === JSON.stringify(ruled(rule));
    return isSame ? answerOf("exists") : answerOf("refused", "there is another rule of this name");
  }
  const row = rowOfRule(rule, version);
  if (row.expiresAt !== null && row.expiresAt <= now) return answerOf("refused", "its time is over");
  const refusal = refusalOfAny(known, rule, terms) ?? refusalOfRule(known.trust, rule)?.message;
  if (refusal !== undefined) return answerOf("refused", refusal);
  return { ...answerOf("created"), event: { type: "trust_restored", rule: row, by } };
}

function endedHere(how: string): string {
  return `it is ${how} here, and a backup does not undo that`;
}

/** Why neither a token nor a rule may come back (backup.md#ended); undefined: nothing is known against it. */
function refusalOfAny(
  known: Known,
  { project, parent }: { project: string; parent: string | null },
  { now, madeAt, parents, expected }: Terms,
): string | undefined {
  const forgotten = known.record?.forgotten;
  if (forgotten !== undefined && madeAt <= forgotten) {
    return `the backup is too old: what ended here before ${iso(forgotten)} is not remembered; make it again`;
  }
  const seen = new Set<string>();
  for (let id = parent; id !== null && !seen.has(id); ) {
    seen.add(id);
    const row = known.tokens.get(id) ?? known.exchanged.get(id);
    if (row !== undefined && stateOf(row, now) !== "active") {
      return `the token ${row.name} (${id}), by which it was made, is ${stateOf(row, now)} here`;
    }
    id = row?.parent ?? parents.get(id) ?? null;
  }
  const isThere = hasProject(known.projects, project) || expected.includes(project);
  return isThere ? undefined : unknownProject(project).message;
}

function answering(kind: Restored["kind"], { name, project }: { name: string; project: string }) {
  return (result: Restored["result"], reason: string | null = null): Restoring => ({
    answer: { kind, name, project, result, reason },
  });
}

/** What a rule says, in one order of its fields. */
function ruled({ issuer, audience, claims, scopes, limits, labels, lifetime }: RuleBackup) {
  return { issuer, audience, claims, scopes, limits, labels, lifetime };
}

function rowOfToken({ old, createdAt, expiresAt, rotatedAt, ...token }: TokenBackup): TokenRow {
  return {
    ...token,
    old: old === null ? null : { digest: old.digest, until: Date.parse(old.until) },
    createdAt: Date.parse(createdAt),
    expiresAt: instantOrNull(expiresAt),
    rotatedAt: instantOrNull(rotatedAt),
    usedOn: null,
    ended: null,
    at: Date.parse(createdAt),
    given: null,
  };
}

function rowOfRule({ lifetime, createdAt, expiresAt, ...rule }: RuleBackup, version: string): TrustRow {
  return {
    ...rule,
    version,
    lifetimeMs: durationMs(lifetime),
    createdAt: Date.parse(createdAt),
    expiresAt: instantOrNull(expiresAt),
  };
}

function instantOrNull(text: string | null): Instant | null {
  return text === null ? null : Date.parse(text);
}
