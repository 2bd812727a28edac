// Which entries of the audit log does the registry write (audit.md#owners)?
import type { PoolConfig } from "../../schema/pool.ts";
import { DEFAULT_PROJECT, projectsServed } from "../../shared/access/project.ts";
import type { ErrorCode } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { diffOf } from "../audit/diff.ts";
import type { NewEntry } from "../audit/entry.ts";
import { type Caused, viaField } from "../audit/via.ts";
import { ownValue } from "../own-value.ts";
import type { ReadonlyRows } from "../rows.ts";
import { childrenOf } from "./children.ts";
import type { ExchangeEvent } from "./exchanged.ts";
import { type KeyEvent, kidsOf, type SigningKeyRow } from "./keys/signing-keys.ts";
import type { PoolsEvent, RegistryRecord } from "./pools.ts";
import { hasProject, keyOf, type Named, type ProjectEvent, type ProjectRow } from "./projects.ts";
import type { RestoreEvent } from "./restore.ts";
import type { SecretEvent, SecretRow } from "./secrets.ts";
import type { SessionEvent, SessionRow } from "./sessions.ts";
import { actorOfToken, stateOf, type TokenEvent, type TokenRow } from "./tokens.ts";
import { ruleNamed, type TrustEvent, type TrustRow } from "./trust.ts";
import type { WebhookAnswered, WebhookEvent, WebhookRow } from "./webhooks.ts";

type Draft = Omit<NewEntry, "at" | "run" | "result" | "pool" | "project"> &
  Partial<Pick<NewEntry, "pool" | "result" | "run" | "project">>;

/** The parts of the registry's state that say what an event changes. */
interface Known {
  record: RegistryRecord | null;
  tokens: ReadonlyRows<TokenRow>;
  exchanged: ReadonlyRows<TokenRow>;
  secrets: ReadonlyRows<SecretRow>;
  trust: ReadonlyRows<TrustRow>;
  keys: ReadonlyRows<SigningKeyRow>;
  sessions: ReadonlyRows<SessionRow>;
  projects: ReadonlyRows<ProjectRow>;
  webhooks: ReadonlyRows<WebhookRow>;
}

/** Requests of a caller were refused: the latest of them, and how many there were (audit.md#denied). */
export interface Denied {
  by: string;
  /** The caller's project; null: none. */
  project: string | null;
  code: ErrorCode;
  /** The method and the route, without the ids in its path. */
  request: string;
  count: number;
}

type DeniedEvent = { type: "denied" } & Denied;

/** The events of the registry that may have an entry. */
export type RecordedEvent =
  | PoolsEvent
  | TokenEvent
  | SecretEvent
  | ExchangeEvent
  | TrustEvent
  | RestoreEvent
  | KeyEvent
  | ProjectEvent
  | SessionEvent
  | WebhookEvent
  | WebhookAnswered
  | DeniedEvent;

/** An event of the registry. */
type Event = Caused &
  (
    | RecordedEvent
    | { type: "tick" | "audit_exported" | "webhook_entries" | "job_listed" | "jobs_skipped" | "resealed" }
  );

/**
 * The entry that belongs to an event, from the state before the event. Undefined: the event changes nothing
 * that the log tells. Another action needs another case here, and nothing else.
 */
export function registryEntry(state: Known, event: Event, now: Instant): NewEntry | undefined {
  const draft = draftOf(state, event, now);
  const none = { run: null, pool: null, project: null };
  return draft && { at: now, ...none, result: "ok", ...draft, ...viaField(event) };
}

function draftOf(known: Known, event: Event, now: Instant): Draft | undefined {
  return draftOfPool(known, event) ?? draftOfAccess(known, event, now) ?? draftOfThing(known, event);
}

