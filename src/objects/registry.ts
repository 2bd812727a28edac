// Which pools exist, for the edge? The decisions are in `core/registry`.
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
import { ACKNOWLEDGE_MS } from "../shared/limits.ts";
import type { Env } from "./env.ts";
import { post } from "./messages/post.ts";
import { peersOf } from "./messages/stubs.ts";
import type { RegistryApi } from "./rpc.ts";
import { Shell } from "./shell.ts";
import { ValueStore } from "./store.ts";
import { until } from "./waiting.ts";

/** How many random characters distinguish a pool's worker names from those of earlier pools of its name. */
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
    const known = created ? undefined : ownValue(this.#actor.state.record?.pools, name)?.wanted;
    const config = withSecret(wanted, known);
    if (config === undefined) throw secretMissing(created);
    const seed = crypto.randomUUID().slice(0, SEED_CHARS);
    const pools = this.#shell.enter({ type: "put", pool: name, config, seed }).record?.pools;
    await this.#awaitPool(name, ownValue(pools, name)?.revision ?? 0);
    return { created, view: await peersOf(this.env).pool(name).view() };
  }

  /** Waits until the pool has this revision. Throws if the pool refuses it, or does not answer. */
  async #awaitPool(name: string, revision: number): Promise<void> {
    const entry = () => ownValue(this.#actor.state.record?.pools, name);
    const decided = () => entry() === undefined || entry()?.accepted?.revision === revision;
    if (!(await until(this.#actor, decided, ACKNOWLEDGE_MS))) {
      const text =
        "the configuration is stored, but the pool has not confirmed it in time; it will be tried again";
      throw new DroverError("not_acknowledged", text, { retryAfterMs: 1_000 });
    }
    const refusal = ownValue(this.#actor.state.refusals, name);
    if (refusal?.revision === revision) throw new DroverError(refusal.code, refusal.text);
  }

  async removePool(name: string, how: Removal, by?: string): Promise<PoolDeletion> {
    if (!this.#has(name)) throw new DroverError("unknown_pool", `there is no pool "${name}"`);
    const { record } = this.#shell.enter({ type: "remove", pool: name, how, by });
    const revision = ownValue(record?.pools, name)?.revision ?? 0;
    await this.#awaitPool(name, revision);
    const left = ownValue(this.#actor.state.record?.pools, name)?.left;
    return { name, deleted: !this.#has(name), ...(left === undefined ? {} : { leftBehind: left }) };
  }

  async pools(): Promise<string[]> {
    return poolsOf(this.#shell.enter())
      .map(([name]) => name)
      .sort();
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
