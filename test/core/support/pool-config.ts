import { PoolConfig, type PoolConfigInput } from "../../../src/schema/pool.ts";

/** The provider of the tests' pools. */
export const PROVIDER = { kind: "http", url: "http://cloud.test", secret: "s" } as const;

/**
 * A pool with one instance type of 4 vCPUs, and whatever else the test gives. Its numbers may contradict each
 * other, like those of pools that were stored before that was refused.
 */
export function poolConfig({ minInstances = 0, ...more }: Partial<PoolConfigInput> = {}): PoolConfig {
  const small = { vcpus: 4, memory: "1GiB", price: 1 };
  return { ...PoolConfig.parse({ provider: PROVIDER, instanceTypes: { small }, ...more }), minInstances };
}
