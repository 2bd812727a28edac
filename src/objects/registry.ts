// Which storage and methods does the registry of pools have? Its decisions are in `core/registry`.
import { DurableObject } from "cloudflare:workers";
import type { Removal } from "../core/messages.ts";
import { ownValue } from "../core/own-value.ts";
import {
  type RegistryEvent,
  type RegistryMessage,
  type RegistryState,
  registryMachine,
} from "../core/registry/machine.ts";
import { poolsOf, type RegistryRecord } from "../core/registry/pools.ts";
import { withSecret } from "../core/registry/secret.ts";
import { type DataKeyRow, isLiveRow, type SecretRow } from "../core/registry/secrets.ts";
import { isLiveToken, type NewTokenRow, type TokenGrant, type TokenRow } from "../core/registry/tokens.ts";
import { Rows } from "../core/rows.ts";
import type { HostSecrets, SecretList, StoredSecret } from "../schema/access/secret.ts";
import type { Token } from "../schema/access/token.ts";
import type { PoolDeletion, PoolView, PutPoolConfig } from "../schema/pool.ts";
import { DroverError } from "../shared/errors.ts";
import type { Env, RegistryStub } from "./env.ts";
import { post } from "./messages/post.ts";
import { peersOf } from "./messages/stubs.ts";
import { TokenCalls } from "./reads/token-calls.ts";
import type { SecretsFor } from "./rpc.ts";
import { SecretCalls } from "./secrets/secret-calls.ts";
import { Vault } from "./secrets/vault.ts";
import { Shell } from "./shell.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { acknowledged } from "./waiting.ts";

/** How many random characters tell a pool's workers from the workers of earlier pools with the same name. */
const SEED_CHARS = 4;

/** The one Durable Object that owns the pools' configurations, the tokens and the secrets. */
export class Registry extends DurableObject<Env> implements RegistryStub {
  readonly #store = new ValueStore<RegistryRecord>(this.ctx.storage);
  readonly #tokens = new SqlRowDisk<TokenRow>(this.ctx.storage.sql, "tokens");
  readonly #secrets = new SqlRowDisk<SecretRow>(this.ctx.storage.sql, "secrets");
  readonly #dataKeys = new SqlRowDisk<DataKeyRow>(this.ctx.storage.sql, "data_keys");
  readonly #vault = new Vault(this.env);
  readonly #shell = new Shell<RegistryState, RegistryEvent, RegistryMessage>(this.ctx, registryMachine, {
    load: () => ({
      record: this.#store.read(),
      refusals: {},
      tokens: new Rows(this.#tokens, isLiveToken),
      secrets: new Rows(this.#secrets, isLiveRow),
      dataKeys: new Rows(this.#dataKeys, isLiveRow),
      keks: this.#vault.numbers,
    }),
    save: (state) => {
      for (const rows of [state.tokens, state.secrets, state.dataKeys]) rows.flush();
      if (state.record !== null) this.#store.write(state.record);
    },
    send: (message) =>
      message.object === "vault" ? this.#vault.rewrap(message.body) : post(peersOf(this.env), message),
  });
  readonly #actor = this.#shell.actor;
  readonly #tokenCalls = new TokenCalls(this.#shell);
  readonly #secretCalls = new SecretCalls(this.#shell, this.#vault);

  override async alarm(): Promise<void> {
    this.#shell.alarm();
  }

  async putPool(name: string, wanted: PutPoolConfig): Promise<{ created: boolean; view: PoolView }> {
    const created = !this.#has(name);
    const config = withSecret(wanted, created ? undefined : this.#entry(name)?.wanted);
    if (config === undefined) throw secretMissing(created);
    const seed = crypto.randomUUID().slice(0, SEED_CHARS);
    this.#shell.enter({ type: "put", pool: name, config, seed });
    await this.#awaitPool(name);
    return { created, view: await peersOf(this.env).pool(name).view() };
  }

  /**
   * Waits until the pool has the present revision. Throws if the pool refuses the configuration, or does not
   * answer.
   */
  async #awaitPool(name: string): Promise<void> {
    const revision = this.#entry(name)?.revision ?? 0;
    const accepted = () => this.#entry(name)?.accepted?.revision === revision;
    const text =
      "the configuration is stored, but the pool has not confirmed it in time; it will be tried again";
    await acknowledged(this.#actor, () => this.#entry(name) === undefined || accepted(), text);
    const refusal = ownValue(this.#actor.state.refusals, name);
    if (refusal?.revision === revision) throw new DroverError(refusal.code, refusal.text);
  }

  async removePool(name: string, how: Removal, by?: string): Promise<PoolDeletion> {
    if (!this.#has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
    this.#shell.enter({ type: "remove", pool: name, how, by });
    await this.#awaitPool(name);
    return { name, deleted: !this.#has(name), leftBehind: this.#entry(name)?.left };
  }

  async pools(): Promise<string[]> {
    return poolsOf(this.#shell.enter())
      .map(([name]) => name)
      .sort();
  }

  async createToken(token: NewTokenRow): Promise<Token> {
    return this.#tokenCalls.create(token);
  }

  async rotateToken(id: string, digest: string, overlapMs: number): Promise<Token> {
    return this.#tokenCalls.rotate(id, digest, overlapMs);
  }

  async revokeToken(id: string, by: string): Promise<Token> {
    return this.#tokenCalls.revoke(id, by);
  }

  async tokens(): Promise<Token[]> {
    return this.#tokenCalls.list();
  }

  async token(id: string): Promise<Token> {
    return this.#tokenCalls.read(id);
  }

  async grant(id: string, digest?: string): Promise<TokenGrant | null> {
    return this.#tokenCalls.grant(id, digest);
  }

  async setSecret(name: string, value: Uint8Array, by: string): Promise<StoredSecret> {
    return this.#secretCalls.set(name, value, by);
  }

  async removeSecret(name: string, by: string): Promise<void> {
    this.#secretCalls.remove(name, by);
  }

  async secrets(): Promise<Omit<SecretList, "next">> {
    return this.#secretCalls.list();
  }

  async missingSecrets(names: string[]): Promise<string[]> {
    return this.#secretCalls.missing(names);
  }

  async handSecrets(request: SecretsFor): Promise<HostSecrets> {
    return this.#secretCalls.hand(request);
  }

  #entry(name: string) {
    return ownValue(this.#actor.state.record?.pools, name);
  }

  #has(name: string): boolean {
    return poolsOf(this.#actor.state).some(([one]) => one === name);
  }

  async poke(all = false): Promise<void> {
    this.#shell.enter();
    const { pool } = peersOf(this.env);
    const pokes = poolsOf(this.#actor.state).map(([name]) => pool(name).poke(all));
    await Promise.allSettled(pokes); // the next cron tick repeats the failed pokes
  }
}

function secretMissing(created: boolean): DroverError {
  const why = created ? "the pool does not exist yet" : "the pool's provider has another `url`";
  const detail = `is required: ${why}, so there is no secret that could stay`;
  return new DroverError("invalid_request", `/provider/secret ${detail}`, {
    fields: [{ pointer: "/provider/secret", detail }],
  });
}
