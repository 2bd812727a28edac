import type { TaskRestart, TaskSignal } from "../../src/core/allocation/user/requests.ts";
import { type PoolConfig, PoolConfig as PoolConfigSchema } from "../../src/schema/pool.ts";
import { RunSpec, type RunSpecInput } from "../../src/schema/run/run.ts";
import type { FakeScript } from "../../src/schema/run/task.ts";
import { SIGNALS } from "../../src/shared/signals.ts";
import { withChecks } from "./checks.ts";
import { Chance } from "./rng.ts";

/** A signal or a restart that a user requests. `request.by` is unique, so that its effects can be found. */
export type Plea = { atMs: number } & (
  | { type: "signal"; request: TaskSignal }
  | { type: "restart"; request: TaskRestart }
);

/** One run that the simulation submits, and what its user does later. */
export interface Job {
  id: string;
  spec: RunSpec;
  submitAtMs: number;
  abortAtMs: number | null;
  pleas: Plea[];
  /** What happens a moment after these tasks have been started. */
  act?: { once: string[]; what: "abort" | "agent dies" };
}

/** How long ended runs are kept here: so short that some are forgotten while others still run. */
export const RETENTION_MS = 90_000;

/** The pool of every simulation: short times, so that a story of some thousand steps sees leases end. */
export const POOL: PoolConfig = PoolConfigSchema.parse({
  provider: { kind: "http", url: "http://127.0.0.1:1", secret: "sim" },
  instanceTypes: {
    small: { vcpus: 2, memory: "4GiB", price: 1 },
    large: { vcpus: 4, memory: "8GiB", price: 3 },
  },
  maxInstances: 3,
  probe: { interval: "20s", boot: "true" },
  timeouts: { boot: "3m", probe: "4m", idle: "30s", shutdown: "10s", lease: "5m" },
  allowFakeDriver: true,
  retention: { runs: `${RETENTION_MS}ms` },
});

/** The projects of some simulations, whose machines are kept apart. */
const PROJECTS: PoolConfig["projects"] = { default: {}, ml: { maxRuns: 4, maxInstances: 2 } };
/** Of so many stories one is about a pool of two projects. */
const PROJECTS_IN = 3;

/** The pool of a simulation, and the project of each of its runs in turn. */
export function poolOf(seed: number): { pool: PoolConfig; projectOfNext: () => string } {
  // Apart from the chance of everything else, so that all else is the same with projects and without.
  const chance = new Chance(seed ^ 0x2c1b3c6d);
  const hasProjects = chance.between(1, PROJECTS_IN) === 1;
  const kinds = { ...CLOUD, ...(seed % 2 === 0 ? { provider: GCE } : {}) };
  const cloud = chance.between(1, CLOUDS_IN) === 1 ? kinds : {};
  if (!hasProjects) return { pool: { ...POOL, ...cloud }, projectOfNext: () => "default" };
  return {
    pool: { ...POOL, ...cloud, projects: PROJECTS },
    projectOfNext: () => (chance.chance(0.5) ? "ml" : "default"),
  };
}

/** A cloud with zones, spot machines and their twins, of which each machine can be looked up. */
const CLOUD: Pick<PoolConfig, "provider" | "instanceTypes" | "image" | "spotPatience"> = {
  provider: {
    kind: "ec2",
    region: "sim",
    credentials: { binding: "CLOUD_SIM" },
    subnets: { a: "subnet-a", b: "subnet-b" },
    securityGroups: [],
    publicIp: true,
    rootDevice: "/dev/sda1",
  },
  image: "ami-1",
  spotPatience: "40s",
  instanceTypes: {
    small: {
      vcpus: 2,
      memory: "4GiB",
      disk: 0,
      gpus: 0,
      price: 0.4,
      preemptible: true,
      fallback: { price: 1 },
    },
    large: { vcpus: 4, memory: "8GiB", disk: 0, gpus: 0, price: 3 },
  },
};
/** A cloud that goes by names, which are free again once their machines have ended (clouds.md#free-names). */
const GCE: PoolConfig["provider"] = {
  kind: "gce",
  project: "sim",
  zones: ["a", "b"],
  credentials: { binding: "CLOUD_SIM" },
  network: "global/networks/default",
  publicIp: true,
  diskType: "pd-balanced",
  maxLife: "24h",
};

/** Of so many stories one is about such a cloud. */
const CLOUDS_IN = 3;

/** The runs of a short story, all of which are submitted within this time. */
export const SHORT_RUNS = 8;
const SHORT_WITHIN_MS = 120_000;
/** In a long story there is another run each time so much has passed: about what its machines can take. */
const EACH_MS = 60_000;

/** Within which time so many runs are submitted: in long stories as much goes on at once as in short ones. */
export function submittedWithinMs(count: number): number {
  return SHORT_WITHIN_MS + Math.max(0, count - SHORT_RUNS) * EACH_MS;
}

/**
 * The jobs of one simulation: short and long, some with limits, some aborted, some of several tasks. All are
 * submitted within `withinMs`.
 */
