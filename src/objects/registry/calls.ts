// Which part of the registry answers which call?
import { nameIn } from "../../shared/access/project.ts";
import type { Instant } from "../../shared/machine.ts";
import { allowsLocalWebhooks, type Env } from "../env.ts";
import { peersOf } from "../messages/stubs.ts";
import type { RegistryShell } from "../messages/via.ts";
import type { AuditLog } from "../reads/audit-log.ts";
import { SecretCalls } from "../secrets/secret-calls.ts";
import type { Vault } from "../secrets/vault.ts";
import { sealSecret } from "../webhooks/secret-box.ts";
import type { RegistryCalls } from "./api.ts";
import { BackupCalls } from "./backup-calls.ts";
import { JobCalls } from "./job-calls.ts";
import type { KeyCalls } from "./key-calls.ts";
import { PoolCalls } from "./pool-calls.ts";
import { ProjectCalls } from "./project-calls.ts";
import { SessionCalls } from "./session-calls.ts";
import { TokenCalls } from "./token-calls.ts";
import { TrustCalls } from "./trust-calls.ts";
import { WebhookCalls } from "./webhook-calls.ts";

/** What the calls of the registry work on. */
export interface RegistryParts {
  env: Env;
  shell: RegistryShell;
  audit: AuditLog;
  vault: Vault;
  keys: KeyCalls;
}

/** The calls of the registry, each by the part that answers it. */
export function registryCalls({ env, shell, audit, vault, keys }: RegistryParts): RegistryCalls {
  const pools = new PoolCalls(shell, () => peersOf(env));
  const projects = new ProjectCalls(shell);
  const tokens = new TokenCalls(shell);
  const secrets = new SecretCalls(shell, vault);
  const trust = new TrustCalls(shell);
  const sessions = new SessionCalls(shell);
  const webhooks = new WebhookCalls(shell, allowsLocalWebhooks(env));
  const jobs = new JobCalls(shell);
  const backups = new BackupCalls(shell);
  return {
    putPool: (...args) => pools.put(...args),
    removePool: (...args) => pools.remove(...args),
    pools: async () => pools.list(),
    poke: (all = false) => pokeAll({ pools, webhooks, jobs }, env, shell.now(), keys, all),

    createProject: async (...args) => projects.create(...args),
    removeProject: async (...args) => projects.remove(...args),
    projects: async () => projects.list(),

    createToken: async (token) => {
      projects.refuseUnknown(token.project);
      return tokens.create(token);
    },
    rotateToken: async (...args) => tokens.rotate(...args),
    revokeToken: async (...args) => tokens.revoke(...args),
    tokens: async (project) => tokens.list(project),
    token: async (id) => tokens.read(id),
    grant: async (...args) => tokens.grant(...args),

    setSecret: async (secret, by) => {
      projects.refuseUnknown(secret.project);
      return secrets.set(secret, by);
    },
    removeSecret: async (...args) => secrets.remove(...args),
    secrets: async (project) => secrets.list(project),
    missingSecrets: async (...args) => secrets.missing(...args),
    handSecrets: (request) => secrets.hand(request),
    providerSecret: (secret) => secrets.ofProvider(secret),

    putTrustRule: async (rule) => {
      projects.refuseUnknown(rule.project);
      return trust.put(rule);
    },
    removeTrustRule: async (...args) => trust.remove(...args),
    trustRules: async (project) => trust.list(project),
    trustRule: async (rule) => trust.read(rule),
    trustRulesOf: async (issuer) => trust.of(issuer),
    exchange: async (wanted) => trust.exchange(wanted),
    signingKeys: () => keys.keys(),
    replaceSigningKeys: (by) => keys.replace(by, shell),

    offerSession: async (...args) => sessions.offer(...args),
    redeemSession: async (...args) => sessions.redeem(...args),
    startSession: async (...args) => sessions.start(...args),
    sessionGrant: async (...args) => sessions.grant(...args),
    sessions: async (project) => sessions.list(project),
    endSession: async (...args) => sessions.end(...args),

    createWebhook: async (webhook, secret, by) => {
      const sealed = await sealSecret(env, webhook.id, secret);
      projects.refuseUnknown(webhook.project);
      await webhooks.create({ ...webhook, sealed }, by);
    },
    changeWebhook: async (...args) => webhooks.change(...args),
    rotateWebhook: async (webhook, secret, overlapMs, by) =>
      webhooks.rotate(webhook, (id) => sealSecret(env, id, secret), overlapMs, by),
    removeWebhook: async (...args) => webhooks.remove(...args),
    webhook: async (webhook) => webhooks.find(webhook),
    webhooks: async (project) => webhooks.list(project),
    ...jobCalls(jobs, projects),
    accessBackup: async () => backups.read(),
    restoreAccess: async (...args) => backups.restore(...args),

    takeEntries: async (id, entries) => void shell.enter({ type: "webhook_entries", id, entries }),
    audit: async (...args) => audit.page(shell.enter().audit, shell.now(), ...args),
    noteDenied: async (denied) => void shell.enter({ type: "denied", ...denied }),
    auditAfter(...args) {
      shell.enter();
      return audit.after(shell.actor, ...args);
    },
  };
}

/** The calls about jobs. */
function jobCalls(
  jobs: JobCalls,
  projects: ProjectCalls,
): Pick<RegistryCalls, "admitJob" | "refuseFollowedJob" | "noteJob" | "jobs" | "jobCounts"> {
  return {
    admitJob: async (job, after) => {
      projects.refuseUnknown(job.project);
      jobs.admit(job, after);
    },
    refuseFollowedJob: async (job) => jobs.refuseFollowed(job),
    noteJob: async (listing) => jobs.note(listing),
    jobs: async (project) => jobs.list(project),
    jobCounts: async (project) => jobs.counts(project),
  };
}

/** The parts of the registry whose objects are woken at ticks of the cron. */
interface Woken {
  pools: PoolCalls;
  webhooks: WebhookCalls;
  jobs: JobCalls;
}

/** What the registry does at a tick of the cron. Whatever is asked of an object repairs it. */
async function pokeAll(
  { pools, webhooks, jobs }: Woken,
  env: Env,
  now: Instant,
  keys: KeyCalls,
  all: boolean,
): Promise<void> {
  await keys.rotate().catch((error: unknown) => {
    // It is tried again at the next tick.
    console.error({ event: "key_not_rotated", error: String(error) });
  });
  const peers = peersOf(env);
  await pools.poke(all);
  await webhooks.poke(all, now, (id) => peers.webhook(id).read());
  await jobs.poke(all, ({ project, name }) => peers.job(nameIn(project, name, ".")).poke());
}
