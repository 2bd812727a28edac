import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import { holdsSlot } from "../../src/core/pool/concurrency/slots.ts";
import { plan } from "../../src/core/pool/plan/plan.ts";
import { replaceKey } from "../../src/core/pool/record.ts";
import type { PoolState } from "../../src/core/pool/state.ts";
import type { Concurrency } from "../../src/schema/run/start/concurrency.ts";
import { projectOfRun } from "../../src/shared/access/project.ts";
import { CONCURRENCY_STRATEGIES } from "../../src/shared/limits.ts";
import type { Process } from "./player.ts";
import { Chance } from "./rng.ts";
import type { Job } from "./workload.ts";
import type { World } from "./world.ts";

// Runs that share the slots of concurrency keys (pool.md#concurrency-keys): who has which, what must hold.

/** Of so many stories one is about concurrency keys. */
const KEYED_IN = 3;
const KEYS = ["site", "site", "docs"];
/** One look at what waits for a key in so many steps. */
const EVERY_STEPS = 25;
const REPLACED = /^run (\S+) replaces it$/;

/** Gives most of the jobs of some stories a concurrency key, with any strategy. */
export function keyed(jobs: readonly Job[], seed: number): Job[] {
  // Apart from the chance of everything else, so that all else is the same with keys and without.
  const chance = new Chance(seed ^ 0x3c6ef372);
  if (chance.between(1, KEYED_IN) !== 1) return [...jobs];
  const limit = chance.between(1, 2);
  return jobs.map((job) => {
    const concurrency = { key: chance.pick(KEYS) ?? "site", ...wish(chance, limit) };
    return chance.chance(0.8) ? { ...job, spec: { ...job.spec, concurrency } } : job;
  });
}

function wish(chance: Chance, usual: number): Omit<Concurrency, "key"> {
  const strategy = chance.pick([...CONCURRENCY_STRATEGIES]) ?? "queue";
  const limit = chance.chance(0.8) ? usual : chance.between(1, 3);
  const isBounded = (strategy === "queue" || strategy === "round-robin") && chance.chance(0.3);
  return { limit, strategy, ...(isBounded ? { queueMax: chance.between(0, 2) } : {}) };
}

/** Looks after what the pool promises of concurrency keys, by what was submitted and what is stored. */
export class KeyAudit {
  readonly #world: World;
  /** What was submitted, by run. */
  readonly #specs = new Map<string, Pick<Job["spec"], "concurrency" | "replace">>();
  #isKeyed = false;
  #steps = 0;

  constructor(world: World) {
    this.#world = world;
  }

  submitted({ id, spec }: Pick<Job, "id" | "spec">): void {
    this.#specs.set(id, spec);
    this.#isKeyed ||= spec.concurrency !== undefined;
  }

  /** No more runs of a key live at once than any of them allows. */
  started({ id, run, worker }: Process, alive: Iterable<Process>): void {
    const name = this.#nameOf(run);
    if (name === undefined) return;
    const living = new Set([run]);
    for (const other of alive) if (other.alive && this.#nameOf(other.run) === name) living.add(other.run);
    const most = Math.max(...[...living].map((one) => this.#limitOf(one)));
    if (living.size <= most) return;
    const text = `R3: ${id} starts, and ${living.size} runs have ${name}, of which at most ${most} may run`;
    this.#world.violated(text, ...living, worker);
  }

  /** A run that another one replaces says which: one with its key, whose strategy ends others. */
  ended(run: string, { stopRequest }: AllocationRecord): void {
    const by = REPLACED.exec(stopRequest?.reason ?? "")?.[1];
    if (by === undefined) return;
    const project = projectOfRun(run);
    const [own, other] = [this.#specs.get(run), this.#specs.get(by)];
    const strategy = other?.concurrency?.strategy;
    const ends = strategy === "cancel-running" || strategy === "queue-one";
    const isByKey = ends && this.#nameOf(run) === this.#nameOf(by);
    const key = replaceKey({ project, replace: own?.replace });
    const isReplaced =
      key !== undefined && key === replaceKey({ project: projectOfRun(by), replace: other?.replace });
    if (!isByKey && !isReplaced)
      this.#world.violated(`R3: ${run} is replaced by ${by}, which has another key`, run, by);
  }

  /** No run waits for its key while the key has a slot that nobody holds, or is about to get. */
  afterStep(pool: () => PoolState | undefined): void {
    this.#steps += 1;
    if (!this.#isKeyed || this.#steps % EVERY_STEPS !== 0) return;
    const state = pool();
    if (state === undefined || state.record === null) return;
    const { waits } = plan({ ...state, record: state.record }, this.#world.planeNow);
    const held = (run: string) => waits.get(run)?.code === "concurrency_key";
    for (const [run] of waits) {
      if (!held(run)) continue;
      const name = this.#nameOf(run);
      const rivals = [...state.runs.live()].filter((row) => this.#nameOf(row.run) === name);
      // A submission that was refused may come late once more, and be found out when its row is asked for.
      if (new Set(rivals.map((row) => row.run)).size < rivals.length) continue;
      const used = rivals.filter(
        (row) => holdsSlot(row) || (row.wants === "place" && row.replacedBy === undefined && !held(row.run)),
      );
      const most = this.#limitOf(run);
      if (used.length >= most) continue;
      this.#world.violated(
        `5: ${run} waits for ${name}, of which ${used.length} of ${most} slots are used`,
        run,
      );
    }
  }

  #nameOf(run: string): string | undefined {
    const key = this.#specs.get(run)?.concurrency?.key;
    return key === undefined ? undefined : `${projectOfRun(run)} ${key}`;
  }

  #limitOf(run: string): number {
    return this.#specs.get(run)?.concurrency?.limit ?? 1;
  }
}
