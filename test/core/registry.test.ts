import { describe, expect, test } from "vitest";
import type { ConfigureAnswer } from "../../src/core/messages.ts";
import { type RegistryEvent, type RegistryState, registryMachine } from "../../src/core/registry/machine.ts";
import { PoolConfig } from "../../src/schema/pool.ts";

const small = configOf(1);
const large = configOf(9);

function configOf(maxInstances: number): PoolConfig {
  const provider = { kind: "http", url: "http://cloud.test", secret: "s" } as const;
  return PoolConfig.parse({ provider, instanceTypes: { one: { vcpus: 1, memory: "1GiB" } }, maxInstances });
}

const put = (config: PoolConfig, seed = "s1", pool = "default"): RegistryEvent => ({
  type: "put",
  pool,
  config,
  seed,
});
const answered = (answer: ConfigureAnswer, pool = "default"): RegistryEvent => ({
  type: "configured",
  pool,
  answer,
});
const configured = (revision: number) => answered({ kind: "configured", revision });
const refused = (revision: number) =>
  answered({ kind: "refused", revision, code: "pool_in_use", text: "drain it" });

function told(...events: RegistryEvent[]): RegistryState {
  const nothing: RegistryState = { record: null, refusals: {} };
  return events.reduce((state, event) => registryMachine.apply(state, event, 0), nothing);
}

const owed = (state: RegistryState) =>
  registryMachine.due(state, 0).map(({ to, body }) => ({ to, revision: body.revision, config: body.config }));

describe("a configuration is repeated until its pool has it (architecture.md §3: level, not edge)", () => {
  test("a new one is owed to its pool, and to nobody once the pool has confirmed it", () => {
    expect(owed(told(put(small)))).toEqual([{ to: "default", revision: 1, config: small }]);
    expect(owed(told(put(small), configured(1)))).toEqual([]);
  });

  test("each put is a higher revision, and the seed of the first one stays", () => {
    const state = told(put(small, "s1"), configured(1), put(large, "s2"));
    expect(owed(state)).toEqual([{ to: "default", revision: 2, config: large }]);
    expect(registryMachine.due(state, 0)[0]?.body.seed).toBe("s1");
  });

  test("what is said of an older revision, or of another pool, settles nothing", () => {
    const waiting = told(put(small), put(large));
    for (const event of [configured(1), refused(1), answered({ kind: "configured", revision: 2 }, "other")]) {
      expect(owed(registryMachine.apply(waiting, event, 0))).toEqual(owed(waiting));
    }
  });

  test("pools do not wait for each other", () => {
    const state = told(put(small), put(large, "s1", "gpu"), configured(1));
    expect(owed(state)).toEqual([{ to: "gpu", revision: 1, config: large }]);
  });
});

describe("a refused configuration is taken back (409 pool_in_use, api.md)", () => {
  test("the pool keeps what it has, and nothing is owed", () => {
    const state = told(put(small), configured(1), put(large), refused(2));
    expect(state.record?.pools.default).toMatchObject({ wanted: small, accepted: { revision: 2 } });
    expect(state.refusals.default).toMatchObject({ revision: 2, code: "pool_in_use" });
    expect(owed(state)).toEqual([]);
  });

  test("the next one is a higher revision than the refused one", () => {
    const state = told(put(small), configured(1), put(large), refused(2), put(large));
    expect(owed(state)).toEqual([{ to: "default", revision: 3, config: large }]);
  });

  test("a pool that never was one is forgotten", () => {
    expect(told(put(small), refused(1)).record?.pools).toEqual({});
  });
});

test("a tick changes nothing, and time alone never does", () => {
  const state = told(put(small));
  expect(registryMachine.apply(state, { type: "tick" }, 1)).toBe(state);
  expect(registryMachine.wakeAt(state)).toBeUndefined();
  expect(registryMachine.due({ record: null, refusals: {} }, 0)).toEqual([]);
});