function draftOfPool({ record }: Known, event: Event): Draft | undefined {
  switch (event.type) {
    case "put": {
      const { pool, config, by } = event;
      const known = ownValue(record?.pools, pool);
      const stays = known === undefined || known.gone === true ? undefined : known;
      const diff = diffOfConfigs(stays?.wanted, config);
      if (diff.length === 0 && stays?.remove === undefined) return undefined;
      return { by, action: "pool.put", ...ofPool(pool, stays?.wanted ?? config, config), diff };
    }
    case "remove": {
      const known = ownValue(record?.pools, event.pool);
      if (known === undefined || known.gone === true) return undefined;
      return {
        by: event.by,
        action: "pool.delete",
        ...ofPool(event.pool, known.wanted),
        reason: `how: ${event.how}`,
      };
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
        ...ofPool(sent.pool, known.wanted),
        result: "denied",
        reason: `${code}: ${text}`,
      };
    }
    default:
      return undefined;
  }
}

function draftOfAccess(known: Known, event: Event, now: Instant): Draft | undefined {
  const { tokens, exchanged, trust, sessions } = known;
  switch (event.type) {
    case "token_created": {
      const { createdBy, scopes, limits, expiresAt, ...token } = event.token;
      const diff = diffOf({}, { scopes, limits, expiresAt });
      return { by: createdBy, action: "token.create", ...ofToken(token), diff };
    }
    case "token_rotated": {
      const row = activeToken(tokens.get(event.id), now);
      return row && { by: event.by, action: "token.rotate", ...ofToken(row) };
    }
    case "token_revoked":
      return draftOfRevocation(known, event, now);
    case "token_exchanged": {
      const { name, scopes, limits, expiresAt, ...token } = event.token;
      const diff = diffOf({}, { scopes, limits, expiresAt });
      return { by: name, action: "token.exchange", ...ofToken({ ...token, name }), diff };
    }
    case "trust_put": {
      const { rule } = event;
      const diff = diffOf(ruleNamed(trust, rule) ?? {}, rule);
      return { by: rule.createdBy, action: "trust.put", ...ofNamed("trust", rule), diff };
    }
    case "token_restored": {
      const { scopes, limits, expiresAt, ...token } = event.token;
      const diff = diffOf({}, { scopes, limits, expiresAt });
      return { by: event.by, action: "token.restore", ...ofToken(token), diff };
    }
    case "trust_restored": {
      const diff = diffOf({}, event.rule);
      return { by: event.by, action: "trust.restore", ...ofNamed("trust", event.rule), diff };
    }
    case "trust_removed":
      if (ruleNamed(trust, event.rule) === undefined) return undefined;
      return { by: event.by, action: "trust.delete", ...ofNamed("trust", event.rule) };
    case "session_started": {
      const { token } = event.owner;
      const row = token === null ? undefined : (tokens.get(token) ?? exchanged.get(token));
      const by = token === null ? "admin" : row === undefined ? `token:${token}` : actorOfToken(row);
      const project = row?.project ?? DEFAULT_PROJECT;
      return { by, action: "session.start", target: { kind: "session", id: event.id }, project };
    }
    case "session_ended": {
      const session = sessions.get(event.id);
      if (session === undefined) return undefined;
      const owner =
        session.token === null ? undefined : (tokens.get(session.token) ?? exchanged.get(session.token));
      const target = { kind: "session", id: event.id } as const;
      return { by: event.by, action: "session.end", target, project: owner?.project ?? DEFAULT_PROJECT };
    }
    case "denied": {
      const { by, project, code, request, count } = event;
      const times = count === 1 ? "" : `, ${count} times`;
      const reason = `${code}: ${request}${times}`;
      const target = { kind: "caller", id: by } as const;
      return { by, action: "request.denied", target, project, result: "denied", reason };
    }
    default:
      return undefined;
  }
}

/** The entry of a revocation. That of children has none of its own: it follows from this one. */
function draftOfRevocation(
  known: Known,
  { id, by, withChildren }: TokenEvent & { type: "token_revoked" },
  now: Instant,
): Draft | undefined {
  const row = known.tokens.get(id) ?? known.exchanged.get(id);
  const children = withChildren ? childrenOf(known, id, now) : { tokens: [], rules: [] };
  const names = [
    ...children.tokens.map(({ name }) => `token ${name}`),
    ...children.rules.map(({ name }) => `trust rule ${name}`),
  ];
  if (row === undefined || (activeToken(row, now) === undefined && names.length === 0)) return undefined;
  const reason = names.length === 0 ? {} : { reason: `with ${names.join(", ")}` };
  return { by, action: "token.revoke", ...ofToken(row), ...reason };
}

