import type { Timer } from "../../../src/objects/waiting.ts";
import type { Audit } from "../audit.ts";
import type { Objects } from "../objects.ts";
import { Chance } from "../rng.ts";
import type { Options } from "../simulation.ts";
import type { World } from "../world.ts";
import { JobAudit } from "./audit.ts";
import { BEGINNINGS } from "./fields.ts";
import type { JobWorld } from "./node.ts";
import { JobUsers } from "./users.ts";

/** Of so many stories one has jobs. */
const JOBS_IN = 4;

/** The jobs of a story: their objects, their users, and what is looked after. */
export interface Schedules {
  begin(projectOfNext: () => string): void;
  /** A job that has not come to its end. */
  unfinished(): string | undefined;
  afterAll(): void;
}

interface Around {
  world: World;
  objects: Objects;
  audit: Audit;
  timer: Timer;
}

/** Gives some stories jobs, which begin where clocks are about to move. Undefined: this one has none. */
export function schedulesOf(options: Options, around: Around): Schedules | undefined {
  // Apart from the chance of everything else, so that all else is the same without jobs.
  const chance = new Chance(options.seed ^ 0x510e527f);
  const isDrawn = chance.between(1, JOBS_IN) === 1 && options.jobs === undefined;
  const beginning = chance.pick(BEGINNINGS);
  if (beginning === undefined || !(options.hasJobs ?? isDrawn)) return undefined;
  const { world, objects, timer } = around;
  world.time.now = Date.parse(beginning.at);
  const stored = (run: string) => objects.allocations.get(run)?.disk.value ?? null;
  const audit = new JobAudit(world, around.audit, stored);
  const allocation = (run: string) => objects.allocation(run);
  const calls: JobWorld = {
    world,
    timer,
    audit,
    allocation,
    registry: () => objects.registry,
    pool: () => objects.pool,
    job: (id) => objects.job(id, calls),
    toFollow: options.machines.job.toFollow,
  };
  const users = new JobUsers(calls, (id) => objects.job(id, calls), beginning, options.seed);
  return {
    begin: (projectOfNext) => users.begin(projectOfNext),
    unfinished: () => users.unfinished(),
    afterAll: () => audit.afterAll(),
  };
}
