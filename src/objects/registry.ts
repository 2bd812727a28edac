// Which storage and methods does the registry of pools have? Its decisions are in `core/registry`.
import { DurableObject } from "cloudflare:workers";
import type { Removal } from "../core/messages.ts";
import { ownValue } from "../core/own-value.ts";
import {
  poolsOf,
  type RegistryEvent,
  type RegistryMessage,
  type RegistryRecord,
  type RegistryState,
  registryMachine,
} from "../core/registry/machine.ts";
import { withSecret } from "../core/registry/secret.ts";
import type { PoolDeletion, PoolView, PutPoolConfig } from "../schema/pool.ts";
import { DroverError } from "../shared/errors.ts";
import type { Env } from "./env.ts";
import { post } from "./messages/post.ts";
import { peersOf } from "./messages/stubs.ts";
import type { RegistryApi } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { ValueStore } from "./store.ts";
import { acknowledged } from "./waiting.ts";

/** How many random characters tell a pool's workers from those of earlier pools with the same name. */
const SEED_CHARS = 4;

/** The one Durable Object that owns the pools' configurations. */
export class Registry extends DurableObject<Env> implements RegistryApi {
  readonly #store = new ValueStore<RegistryRecord>(this.ctx.storage);
  readonly #shell = new Shell<RegistryState, RegistryEvent, RegistryMessage>(this.ctx, registryMachine, {
    load: () => ({ record: this.#store.read(), refusals: {} }),
    save: (state) => {
      if (state.record !== null) this.#store.write(state.record);
    },
    send: (message) => post(peersOf(this.env), message),
  });
  readonly #actor = this.#shell.actor;

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

  /** Waits until the pool has the present revision. Throws if the pool refuses it, or does not answer. */
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
    await Promise.allSettled(pokes); // the next cron tick repeats those that failed
  }
}

function secretMissing(created: boolean): DroverError {
  const why = created ? "the pool does not exist yet" : "the pool's provider has another `url`";
  const detail = `is required: ${why}, so there is no secret that could stay`;
  return new DroverError("invalid_request", `/provider/secret ${detail}`, {
    fields: [{ pointer: "/provider/secret", detail }],
  });
}
