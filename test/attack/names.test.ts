import { describe, expect, test } from "vitest";
import { ownValue } from "../../src/core/own-value.ts";
import { registryMachine } from "../../src/core/registry/machine.ts";
import { PoolConfig } from "../../src/schema/pool.ts";
import { registryOf } from "../core/support/registry.ts";
import { at, holding, report, runningOf, T0 } from "../core/support/worker.ts";

// Names that every JavaScript object has are names like any other.

const NAMES = ["constructor", "valueOf", "toString", "hasOwnProperty"];

test.each(NAMES)("X18: a host says that run %s is stale, and its report is taken", (run) => {
  const said = at(holding(["b"]), T0 + 1_000, report(2, { attempts: [runningOf("b")], stale: [run] }));
  expect(structuredClone(said.record.stale)).toEqual({ [run]: { since: T0 + 1_000, holder: null } });
  const again = at(said, T0 + 2_000, report(3, { attempts: [runningOf("b")], stale: [run] }));
  expect(again.record.stale).toEqual(said.record.stale);
});

describe("X18: a pool with such a name", () => {
  const config = PoolConfig.parse({
    provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
    instanceTypes: { small: { vcpus: 2, memory: "2GiB" } },
  });
  test.each(NAMES.map((name) => name.toLowerCase()))("%s is not there before it is put", (pool) => {
    const empty = registryOf({ pools: {} });
    expect(registryMachine.apply(empty, { type: "remove", pool, how: "drained", by: "admin" }, T0)).toEqual(
      empty,
    );
    const put = registryMachine.apply(empty, { type: "put", pool, config, seed: "ab12", by: "admin" }, T0);
    expect(put.record?.pools[pool]).toMatchObject({ revision: 1 });
  });
});

test.each(NAMES)("X18: nothing is under %s in a record that was not given it", (name) => {
  expect(ownValue({}, name)).toBeUndefined();
  expect(ownValue(undefined, name)).toBeUndefined();
  expect(ownValue({ [name]: 1 }, name)).toBe(1);
});
