// Which tokens and trust rules go into a backup, and which of a backup come back (backup.md#access)?
import type { AccessBackup, Restored, RuleBackup, TokenBackup } from "../../schema/access/backup.ts";
import { durationMs, formatDuration } from "../../shared/duration.ts";
import type { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { hasProject, keyOf, type ProjectRow, unknownProject } from "./projects.ts";
import { refusalOfNewToken, stateOf, type TokenRow } from "./tokens.ts";
import { refusalOfRule, ruleRows, type TrustRow } from "./trust.ts";

/** The tables that say whether something can come back. */
interface Known {
  tokens: ReadonlyRows<TokenRow>;
  trust: ReadonlyRows<TrustRow>;
  projects: ReadonlyRows<ProjectRow>;
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

/** The valid tokens and rules, as a backup has them. Tokens of issuers live for minutes and are left out. */
export function accessBackup({ tokens, trust }: Known, now: Instant): AccessBackup {
  const valid = [...tokens.live()].filter((row) => stateOf(row, now) === "active");
  return {
    tokens: valid.map((row) => tokenBackup(row, now)).sort((a, b) => (a.id < b.id ? -1 : 1)),
    trustRules: ruleRows(trust, null).map(ruleBackup),
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

function ruleBackup({ version: _, lifetimeMs, ...row }: TrustRow): RuleBackup {
  return {
    ...row,
    scopes: row.scopes.filter((scope) => scope !== "admin"),
    lifetime: formatDuration(lifetimeMs),
    createdAt: iso(row.createdAt),
    expiresAt: isoOrNull(row.expiresAt),
  };
}

/**
 * What becomes of a token of a backup. A token that is there stays as it is, and one that has ended here
 * does not come back: a backup from before a revocation must not undo it.
 */
export function restoringToken(known: Known, token: TokenBackup, by: string, now: Instant): Restoring {
  const { tokens, projects } = known;
  const answerOf = answering("token", token);
  const there = tokens.get(token.id);
  if (there !== undefined) {
    const state = stateOf(there, now);
    if (state === "active") return answerOf("exists");
    return answerOf("refused", `it is ${state} here, and a backup does not undo that`);
  }
  const row = rowOfToken(token);
  if (stateOf(row, now) !== "active") return answerOf("refused", "its time is over");
  if (!hasProject(projects, token.project)) return answerOf("refused", unknownProject(token.project).message);
  const refusal: DroverError | null = refusalOfNewToken(tokens, token);
  if (refusal !== null) return answerOf("refused", refusal.message);
  return { ...answerOf("created"), event: { type: "token_restored", token: row, by } };
}

/** What becomes of a trust rule of a backup. `version`: a fresh one. A rule of its name stays as it is. */
export function restoringRule(
  known: Known,
  rule: RuleBackup,
  by: string,
  { now, version }: { now: Instant; version: string },
): Restoring {
  const answerOf = answering("trust_rule", rule);
  const there = known.trust.get(keyOf(rule));
  if (there !== undefined) {
    const isSame = JSON.stringify(ruled(ruleBackup(there))) === JSON.stringify(ruled(rule));
    return isSame ? answerOf("exists") : answerOf("refused", "there is another rule of this name");
  }
  const row = rowOfRule(rule, version);
  if (row.expiresAt !== null && row.expiresAt <= now) return answerOf("refused", "its time is over");
  if (!hasProject(known.projects, rule.project)) {
    return answerOf("refused", unknownProject(rule.project).message);
  }
  const refusal = refusalOfRule(known.trust, rule);
  if (refusal !== null) return answerOf("refused", refusal.message);
  return { ...answerOf("created"), event: { type: "trust_restored", rule: row, by } };
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
