// What does the registry hold: pools, webhooks, and who may do what?
import type { Instant, Machine } from "../../shared/machine.ts";
import { earliest } from "../../shared/machine.ts";
import type { NewEntry } from "../audit/entry.ts";
import {
  type ExportAnswered,
  type ExportMessage,
  exportDue,
  foldExported,
  nothingExported,
} from "../audit/export.ts";
import type { AuditTable } from "../audit/table.ts";
import type { Caused } from "../audit/via.ts";
import type { Letter } from "../inbox.ts";
import { ofRecord } from "../invariants.ts";
import { foldJob, type JobListed, type JobTables } from "../job/listed.ts";
import { foldSkipped, type JobsSkipped } from "../job/skips/counts.ts";
import { ownValue } from "../own-value.ts";
import type { Rows } from "../rows.ts";
import { type RecordedEvent, registryEntry } from "./audit.ts";
import { endChildren } from "./children.ts";
import { endExchangesOf, exchangeForgottenAt, foldExchange, foldExchangeTime, tableOf } from "./exchanged.ts";
import { foldKey, foldKeyTime, keyDeletedAt, type SigningKeyRow } from "./keys/signing-keys.ts";
import {
  foldResealed,
  type Reseal,
  type ResealedEvent,
  type Rewrap,
  resealsOwed,
  rewrapsOwed,
} from "./keys/wrapping-keys.ts";
import {
  configurationsOwed,
  foldPools,
  type PoolEntry,
  type PoolsState,
  poolAskedAt,
  poolsOf,
  type RegistryRecord,
} from "./pools.ts";
import { foldProject, type ProjectRow } from "./projects.ts";
import { foldRestored, withoutEnded } from "./restore.ts";
import { foldSecret, type SecretsState } from "./secrets.ts";
import { foldSession, foldSessionTime, type SessionRow, sessionEndsAt } from "./sessions.ts";
import { foldToken, foldTokenTime, type TokenRow, tokenExpiresAt } from "./tokens.ts";
import { foldTrust, foldTrustTime, type TrustRow, trustExpiresAt } from "./trust.ts";
import {
  foldWebhook,
  foldWebhookAnswer,
  foldWebhookEntries,
  followPools,
  type WebhookEntries,
  type WebhookRow,
  webhooksOwed,
} from "./webhooks.ts";

export interface RegistryState extends PoolsState, SecretsState, JobTables {
  tokens: Rows<TokenRow>;
  /** The tokens that were given for tokens of other issuers (oidc.md#exchange). */
  exchanged: Rows<TokenRow>;
  trust: Rows<TrustRow>;
  /** The keys with which Drover signs the tokens of its runs (oidc.md#rotation). */
  keys: Rows<SigningKeyRow>;
  sessions: Rows<SessionRow>;
  projects: Rows<ProjectRow>;
  webhooks: Rows<WebhookRow>;
  /** Its part of the audit log. */
  audit: AuditTable;
}

export type RegistryEvent = Caused &
  (
    | RecordedEvent
    | { type: "tick" }
    | WebhookEntries
    | JobListed
    | JobsSkipped
    | ResealedEvent
    | ExportAnswered
  );

export type RegistryMessage =
  | Letter<"pool", "configure">
  | Letter<"webhook", "configure_webhook">
  | ExportMessage
  | Rewrap
  | Reseal;

/** The state with its changed pools. If nothing has changed, this is the same state. */
function withPools(state: RegistryState, pools: PoolsState): RegistryState {
  return pools === state ? state : { ...state, ...pools };
}

/** Stores an entry of the audit log in this step. */
function withEntry(state: RegistryState, entry: NewEntry, now: Instant): RegistryState {
  state.audit.add(entry, now);
  if (state.record?.exported !== undefined) return state;
  return { ...state, record: { pools: {}, ...state.record, exported: nothingExported(now) } };
}

/** Stores entries that another object owed. */
function withEntries(state: RegistryState, entries: readonly NewEntry[], now: Instant): RegistryState {
  return entries.reduce((next, entry) => withEntry(next, entry, now), state);
}

/** Notes up to where the log is exported. */
function withExported(state: RegistryState, event: ExportAnswered, now: Instant): RegistryState {
  const exported = foldExported(state.record?.exported, event);
  state.audit.noteExported(exported);
  state.audit.trim(now);
  return exported === undefined ? state : { ...state, record: { pools: {}, ...state.record, exported } };
}

