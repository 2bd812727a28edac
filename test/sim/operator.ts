import type { RegistryEvent } from "../../src/core/registry/machine.ts";
import type { PoolConfig } from "../../src/schema/pool.ts";
import type { Audit } from "./audit.ts";
import type { Objects } from "./objects.ts";
import { Chance } from "./rng.ts";
import type { World } from "./world.ts";

/** Of the kills by name, how many are forced. */
const FORCED = 0.7;
/** Of the deletions, in how many the operator waits for the end before the pool is put again. */
const PATIENT = 0.7;
/** After which time the pool is put again, at most. */
const PUT_AFTER_MS = 300_000;
const LOOK_MS = 10_000;
/**
 * So soon a deletion by force is done where nothing fails any more: a silent host has its lease and a margin,
 * and where an alarm was lost the worker is asked after a lease, at a tick of the cron.
 */
const DELETED_WITHIN_MS = 20 * 60_000;

const REASON = "it is needed elsewhere";
const BY = "operator";

/** What each story's pool is called, and what distinguishes its workers' names from those of others. */
export const NAMES = { pool: "default", seed: "sim" };

/**
 * An operator who ends things by name: a worker, or the whole pool, which is put again later. By a source of
 * chance of its own, so that what else happens stays the same.
 */
export class Operator {
  readonly #world: World;
  readonly #objects: Objects;
  readonly #audit: Audit;
  readonly #config: PoolConfig;
  readonly #chance: Chance;

  constructor(world: World, objects: Objects, audit: Audit, config: PoolConfig, seed: number) {
    this.#world = world;
    this.#objects = objects;
    this.#audit = audit;
    this.#config = config;
    this.#chance = new Chance(seed ^ 0x2545f491);
  }

  /** Now and then the operator acts. */
  strike(): void {
    if (this.#world.strikes("forcedKill", this.#chance)) void this.#kill();
    const deletes = this.#world.strikes("forcedDeletion", this.#chance);
    if (deletes && !this.#audit.force.isDeleting) void this.#deletePool();
  }

  /** Kills any worker that is not gone: most by force, as if the provider were not to be reached. */
  async #kill(): Promise<void> {
    const living = this.#audit.workerRows().filter(({ phase }) => phase !== "gone");
    const worker = this.#chance.pick(living)?.worker;
    if (worker === undefined) return;
    const force = this.#chance.chance(FORCED);
    this.#world.tell(worker, `an operator kills it${force ? " by force" : " by name"}`);
    this.#audit.force.kills(worker);
    const event = { type: "kill" as const, reason: REASON, by: BY, force };
    await this.#world.retrying(() => this.#objects.worker(worker).serve((actor) => void actor.apply(event)));
  }

  /** Deletes the pool by force, and puts it again: when it is gone, or before that is known. */
  async #deletePool(): Promise<void> {
    const { time } = this.#world;
    const [isPatient, waitMs] = [this.#chance.chance(PATIENT), this.#chance.between(1_000, PUT_AFTER_MS)];
    this.#world.tell("pool", "an operator deletes it by force");
    this.#audit.force.deletes();
    const put: RegistryEvent = { type: "put", ...NAMES, config: this.#config, by: BY };
    const isFirst = this.#entry === undefined;
    await this.#tell(...(isFirst ? [put] : []), { type: "remove", pool: NAMES.pool, how: "forced", by: BY });
    if (isPatient) await this.#waitUntilGone();
    await time.sleep(waitMs);
    if (!isPatient && this.#entry?.gone === true) this.#audit.poolIsGone(this.#entry.left ?? []);
    this.#world.tell("pool", "an operator puts it again");
    await this.#tell(put);
    while (this.#entry?.accepted?.revision !== this.#entry?.revision) await time.sleep(1_000);
    this.#audit.force.isDeleting = false;
    this.#audit.force.backAt = this.#world.now;
  }

  async #waitUntilGone(): Promise<void> {
    let quietMs = 0;
    while (this.#entry?.gone !== true) {
      await this.#world.time.sleep(LOOK_MS);
      if (this.#world.quiet) quietMs += LOOK_MS;
      if (quietMs <= DELETED_WITHIN_MS) continue;
      this.#world.violated("5: the pool is deleted by force, and never gone", "pool");
      return;
    }
    this.#world.tell("pool", "it is gone");
    this.#audit.poolIsGone(this.#entry.left ?? []);
  }

  get #entry() {
    return this.#objects.registry.disk.value?.pools[NAMES.pool];
  }

  async #tell(...events: RegistryEvent[]): Promise<void> {
    const serve = () =>
      this.#objects.registry.serve((actor) => {
        for (const event of events) actor.apply(event);
      });
    await this.#world.retrying(serve);
  }
}
