// Which storage does the registry have? Its decisions are in `core/registry`, its calls in `registry/`.
import { DurableObject } from "cloudflare:workers";
import type { Via } from "../core/audit/via.ts";
import type { JobRow, RemovedJob } from "../core/job/listed.ts";
import { isLiveExchange } from "../core/registry/exchanged.ts";
import { isLiveKey, type SigningKeyRow } from "../core/registry/keys/signing-keys.ts";
import {
  type RegistryEvent,
  type RegistryMessage,
  type RegistryState,
  registryMachine,
} from "../core/registry/machine.ts";
import type { RegistryRecord } from "../core/registry/pools.ts";
import type { ProjectRow } from "../core/registry/projects.ts";
import type { DataKeyRow, SecretRow } from "../core/registry/secrets.ts";
import type { SessionRow } from "../core/registry/sessions.ts";
import { isLiveToken, type TokenRow } from "../core/registry/tokens.ts";
import { isLiveRule, type TrustRow } from "../core/registry/trust.ts";
import type { WebhookRow } from "../core/registry/webhooks.ts";
import { Rows } from "../core/rows.ts";
import { DroverError } from "../shared/errors.ts";
import type { Env, RegistryStub } from "./env.ts";
import { post } from "./messages/post.ts";
import { peersOf } from "./messages/stubs.ts";
import { enteredVia } from "./messages/via.ts";
import { AuditLog } from "./reads/audit-log.ts";
import { registryCalls } from "./registry/calls.ts";
import { KeyCalls } from "./registry/key-calls.ts";
import { Vault } from "./secrets/vault.ts";
import { Shell } from "./shell.ts";
import { SqlRowDisk, type TableName, ValueStore } from "./store.ts";

/** The one Durable Object that owns the pools' configurations, and who may do what. */
export class Registry extends DurableObject<Env> implements RegistryStub {
  readonly #store = new ValueStore<RegistryRecord>(this.ctx.storage);
  readonly #vault = new Vault(this.env);
  readonly #audit = new AuditLog(this.ctx.storage.sql, this.env.LOGS);
  readonly #shell = new Shell<RegistryState, RegistryEvent, RegistryMessage>(this.ctx, registryMachine, {
    load: (_alarmAt, _now, record = this.#store.read()) => ({
      record,
      refusals: {},
      tokens: this.#rows<TokenRow>("tokens", isLiveToken),
      secrets: this.#rows<SecretRow>("secrets"),
      dataKeys: this.#rows<DataKeyRow>("data_keys"),
      keks: this.#vault.numbers,
      exchanged: this.#rows<TokenRow>("exchanged", isLiveExchange),
      trust: this.#rows<TrustRow>("trust", isLiveRule),
      keys: this.#rows<SigningKeyRow>("keys", isLiveKey),
      sessions: this.#rows<SessionRow>("sessions"),
      projects: this.#rows<ProjectRow>("projects"),
      webhooks: this.#rows<WebhookRow>("webhooks"),
      jobs: this.#rows<JobRow>("jobs"),
      removedJobs: this.#rows<RemovedJob>("removed_jobs", () => false),
      audit: this.#audit.load(record?.exported),
    }),
    isStored: (state) => tablesOf(state).every((rows) => rows.isFlushed) && this.#store.has(state.record),
    save: (state) => {
      for (const rows of tablesOf(state)) rows.flush();
      if (state.record !== null) this.#store.write(state.record);
    },
    send: async (message): Promise<RegistryEvent> => {
      if (message.kind === "export_audit") return this.#audit.export(message);
      if (message.kind === "rewrap") return this.#vault.rewrap(message.body);
      if (message.kind === "reseal") return this.#vault.reseal(message.body);
      return post(peersOf(this.env), message);
    },
  });
  readonly #parts = {
    env: this.env,
    audit: this.#audit,
    vault: this.#vault,
    keys: new KeyCalls(this.#shell, this.env),
  };

  /** A table of which `isLive` says which rows stay in memory; by default all. */
  #rows<Row>(table: TableName, isLive: (row: Row) => boolean = () => true): Rows<Row> {
    return new Rows(new SqlRowDisk<Row>(this.ctx.storage.sql, table), isLive);
  }

  override async alarm(): Promise<void> {
    this.#shell.alarm();
  }

  async call(method: string, args: unknown[], via?: Via): Promise<unknown> {
    const own = registryCalls({ ...this.#parts, shell: enteredVia(this.#shell, via) });
    if (!Object.hasOwn(own, method)) throw new DroverError("internal", `there is no call ${method}`);
    // `registryOf` is typed by `RegistryApi`, so the arguments fit the method.
    const calls = own as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    return calls[method]?.(...args);
  }
}

/** All tables of the registry. */
function tablesOf({ tokens, secrets, dataKeys, exchanged, trust, ...others }: RegistryState) {
  const { keys, sessions, projects, webhooks, jobs, removedJobs, audit } = others;
  const access = [tokens, secrets, dataKeys, exchanged, trust, keys, sessions, projects];
  return [...access, webhooks, jobs, removedJobs, audit.rows];
}