/**
 * The registry's state machine. It owns who may do what (tokens, trust rules, browser sessions), Drover's own
 * keys, and the configurations of pools and webhooks, and sends each of these until its object has confirmed
 * it.
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

  apply(before, event, now: Instant) {
    const haveExpired = foldTokenTime(before.tokens, now);
    foldExchangeTime(before.exchanged, now);
    foldTrustTime(before.trust, now);
    foldKeyTime(before.keys, now);
    foldSessionTime(before.sessions, before, now);
    const entry = registryEntry(before, event, now);
    const folded = fold(before, event, now);
    // Seldom, and where a row is written in any case.
    const mayForget = haveExpired || event.type === "token_created" || event.type === "trust_removed";
    const state = mayForget ? withoutEnded(folded, now) : folded;
    foldSessionTime(state.sessions, state, now);
    if (state.record !== before.record || event.type.includes("webhook")) {
      followPools(
        state.webhooks,
        poolsOf(state).map(([name, { wanted }]) => [name, wanted]),
        now,
      );
    }
    return entry === undefined ? state : withEntry(state, entry, now);
  },

  due: (state, now) => [
    ...configurationsOwed(state, now),
    ...webhooksOwed(state.webhooks),
    ...exportDue(state.record?.exported, now),
    ...rewrapsOwed(state),
    ...resealsOwed(state, now),
  ],

  wakeAt: (state) =>
    earliest(
      poolAskedAt(state),
      tokenExpiresAt(state.tokens),
      exchangeForgottenAt(state.exchanged),
      trustExpiresAt(state.trust),
      keyDeletedAt(state.keys),
      sessionEndsAt(state.sessions),
    ),
};

/** What endpoints and jobs say of themselves. Returns the entries of the audit log that come with it. */
function foldWord(
  state: RegistryState,
  event: WebhookEntries | JobListed | JobsSkipped,
  now: Instant,
): NewEntry[] {
  if (event.type === "webhook_entries") return foldWebhookEntries(state.webhooks, event, now);
  if (event.type === "job_listed") return foldJob(state, event, now);
  foldSkipped(state.jobs, event, now);
  return [];
}

function fold(state: RegistryState, event: RegistryEvent, now: Instant): RegistryState {
  switch (event.type) {
    case "tick":
    case "denied":
      return state;
    case "put":
    case "remove":
    case "configure_answered":
      return withPools(state, foldPools(state, event, now));
    case "token_created":
      foldToken(state.tokens, event, now);
      return state;
    case "token_revoked":
      if (event.withChildren) endChildren(state, event.id, event.by, now);
      foldToken(tableOf(state, event.id), event, now);
      return state;
    case "token_rotated":
    case "token_used":
      foldToken(tableOf(state, event.id), event, now);
      return state;
    case "token_exchanged":
      foldExchange(state.exchanged, event, now);
      return state;
    case "project_created":
    case "project_deleted":
      foldProject(state.projects, event, now);
      return state;
    case "key_made":
    case "keys_replaced":
      foldKey(state.keys, event, now);
      return state;
    case "trust_put":
    case "trust_removed":
      foldTrust(state.trust, event, now);
      if (event.type === "trust_removed") endExchangesOf(state.exchanged, event.rule, event.by, now);
      return state;
    case "token_restored":
    case "trust_restored":
      foldRestored(state, event, now);
      return state;
    case "session_offered":
    case "session_started":
    case "session_used":
    case "session_ended":
      foldSession(state.sessions, state, event, now);
      return state;
    case "secret_set":
    case "secret_removed":
    case "secret_handed":
    case "data_key_made":
    case "data_key_rewrapped":
      foldSecret(state, event, now);
      return state;
    case "resealed":
      foldResealed(state, event, now);
      return state;
    case "webhook_created":
    case "webhook_changed":
    case "webhook_rotated":
    case "webhook_deleted":
      foldWebhook(state.webhooks, event, now);
      return state;
    case "configure_webhook_answered":
      foldWebhookAnswer(state.webhooks, event, now);
      return state;
    case "webhook_entries":
    case "job_listed":
    case "jobs_skipped":
      return withEntries(state, foldWord(state, event, now), now);
    case "audit_exported":
      return withExported(state, event, now);
  }
}
