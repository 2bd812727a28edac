// Which calls can the edge and other objects make to the registry?
import type { OwedEntry } from "../../core/audit/entry.ts";
import type { JobListing } from "../../core/job/summary.ts";
import type { Removal } from "../../core/messages.ts";
import type { Denied } from "../../core/registry/audit.ts";
import type { Exchange } from "../../core/registry/exchanged.ts";
import type { SigningKeys } from "../../core/registry/keys/signing-keys.ts";
import type { Named } from "../../core/registry/projects.ts";
import type { SessionGrant, SessionOwner } from "../../core/registry/sessions.ts";
import type { NewTokenRow, TokenGrant } from "../../core/registry/tokens.ts";
import type { TrustRow } from "../../core/registry/trust.ts";
import type { AccessBackup, Restored, RestoreRequest } from "../../schema/access/backup.ts";
import type { Project } from "../../schema/access/project.ts";
import type { HostSecrets, SecretList, StoredSecret } from "../../schema/access/secret.ts";
import type { Session } from "../../schema/access/session.ts";
import type { RevokedToken, Token } from "../../schema/access/token.ts";
import type { TrustRule } from "../../schema/access/trust.ts";
import type { JobSummary } from "../../schema/job/job.ts";
import type { Sample } from "../../schema/metrics.ts";
import type { PoolDeletion, PoolView, PutPoolConfig } from "../../schema/pool.ts";
import type { WebhookFields } from "../../schema/webhook/webhook.ts";
import type { SecretPurpose } from "../../shared/access/secret-use.ts";
import type { AuditFilter, AuditNews, AuditPage, AuditPageRequest } from "../reads/audit-api.ts";
import type { KnownWebhook, WebhookRef } from "./webhook-calls.ts";

/** Who makes a change, behind the wall of which project. Null: there is no wall (projects.md#callers). */
export interface Acting {
  by: string;
  project: string | null;
}

/** A pool, and the projects that it serves (projects.md#pools). */
export interface PoolRef {
  name: string;
  projects: string[];
}

