import { describe, expect, test } from "vitest";
import type { ConfigureAnswer } from "../../src/core/messages.ts";
import { type RegistryEvent, type RegistryState, registryMachine } from "../../src/core/registry/machine.ts";
import { poolsOf } from "../../src/core/registry/pools.ts";
import { withSecret } from "../../src/core/registry/secret.ts";
import { PoolConfig, type PutPoolConfig } from "../../src/schema/pool.ts";
import { applied } from "./support/applied.ts";
import { registryOf } from "./support/registry.ts";

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
const CONFIGURE = { revision: 1, config: configOf(1), seed: "s1" };
const answered = (answer: ConfigureAnswer, pool = "default"): RegistryEvent => ({
  type: "configure_answered",
  sent: { ...CONFIGURE, pool },
  answer,
});
const configured = (revision: number) => answered({ kind: "configured", revision });
const refused = (revision: number) =>
  answered({ kind: "refused", revision, code: "pool_in_use", text: "drain it" });

function told(...events: RegistryEvent[]): RegistryState {
  const nothing = registryOf(null);
  return events.reduce((state, event) => applied(registryMachine, state, event, 0), nothing);
}

const letters = (state: RegistryState) =>
  registryMachine.due(state, 0).flatMap((message) => (message.object === "pool" ? [message] : []));
const owed = (state: RegistryState) =>
  letters(state).map(({ to, body }) => ({ to, revision: body.revision, config: body.config }));

describe("a configuration is repeated until its pool has it (messages.md#self-repair)", () => {
  test("a new one is owed to its pool, and to nobody once the pool has confirmed it", () => {
    expect(owed(told(put(small)))).toEqual([{ to: "default", revision: 1, config: small }]);
    expect(owed(told(put(small), configured(1)))).toEqual([]);
  });

  test("each put is a higher revision, and the seed of the first one stays", () => {
    const state = told(put(small, "s1"), configured(1), put(large, "s2"));
    expect(owed(state)).toEqual([{ to: "default", revision: 2, config: large }]);
    expect(letters(state)[0]?.body.seed).toBe("s1");
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

describe("a refused configuration is taken back (409 pool_in_use, api.md#pool-in-use)", () => {
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
  expect(registryMachine.due(registryOf(null), 0)).toEqual([]);
});

describe("a pool is deleted by a configuration that says so (api.md#pool-deletion)", () => {
  const remove = (how: "empty" | "drained"): RegistryEvent => ({ type: "remove", pool: "default", how });
  const removed = (revision: number) => answered({ kind: "configured", revision, removed: true });
  const names = (state: RegistryState) => poolsOf(state).map(([name]) => name);
  const there = () => told(put({ ...small, minInstances: 1 }), configured(1));

  test("nothing is kept warm any more, and it is there until its pool says that it is empty", () => {
    const state = registryMachine.apply(there(), remove("drained"), 0);
    const [message] = registryMachine.due(state, 0);
    expect(message?.body).toMatchObject({ revision: 2, remove: "drained", config: { minInstances: 0 } });
    expect(names(state)).toEqual(["default"]);
    const gone = registryMachine.apply(state, removed(2), 0);
    expect(names(gone)).toEqual([]);
    expect(owed(gone)).toEqual([]);
    expect(registryMachine.wakeAt(gone)).toBeUndefined();
  });

  test("one that drains is asked again and again, also by a registry that has forgotten when", () => {
    const state = registryMachine.apply(
      registryMachine.apply(there(), remove("drained"), 0),
      configured(2),
      5,
    );
    expect(owed(state)).toEqual([]);
    const wakeAt = registryMachine.wakeAt(state) ?? 0;
    expect(wakeAt).toBeGreaterThan(5);
    expect(registryMachine.due(state, wakeAt)).toHaveLength(1);
    expect(registryMachine.due(registryOf(state.record), 6)).toHaveLength(1);
  });

  test("a refusal leaves it as it was", () => {
    const state = registryMachine.apply(registryMachine.apply(there(), remove("empty"), 0), refused(2), 0);
    expect(state.record?.pools.default).toMatchObject({ wanted: { minInstances: 1 }, revision: 2 });
    expect(state.record?.pools.default?.remove).toBeUndefined();
    expect(owed(state)).toEqual([]);
  });

  test("the next pool of the name goes on with revision and seed", () => {
    const gone = registryMachine.apply(registryMachine.apply(there(), remove("empty"), 0), removed(2), 0);
    const again = registryMachine.apply(gone, put(large, "s2"), 0);
    expect(owed(again)).toEqual([{ to: "default", revision: 3, config: large }]);
    expect(letters(again)[0]?.body.seed).toBe("s1");
    expect(names(again)).toEqual(["default"]);
  });

  test("what is not there, or drains already, is no news", () => {
    const nothing = told();
    expect(registryMachine.apply(nothing, remove("empty"), 0)).toBe(nothing);
    const drains = registryMachine.apply(there(), remove("drained"), 0);
    expect(registryMachine.apply(drains, remove("empty"), 0)).toBe(drains);
  });
});

describe("P10: a configuration that was read can be put again", () => {
  const provider = { kind: "http", url: "http://cloud.test/", secret: "s1" } as const;
  const known = PoolConfig.parse({ provider, instanceTypes: { small: { vcpus: 1, memory: "1GiB" } } });
  const put = (more: { url?: string; secret?: string }): PutPoolConfig => {
    const { secret: _, ...shown } = known.provider;
    return { ...known, provider: { ...shown, ...more } };
  };
  test.each<[string, PutPoolConfig, PoolConfig | undefined, string | undefined]>([
    ["without its secret: that stays", put({}), known, "s1"],
    ["with another secret", put({ secret: "s2" }), known, "s2"],
    [
      "without one for another address: the secret goes nowhere else",
      put({ url: "http://x/" }),
      known,
      undefined,
    ],
    ["without one of a pool that does not exist", put({}), undefined, undefined],
    ["with one of a pool that does not exist", put({ secret: "s2" }), undefined, "s2"],
  ])("%s", (_what, wanted, before, secret) => {
    expect(withSecret(wanted, before)?.provider.secret).toBe(secret);
  });
});
