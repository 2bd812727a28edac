import type { PoolConfig } from "../../src/schema/pool.ts";
import { PoolConfig as PoolConfigSchema } from "../../src/schema/pool.ts";
import { RunSpec, type RunSpecInput } from "../../src/schema/run.ts";
import type { Behavior } from "./host.ts";
import type { Chance } from "./rng.ts";

/** One run that the simulation submits, and what its user does later. */
export interface Job {
  id: string;
  spec: RunSpec;
  submitAtMs: number;
  abortAtMs: number | null;
}

/** The pool of every simulation: short times, so that a story of some thousand steps sees leases end. */
/** How long ended runs are kept here: so short that some are forgotten while others still run. */
export const RETENTION_MS = 90_000;

export const POOL: PoolConfig = PoolConfigSchema.parse({
  provider: { kind: "http", url: "http://127.0.0.1:1", secret: "sim" },
  instanceTypes: {
    small: { vcpus: 2, memory: "4GiB", price: 1 },
    large: { vcpus: 4, memory: "8GiB", price: 3 },
  },
  maxInstances: 3,
  probe: { interval: "20s", boot: "true" },
  timeouts: { boot: "3m", probe: "4m", idle: "30s", shutdown: "10s", lease: "5m" },
  retention: { runs: `${RETENTION_MS}ms` },
});

/** The jobs of one simulation: short and long, some with limits, some aborted, some of several tasks. */
export function jobs(count: number, chance: Chance): Job[] {
  return Array.from({ length: count }, (_, i) => {
    const submitAtMs = chance.between(0, 120_000);
    const what = chance.chance(0.5) ? group(chance) : command(chance);
    const spec = RunSpec.parse({
      ...what,
      priority: chance.between(1, 100),
      killTimeout: `${chance.between(0, 10)}s`,
      ...(chance.chance(0.2) ? { timeout: `${chance.between(5, 300)}s` } : {}),
      ...(chance.chance(0.1) ? { queueTimeout: `${chance.between(5, 300)}s` } : {}),
    });
    const abortAtMs = chance.chance(0.2) ? submitAtMs + chance.between(0, 200_000) : null;
    return { id: `run-${i + 1}`, spec, submitAtMs, abortAtMs };
  });
}

function argv(chance: Chance, exitCode: number, longest = 600_000): string[] {
  const behavior: Behavior = {
    durationMs: chance.chance(0.7) ? chance.between(1, 30_000) : chance.between(30_000, longest),
    exitCode,
    ignoresTerm: chance.chance(0.3),
    ...(chance.chance(0.05) ? { missing: true } : {}),
  };
  return ["sim", JSON.stringify(behavior)];
}

function command(chance: Chance): RunSpecInput {
  return {
    argv: argv(chance, chance.between(0, 3)),
    resources: { vcpus: chance.between(0, 3), memory: "512MiB" },
    ...(chance.chance(0.3) ? { restart: { attempts: 2, delay: "3s" } } : {}),
    ...(chance.chance(0.3) ? { reschedule: { attempts: 2, delay: "10s" } } : {}),
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
      argv: argv(chance, chance.chance(0.7) ? 0 : 1, 120_000),
      // All together they fit onto the larger machine.
      resources: { vcpus: i < 4 ? chance.between(0, 1) : 0, memory: "256MiB" },
      restart: { attempts: chance.between(0, 2), delay: `${chance.between(0, 5)}s` },
      shutdownDelay: `${chance.chance(0.3) ? chance.between(0, 5) : 0}s`,
    })),
    shutdownDelay: `${chance.chance(0.2) ? chance.between(0, 5) : 0}s`,
    reschedule: { attempts: chance.between(0, 2), delay: "5s" },
  };
}