function draftOfThing({ webhooks, secrets, projects, keys }: Known, event: Event): Draft | undefined {
  switch (event.type) {
    case "keys_replaced": {
      const target = { kind: "key", id: event.key.kid } as const;
      const reason = kidsOf(keys).join(", ") || "no key";
      return { by: event.by, action: "key.replace", target, project: DEFAULT_PROJECT, reason };
    }
    case "project_created":
      if (projects.get(event.name) !== undefined) return undefined;
      return { by: event.by, action: "project.create", target: { kind: "project", id: event.name } };
    case "project_deleted":
      if (!hasProject(projects, event.name)) return undefined;
      return { by: event.by, action: "project.delete", target: { kind: "project", id: event.name } };
    case "secret_set": {
      const { secret, version, by } = event;
      return { by, action: "secret.set", ...ofNamed("secret", secret), diff: diffOf({}, { version }) };
    }
    case "secret_removed":
      if (secrets.get(keyOf(event.secret)) === undefined) return undefined;
      return { by: event.by, action: "secret.remove", ...ofNamed("secret", event.secret) };
    case "webhook_created": {
      const { fields, by } = event;
      return { by, action: "webhook.create", ...ofWebhook(event), diff: diffOfFields({}, fields) };
    }
    case "webhook_changed": {
      const row = livingWebhook(webhooks.get(event.id));
      const diff = diffOfFields(row?.fields ?? {}, event.fields);
      return row && { by: event.by, action: "webhook.change", ...ofWebhook(row), diff };
    }
    case "webhook_rotated":
    case "webhook_deleted": {
      const row = livingWebhook(webhooks.get(event.id));
      const action = event.type === "webhook_rotated" ? "webhook.rotate" : "webhook.delete";
      return row && { by: event.by, action, ...ofWebhook(row) };
    }
    default:
      return undefined;
  }
}

/** The difference of an endpoint's fields. Its URL can contain a secret, as those of chat services do. */
function diffOfFields(before: object, after: object) {
  return diffOf(before, after, (pointer) => pointer === "/url");
}

function ofNamed<Kind extends "trust" | "secret">(kind: Kind, { project, name }: Named) {
  return { target: { kind, id: name }, project } as const;
}

function ofWebhook({ id, name, project }: Pick<WebhookRow, "id" | "name" | "project">) {
  return { target: { kind: "webhook", id, name }, project } as const;
}

function livingWebhook(row: WebhookRow | undefined): WebhookRow | undefined {
  return row?.deletedBy === null ? row : undefined;
}

/**
 * A pool that serves one project belongs to it (projects.md#pools). What concerns several, such as a change
 * of whom it serves, is the operator's.
 */
function ofPool(pool: string, ...configs: PoolConfig[]) {
  const [project = null, ...others] = new Set(configs.flatMap((config) => projectsServed(config)));
  const target = { kind: "pool", id: pool } as const;
  return { pool, target, project: others.length === 0 ? project : null };
}

function ofToken({ id, name, project }: Pick<TokenRow, "id" | "name" | "project">) {
  return { target: { kind: "token", id, name }, project } as const;
}

function activeToken(row: TokenRow | undefined, now: Instant): TokenRow | undefined {
  return row !== undefined && stateOf(row, now) === "active" ? row : undefined;
}

/** The difference of two configurations, without the text of a provider's secret (audit.md#entries). */
function diffOfConfigs(before: PoolConfig | undefined, after: PoolConfig) {
  return diffOf(before ?? {}, after, holdsSecret);
}

/** Whether this value of a field is, or contains, the text of a provider's secret. A name is no secret. */
function holdsSecret(pointer: string, value: unknown): boolean {
  if (pointer === "/provider/secret") return typeof value === "string";
  if (pointer !== "/provider" || typeof value !== "object" || value === null) return pointer === "/provider";
  return !("secret" in value) || typeof value.secret !== "object";
}