export function jobs(count: number, chance: Chance, withinMs = submittedWithinMs(count)): Job[] {
  return Array.from({ length: count }, (_, i) => {
    const id = `run-${i + 1}`;
    const submitAtMs = chance.between(0, withinMs);
    const what = chance.chance(0.5) ? group(chance) : command(chance);
    const asked: RunSpecInput = {
      ...what,
      priority: chance.between(1, 100),
      killTimeout: `${chance.between(0, 10)}s`,
      ...(chance.chance(0.2) ? { timeout: `${chance.between(5, 300)}s` } : {}),
      ...(chance.chance(0.4) ? { sticky: true } : {}),
      ...(hasResultTask(what) && chance.chance(0.3) ? { outputs: ["dist"] } : {}),
      ...(chance.chance(0.1) ? { queueTimeout: `${chance.between(5, 300)}s` } : {}),
      ...keepOf(submitAtMs),
    };
    const spec = RunSpec.parse(withChecks(asked, submitAtMs));
    const later = () => submitAtMs + chance.between(0, 200_000);
    const abortAtMs = chance.chance(0.2) ? later() : null;
    const count = chance.chance(0.5) ? chance.between(1, 3) : 0;
    const names = (spec.tasks ?? []).map(({ name }) => name);
    const pleas = Array.from({ length: count }, (_, k) =>
      plea(`user ${k + 1} of ${id}`, names, later(), chance),
    );
    return { id, spec, submitAtMs, abortAtMs, pleas };
  });
}

/** For how long a run is kept if it fails. Apart from the chance of everything else, which stays the same. */
function keepOf(submitAtMs: number): Pick<RunSpecInput, "keep"> {
  const chance = new Chance(submitAtMs ^ 0x51ed270b);
  return chance.chance(0.3) ? { keep: `${chance.between(1, 90)}s` } : {};
}

/** Whether the files of one of its tasks can be its result. */
function hasResultTask({ tasks = [] }: RunSpecInput): boolean {
  const mains = tasks.filter(({ lifecycle }) => lifecycle?.hook === undefined);
  return mains.length === 1 || tasks.some(({ leader }) => leader === true);
}

function plea(by: string, names: string[], atMs: number, chance: Chance): Plea {
  const task = chance.chance(0.6) ? chance.pick(names) : undefined;
  const signal = chance.pick(SIGNALS) ?? "SIGHUP";
  const all = task === undefined && chance.chance(0.3);
  return chance.chance(0.6)
    ? { atMs, type: "signal", request: { by, task, signal } }
    : { atMs, type: "restart", request: { by, task, all } };
}

/**
 * A command that plays a script of the fake driver (`Player`), so that every host takes it. `maybeLost`: the
 * end of its agent may be its own, because a start is under way or it dies with it.
 */
function played(chance: Chance, exitCode: number, longest = 600_000, maybeLost = false) {
  const runForMs = chance.chance(0.7) ? chance.between(1, 30_000) : chance.between(30_000, longest);
  const [missing, recoverable] = [chance.chance(0.05), chance.chance(0.5)];
  const startError = { code: "command_not_found" as const, text: "there is no such command", recoverable };
  const script: FakeScript = {
    runForMs,
    exitCode,
    ignoreSignals: chance.chance(0.3),
    dieWithAgent: maybeLost && chance.chance(0.1),
    blockStartMs: maybeLost && chance.chance(0.1) ? chance.between(1, 20_000) : 0,
    output: [],
    ...(missing ? { startError } : {}),
  };
  return { argv: ["play"], env: { SCRIPT: JSON.stringify(script) } };
}

/** One task, which like a command by itself is not started or placed again unless that is said. */
function command(chance: Chance): RunSpecInput {
  return {
    tasks: [{ name: "main", ...played(chance, chance.between(0, 3)) }],
    resources: { vcpus: chance.between(0, 3), memory: "512MiB" },
    restart: { attempts: chance.chance(0.3) ? 2 : 0, delay: "3s" },
    reschedule: { attempts: chance.chance(0.3) ? 2 : 0, delay: "10s" },
  };
}

/** A group of each kind of task, with failures, restarts, delays and a leader now and then. */
function group(chance: Chance): RunSpecInput {
  const kinds = [
    { hook: "prestart" as const },
    { hook: "prestart" as const, sidecar: true },
    {},
    { hook: "poststart" as const },
    { hook: "poststart" as const, sidecar: true },
    { hook: "poststop" as const },
  ];
  const lifecycles = [{}, ...kinds.filter(() => chance.chance(0.35))];
  const leader = chance.chance(0.3) ? chance.between(0, lifecycles.length - 1) : -1;
  return {
    tasks: lifecycles.map((lifecycle, i) => ({
      name: `t${i}`,
      lifecycle,
      leader: i === leader && !("hook" in lifecycle && lifecycle.hook === "poststop"),
      ...played(chance, chance.chance(0.7) ? 0 : 1, 120_000, lifecycles.length > 1),
      // All together they fit onto the larger machine.
      resources: { vcpus: i < 4 ? chance.between(0, 1) : 0, memory: "256MiB" },
      restart: { attempts: chance.between(0, 2), delay: `${chance.between(0, 5)}s` },
      shutdownDelay: `${chance.chance(0.3) ? chance.between(0, 5) : 0}s`,
    })),
    shutdownDelay: `${chance.chance(0.2) ? chance.between(0, 5) : 0}s`,
    reschedule: { attempts: chance.between(0, 2), delay: "5s" },
  };
}
