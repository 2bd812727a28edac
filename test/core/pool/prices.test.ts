import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { eligibleOffers, offersOf } from "../../../src/core/pool/plan/eligible.ts";
import { spendOf } from "../../../src/core/pool/read/money.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { ListAnswer, OfferedPrice } from "../../../src/core/provider-answers.ts";
import type { PoolConfig } from "../../../src/schema/pool.ts";
import { at, configured, owed, reloaded, T0, vcpus, waiting } from "../support/pool.ts";

// What a provider says that its machines cost (pool.md#prices).

const PROVIDER: PoolConfig["provider"] = {
  kind: "hetzner",
  credentials: { binding: "CLOUD_HETZNER" },
  locations: ["fsn1", "nbg1"],
  sshKeys: [],
  ipv4: true,
  networks: [],
  firewalls: [],
};
const SPOT: PoolConfig["provider"] = {
  kind: "ec2",
  credentials: { binding: "CLOUD_EC2" },
  region: "eu-west-1",
  securityGroups: [],
  publicIp: true,
  rootDevice: "/dev/sda1",
};
const small = { vcpus: 4, memory: "8GiB", providerType: "cx32" };
const ASKED = ["cx32", "cx42"].map((type) => ({ type, spot: false }));
const priced = (type: string, zone: string | null, price: number, spot = false): OfferedPrice => ({
  type,
  zone,
  spot,
  price,
});

function pool(instanceTypes: object = { small }, provider = PROVIDER): Configured {
  const types = instanceTypes as PoolConfig["instanceTypes"]; // completed by the schema
  return configured({ provider, image: "ubuntu-24.04", instanceTypes: types, priceFactor: 2 }, []);
}
/** A listing with the prices of these types, all of which it was asked for. Null: it names none. */
function listed(named: OfferedPrice[] | null | undefined, of = ASKED): PoolEvent {
  const answer: ListAnswer = { kind: "listed", beganAt: T0, items: [] };
  return {
    type: "listed",
    answer,
    consistencyMs: 0,
    ...(named === undefined ? {} : { prices: { of, named } }),
  };
}
const offered = ({ record }: Configured) =>
  eligibleOffers(record.config, vcpus(1), offersOf(record)).map(
    ({ name, zone, type }) => `${name}@${zone} ${type.price}`,
  );

describe("the prices that a provider names", () => {
  test("decide which zone comes first, and stay after a restart", () => {
    const state = at(pool(), T0, listed([priced("cx32", "fsn1", 0.02), priced("cx32", "nbg1", 0.01)]));
    expect(offered(state)).toEqual(["small@nbg1 0.01", "small@fsn1 0.02"]);
    expect(offered(reloaded(state))).toEqual(offered(state));
  });

  test("count before those that are configured; where one zone has none, the dearest one counts", () => {
    const types = { small: { ...small, price: 9 }, big: { ...small, providerType: "cx42", price: 0.025 } };
    const state = at(pool(types), T0, listed([priced("cx32", "fsn1", 0.02), priced("cx99", "fsn1", 0.001)]));
    expect(offered(state)).toEqual([
      "small@fsn1 0.02",
      "small@nbg1 0.02",
      "big@fsn1 0.025",
      "big@nbg1 0.025",
    ]);
  });

  test("of spot machines are not those of others", () => {
    const types = { small: { ...small, preemptible: true }, steady: { ...small, price: 0.2 } };
    const prices = [priced("cx32", "a", 0.05, true), priced("cx32", "b", 0.07, true)];
    const state = at(pool(types, SPOT), T0, listed(prices));
    // EC2 chooses the zone here, so the dearest one counts.
    expect(offered(state)).toEqual(["small@null 0.07"]);
    expect(spendOf(state).worstPerHour).toBeCloseTo(0.2 * state.record.config.maxInstances);
  });

  test("are what a machine is asked for", () => {
    const state = at(pool(), T0, listed([priced("cx32", null, 0.01)]));
    const run = { ...waiting("r", vcpus(1)) };
    state.runs.set(`${String(run.submittedAt).padStart(15, "0")}/r`, run, T0);
    const asked = at(reloaded(state), T0 + 1, { type: "tick" });
    expect(owed(asked, T0 + 1, "create")).toMatchObject([{ body: { type: { price: 0.01 } } }]);
  });

  test("are stored when they change, and not when the provider was not asked", () => {
    const state = at(pool(), T0, listed([priced("cx32", "fsn1", 0.02)]));
    expect(at(state, T0 + 1, listed(undefined)).record.prices).toBe(state.record.prices);
    expect(at(state, T0 + 1, listed([priced("cx32", "fsn1", 0.02)])).record.prices).toBe(state.record.prices);
    expect(at(state, T0 + 1, listed([priced("cx32", "fsn1", 0.03)])).record.prices).toMatchObject([
      { price: 0.03 },
    ]);
  });
});

describe("a pool without machines", () => {
  const looks = (state: Configured) => owed(state, T0, "list").length;

  test.each<[string, Configured, number]>([
    ["whose cloud names all prices asks for them", pool(), 1],
    [
      "whose cloud names those of spot machines asks, if it has such types",
      pool({ small: { ...small, preemptible: true } }, SPOT),
      1,
    ],
    ["and not otherwise", pool({ small }, SPOT), 0],
  ])("%s", (_what, state, count) => {
    state.record.emptySweptAt = T0;
    expect(looks(at(state, T0, { type: "tick" }))).toBe(count);
  });

  test.each([[[]], [null]])("asks no more once the answer was %j, and sleeps", (prices) => {
    const state = at(pool(), T0, listed(prices));
    expect([looks(state), poolMachine.wakeAt(state)]).toEqual([0, undefined]);
  });

  test("asks again once it has a type for which it has not asked", () => {
    const state = at(pool(), T0, listed([priced("cx32", "fsn1", 0.02)], ASKED.slice(0, 1)));
    expect(looks(state)).toBe(0);
    const { config } = pool({ small, big: { ...small, providerType: "cx42" } }).record;
    const body = { pool: "default", revision: state.record.revision + 1, config, seed: "s" };
    const changed = at(state, T0, { type: "configure", body });
    expect(poolMachine.wakeAt(changed)).toBeDefined();
    expect(offered(changed)).toEqual([
      "small@fsn1 0.02",
      "small@nbg1 0.02",
      "big@fsn1 undefined",
      "big@nbg1 undefined",
    ]);
  });

  test("keeps the prices that it knows, while the provider does not say", () => {
    const state = at(at(pool(), T0, listed([priced("cx32", "fsn1", 0.02)])), T0 + 1, listed(null));
    expect(offered(state)).toContain("small@fsn1 0.02");
  });
});
