// What does the registry answer to calls about pools (api.md#pools)? `core/registry` decides.
import type { Removal } from "../../core/messages.ts";
import { ownValue } from "../../core/own-value.ts";
import { refusalOfPut, refusalOfRemoval, withProject } from "../../core/registry/pool-projects.ts";
import { poolsOf } from "../../core/registry/pools.ts";
import { refusalOfSecretName, withSecret } from "../../core/registry/secret.ts";
import type { PoolDeletion, PutPoolConfig } from "../../schema/pool.ts";
import { DEFAULT_PROJECT, projectsServed } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Peers } from "../messages/stubs.ts";
import type { RegistryShell } from "../messages/via.ts";
import type { RegistryApi } from "../rpc.ts";
import { acknowledged } from "../waiting.ts";
import type { Acting, PoolRef } from "./api.ts";

/** How many random characters tell a pool's workers from the workers of earlier pools with the same name. */
const SEED_CHARS = 4;

/** The calls of `RegistryApi` about pools. */
export class PoolCalls {
  readonly #shell: RegistryShell;
  readonly #peers: () => Peers;

  constructor(shell: RegistryShell, peers: () => Peers) {
    this.#shell = shell;
    this.#peers = peers;
  }

  async put(name: string, sent: PutPoolConfig, { by, project }: Acting): ReturnType<RegistryApi["putPool"]> {
    const state = this.#shell.enter();
    const wanted = withProject(sent, project, this.#has(name) ? this.#entry(name)?.wanted : undefined);
    const refusal = refusalOfPut(state, name, wanted, project);
    if (refusal !== null) throw refusal;
    const created = !this.#has(name);
    const config = withSecret(
      wanted,
      created ? undefined : this.#entry(name)?.wanted,
      project ?? DEFAULT_PROJECT,
    );
    if (config === undefined) throw secretMissing(created);
    const unnamed = refusalOfSecretName(state, config, wanted);
    if (unnamed !== null) throw unnamed;
    const seed = crypto.randomUUID().slice(0, SEED_CHARS);
    this.#shell.enter({ type: "put", pool: name, config, seed, by });
    await this.#awaitPool(name);
    return { created, view: await this.#peers().pool(name).view() };
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
    await acknowledged(this.#shell.actor, () => this.#entry(name) === undefined || accepted(), text);
    const refusal = ownValue(this.#shell.actor.state.refusals, name);
    if (refusal?.revision === revision) throw new DroverError(refusal.code, refusal.text);
  }

  async remove(name: string, how: Removal, { by, project }: Acting): Promise<PoolDeletion> {
    const refusal = refusalOfRemoval(this.#shell.enter(), name, project);
    if (refusal !== null) throw refusal;
    this.#shell.enter({ type: "remove", pool: name, how, by });
    await this.#awaitPool(name);
    return { name, deleted: !this.#has(name), leftBehind: this.#entry(name)?.left };
  }

  list(): PoolRef[] {
    return poolsOf(this.#shell.enter())
      .map(([name, { wanted }]) => ({ name, projects: projectsServed(wanted) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async poke(all: boolean): Promise<void> {
    const { record } = this.#shell.enter();
    // A deleted pool wakes by itself for what it has left to do (audit.md#deleted-pools). When the clock was
    // set, its alarm comes at the wrong time.
    const names = all ? Object.keys(record?.pools ?? {}) : poolsOf({ record }).map(([name]) => name);
    const pokes = names.map((name) => this.#peers().pool(name).poke(all));
    await Promise.allSettled(pokes); // the next cron tick repeats the failed pokes
  }

  #entry(name: string) {
    return ownValue(this.#shell.actor.state.record?.pools, name);
  }

  #has(name: string): boolean {
    return poolsOf(this.#shell.actor.state).some(([one]) => one === name);
  }
}

function secretMissing(created: boolean): DroverError {
  const why = created ? "the pool does not exist yet" : "the pool's provider has another `url`";
  const detail = `is required: ${why}, so there is no secret that could stay`;
  return new DroverError("invalid_request", `/provider/secret ${detail}`, {
    fields: [{ pointer: "/provider/secret", detail }],
  });
}
