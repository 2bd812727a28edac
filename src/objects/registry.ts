// Which storage and methods does the registry of pools have? Its decisions are in `core/registry`.
import { DurableObject } from "cloudflare:workers";
import type { Removal } from "../core/messages.ts";
import { ownValue } from "../core/own-value.ts";
import { type Exchange, isLiveExchange } from "../core/registry/exchanged.ts";
import {
  type RegistryEvent,
  type RegistryMessage,
  type RegistryState,
  registryMachine,
} from "../core/registry/machine.ts";
import { poolsOf, type RegistryRecord } from "../core/registry/pools.ts";
import { withSecret } from "../core/registry/secret.ts";
import { isLiveKey, type SigningKeyRow, type SigningKeys } from "../core/registry/signing-keys.ts";
import { isLiveToken, type NewTokenRow, type TokenGrant, type TokenRow } from "../core/registry/tokens.ts";
import { isLiveRule, type TrustRow } from "../core/registry/trust.ts";
import { Rows } from "../core/rows.ts";
import type { Token } from "../schema/access/token.ts";
import type { TrustRule } from "../schema/access/trust.ts";
import type { PoolDeletion, PoolView, PutPoolConfig } from "../schema/pool.ts";
import { DroverError } from "../shared/errors.ts";
import type { Env } from "./env.ts";
import { post } from "./messages/post.ts";
import { peersOf } from "./messages/stubs.ts";
import { KeyCalls } from "./reads/key-calls.ts";
import { TokenCalls } from "./reads/token-calls.ts";
import { TrustCalls } from "./reads/trust-calls.ts";
import type { RegistryApi } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { SqlRowDisk, ValueStore } from "./store.ts";
import { acknowledged } from "./waiting.ts";

/** How many random characters tell a pool's workers from the workers of earlier pools with the same name. */
const SEED_CHARS = 4;

/** The one Durable Object that owns the pools' configurations, the tokens and the trust rules. */
export class Registry extends DurableObject<Env> implements RegistryApi {
  readonly #store = new ValueStore<RegistryRecord>(this.ctx.storage);
  readonly #tokens = new SqlRowDisk<TokenRow>(this.ctx.storage.sql, "tokens");
  readonly #exchanged = new SqlRowDisk<TokenRow>(this.ctx.storage.sql, "exchanged");
  readonly #trust = new SqlRowDisk<TrustRow>(this.ctx.storage.sql, "trust");
  readonly #keys = new SqlRowDisk<SigningKeyRow>(this.ctx.storage.sql, "keys");
  readonly #shell = new Shell<RegistryState, RegistryEvent, RegistryMessage>(this.ctx, registryMachine, {
    load: () => ({
      record: this.#store.read(),
      refusals: {},
      tokens: new Rows(this.#tokens, isLiveToken),
      exchanged: new Rows(this.#exchanged, isLiveExchange),
      trust: new Rows(this.#trust, isLiveRule),
      keys: new Rows(this.#keys, isLiveKey),
    }),
    save: (state) => {
      for (const table of [state.tokens, state.exchanged, state.trust, state.keys]) table.flush();
      if (state.record !== null) this.#store.write(state.record);
    },
    send: (message) => post(peersOf(this.env), message),
  });
  readonly #actor = this.#shell.actor;
  readonly #tokenCalls = new TokenCalls(this.#shell);
  readonly #trustCalls = new TrustCalls(this.#shell);
  readonly #keyCalls = new KeyCalls(this.#shell, this.env);

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

  async putTrustRule(rule: TrustRow): Promise<{ created: boolean; rule: TrustRule }> {
    return this.#trustCalls.put(rule);
  }

  async removeTrustRule(name: string, by: string): Promise<TrustRule> {
    return this.#trustCalls.remove(name, by);
  }

  async trustRules(): Promise<TrustRule[]> {
    return this.#trustCalls.list();
  }

  async trustRule(name: string): Promise<TrustRule> {
    return this.#trustCalls.read(name);
  }

  async trustRulesOf(issuer: string): Promise<TrustRow[]> {
    return this.#trustCalls.of(issuer);
  }

  async exchange(wanted: Exchange): Promise<void> {
    this.#trustCalls.exchange(wanted);
  }

  async signingKeys(): Promise<SigningKeys> {
    return this.#keyCalls.keys();
  }

  #entry(name: string) {
    return ownValue(this.#actor.state.record?.pools, name);
  }

  #has(name: string): boolean {
    return poolsOf(this.#actor.state).some(([one]) => one === name);
  }

  async poke(all = false): Promise<void> {
    await this.#keyCalls.rotate().catch((error: unknown) => {
      console.error({ event: "key_not_rotated", error: String(error) });
    });
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
