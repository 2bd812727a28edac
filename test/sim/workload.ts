import type { PoolConfig } from "../../src/schema/pool.ts";
import { PoolConfig as PoolConfigSchema } from "../../src/schema/pool.ts";
import { RunSpec } from "../../src/schema/run.ts";
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
export const POOL: PoolConfig = PoolConfigSchema.parse({
  provider: { kind: "http", url: "http://127.0.0.1:1", secret: "sim" },
  instanceTypes: {
    small: { vcpus: 2, memory: "4GiB", price: 1 },
    large: { vcpus: 4, memory: "8GiB", price: 3 },
  },
  maxInstances: 3,
  probe: { interval: "20s", boot: "true" },
  timeouts: { boot: "3m", probe: "4m", idle: "30s", shutdown: "10s", lease: "5m" },
});

/** The jobs of one simulation: short and long, some with limits, some that are aborted. */
export function jobs(count: number, chance: Chance): Job[] {
  return Array.from({ length: count }, (_, i) => {
    const behavior: Behavior = {
      durationMs: chance.chance(0.7) ? chance.between(1, 30_000) : chance.between(30_000, 600_000),
      exitCode: chance.between(0, 3),
      ignoresTerm: chance.chance(0.3),
    };
    const submitAtMs = chance.between(0, 120_000);
    const spec = RunSpec.parse({
      argv: ["sim", JSON.stringify(behavior)],
      priority: chance.between(1, 100),
      resources: { vcpus: chance.between(0, 3), memory: "512MiB" },
      killTimeout: `${chance.between(0, 10)}s`,
      ...(chance.chance(0.2) ? { timeout: `${chance.between(5, 300)}s` } : {}),
      ...(chance.chance(0.1) ? { queueTimeout: `${chance.between(5, 300)}s` } : {}),
    });
    const abortAtMs = chance.chance(0.2) ? submitAtMs + chance.between(0, 200_000) : null;
    return { id: `run-${i + 1}`, spec, submitAtMs, abortAtMs };
  });
}