/** The methods of the registry for the edge. */
export interface RegistryApi {
  /**
   * Creates or changes a pool; answers when the pool has the configuration. Codes: `beyond_limits`,
   * `unknown_project`, `unknown_secret`.
   */
  putPool(name: string, config: PutPoolConfig, by: Acting): Promise<{ created: boolean; view: PoolView }>;
  /**
   * Deletes a pool. `empty`: only if the pool is empty now. `drained`: once the pool is empty. `forced`: ends
   * everything in the pool at once, and answers which machines may be left behind. Codes: `unknown_pool`,
   * `beyond_limits`, `pool_in_use`, `not_acknowledged`.
   */
  removePool(name: string, how: Removal, by: Acting): Promise<PoolDeletion>;
  /** All pools, by name. */
  pools(): Promise<PoolRef[]>;
  /** Makes a project. Codes: `project_exists`, `busy`. */
  createProject(name: string, by: string): Promise<Project>;
  /** Deletes a project of which nothing is left. Codes: `unknown_project`, `project_in_use`. */
  removeProject(name: string, by: string): Promise<void>;
  /** All projects by name, `default` first. */
  projects(): Promise<Project[]>;
  /** Stores a new token. Codes: `token_exists`, `busy`, `unknown_project`. */
  createToken(token: NewTokenRow): Promise<Token>;
  /**
   * Gives a token another secret. The previous secret stays valid for `overlapMs`. Codes: `unknown_token`,
   * `token_ended`.
   */
  rotateToken(id: string, digest: string, overlapMs: number, by: string): Promise<Token>;
  /**
   * Ends a token, and with `withChildren` all that it has made (access.md#children). A token that has already
   * ended stays as it is. Code: `unknown_token`.
   */
  revokeToken(id: string, by: string, withChildren: boolean): Promise<RevokedToken>;
  /**
   * The valid tokens of a project (null: of all), and those that ended in the last 90 days, newest first.
   */
  tokens(project: string | null): Promise<Token[]>;
  /** Code: `unknown_token`. */
  token(id: string): Promise<Token>;
  /**
   * What the edge needs to judge requests with a token; null: there is no valid token with this id. If the
   * digest is that of a valid secret, the use is noted.
   */
  grant(id: string, digest?: string): Promise<TokenGrant | null>;
  /**
   * Stores a secret, or another value for it. Codes: `secret_exists`, `no_wrapping_key`, `busy`,
   * `unknown_project`.
   */
  setSecret(secret: NewSecret, by: string): Promise<StoredSecret>;
  /** Code: `unknown_secret`. */
  removeSecret(secret: Named, by: string): Promise<void>;
  /** The secrets of a project (null: of all) without their values, and the state of the wrapping keys. */
  secrets(project: string | null): Promise<Omit<SecretList, "next">>;
  /** The names among these for which the project has no secret for runs. */
  missingSecrets(project: string, names: string[]): Promise<string[]>;
  /** Creates or replaces a trust rule. Codes: `busy`, `unknown_project`. */
  putTrustRule(rule: TrustRow): Promise<{ created: boolean; rule: TrustRule }>;
  /** Deletes a trust rule, and ends the tokens that it gave. Code: `unknown_trust_rule`. */
  removeTrustRule(rule: Named, by: string): Promise<TrustRule>;
  /** The trust rules of a project (null: of all), by name. */
  trustRules(project: string | null): Promise<TrustRule[]>;
  /** Code: `unknown_trust_rule`. */
  trustRule(rule: Named): Promise<TrustRule>;
  /** The rules that trust this issuer, by name, with their versions. */
  trustRulesOf(issuer: string): Promise<TrustRow[]>;
  /**
   * Notes a token that is given for a token of an issuer. Codes: `unauthorized` (that one was exchanged
   * before), `busy`, `unavailable` (the rule has just changed).
   */
  exchange(wanted: Exchange): Promise<void>;
  /** The keys with which Drover signs the tokens of runs; makes them in time. Code: `no_wrapping_key`. */
  signingKeys(): Promise<SigningKeys>;
  /** Replaces all these keys by a new one at once. Code: `no_wrapping_key`. */
  replaceSigningKeys(by: string): Promise<SigningKeys>;
  /** Stores a code with which a browser can start a session. Code: `busy`. */
  offerSession(id: string, owner: SessionOwner, digest: string): Promise<void>;
  /**
   * Starts the session whose code has the digest `code`. `digest`: that of the session's secret. Code:
   * `unauthorized` if the code cannot start a session.
   */
  redeemSession(id: string, code: string, digest: string): Promise<void>;
  /** Starts a session without a code. Code: `busy`. */
  startSession(id: string, owner: SessionOwner, digest: string): Promise<void>;
  /**
   * What the edge needs to judge requests with a session's cookie; null: there is no active session with this
   * id. If the digest is that of the session's secret, the use is noted.
   */
  sessionGrant(id: string, digest: string): Promise<SessionGrant | null>;
  /** The active sessions of a project's tokens (null: all), latest start first. */
  sessions(project: string | null): Promise<Session[]>;
  /** Ends a session, or does nothing if there is no session with this id. */
  endSession(id: string, by: string): Promise<void>;
  /**
   * Creates an endpoint of webhooks with this secret. Codes: `webhook_exists`, `busy`, `unknown_project`,
   * `no_wrapping_key`.
   */
  createWebhook(webhook: WebhookRef, secret: string, by: string): Promise<void>;
  /** Changes what an endpoint receives; answers its id. Code: `unknown_webhook`, as for those below. */
  changeWebhook(webhook: Named, fields: WebhookFields, by: string): Promise<string>;
  /**
   * Gives an endpoint another secret; answers its id. The previous one also signs for `overlapMs`. Code, too:
   * `no_wrapping_key`.
   */
  rotateWebhook(webhook: Named, secret: string, overlapMs: number, by: string): Promise<string>;
  removeWebhook(webhook: Named, by: string): Promise<void>;
  webhook(webhook: Named): Promise<KnownWebhook>;
  /** The endpoints of a project (null: of all), by name. */
  webhooks(project: string | null): Promise<KnownWebhook[]>;
  /**
   * Throws `busy` or `unknown_project` if a job with a new name cannot be made (jobs.md#list). `after`: the
   * jobs that it follows; codes `unknown_job`, `invalid_request` for a circle (jobs.md#following-put).
   */
  admitJob(job: Named, after: string[]): Promise<void>;
  /** Throws `job_in_use` if other jobs follow this one (jobs.md#following-put). */
  refuseFollowedJob(job: Named): Promise<void>;
  /** The jobs of a project (null: of all), by name. */
  jobs(project: string | null): Promise<JobSummary[]>;
  /** How many jobs there are, as `/metrics` says it (jobs.md#metrics). */
  jobCounts(project: string | null): Promise<Sample[]>;
  /** The valid tokens and trust rules, as they are stored (backup.md#access). */
  accessBackup(): Promise<AccessBackup>;
  /** Brings tokens and trust rules of a backup back, and says what came of each, in their order. */
  restoreAccess(request: RestoreRequest, by: string): Promise<Restored[]>;
  /** The entries of the audit log about tokens and pools' configurations, newest first. */
  audit(filter: AuditFilter, page: AuditPageRequest): Promise<AuditPage>;
  /** Records that requests of a caller were refused (audit.md#denied). */
  noteDenied(denied: Denied): Promise<void>;
  /** As `auditAfter` of a pool. */
  auditAfter(filter: AuditFilter, after: number, waitMs: number): Promise<AuditNews>;
  /** Called by the cron trigger: wakes every pool; with `all` also its live runs and workers. */
  poke(all?: boolean): Promise<void>;
}

/** A secret to be stored. `use` undefined: as before, or for runs. */
export interface NewSecret extends Named {
  value: Uint8Array;
  use: SecretPurpose | undefined;
}

/** A request of a worker for the secrets of one attempt. */
export interface SecretsFor {
  /** The name of each secret, by the name that the task has for it. */
  secrets: Record<string, string>;
  run: string;
  attempt: string;
  worker: string;
  /** The public key of the worker's host, in base64. */
  publicKey: string;
}

/** All calls of the registry. The edge cannot make those that are not in `RegistryApi`. */
export interface RegistryCalls extends RegistryApi {
  /**
   * Seals secrets for a host (secrets.md#handed). Codes: `unknown_secret`, `secrets_too_large`,
   * `no_wrapping_key`.
   */
  handSecrets(request: SecretsFor): Promise<HostSecrets>;
  /**
   * The value of a secret that a pool's provider gets (secrets.md#providers). Codes: `unknown_secret`,
   * `no_wrapping_key`, `invalid_request` if it cannot be sent in a header.
   */
  providerSecret(secret: Named): Promise<string>;
  /** Lists a job as it says, and stores the entries of the audit log that it owes (jobs.md#list). */
  noteJob(listing: JobListing): Promise<void>;
  /** Stores the entries of the audit log that an endpoint of webhooks owes (audit.md#outbox). */
  takeEntries(webhook: string, entries: OwedEntry[]): Promise<void>;
}
