import { describe, expect, test } from "vitest";
import { poolMachine } from "../../../src/core/pool/machine.ts";
import { offersOf } from "../../../src/core/pool/plan/eligible.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { Hold } from "../../../src/core/pool/record.ts";
import type { ProviderFailure } from "../../../src/core/provider-answers.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  askedOf,
  boots,
  cloudConfig,
  configureAs,
  holdsOf,
  poolAt,
  refused,
  withdrawn,
  workerOf,
} from "../support/clouds.ts";
import {
  at,
  configured,
  createsOf,
  held,
  hold,
  MINUTE,
  owed,
  reloaded,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const SMALL = { vcpus: 4, memory: "1GiB", price: 1 };
const ZONES = ["a", "b", "c"];
/** Two types, each in three zones; the second is a little dearer. */
const TYPES = {
  small: { ...SMALL, zones: ZONES },
  other: { ...SMALL, price: 1.2, zones: ZONES },
};

/** A pool with these types, after so many runs that each need a machine. */
const asking = (count = 1, instanceTypes: PoolConfigInput["instanceTypes"] = TYPES) =>
  at(
    configured({ instanceTypes, sync: { interval: "1h" } }),
    T0,
    ...Array.from({ length: count }, (_, n) => run(`r${n}`, vcpus(4))),
  );

/** One create after the other is refused so; what is asked for each time. */
function afterRefusals(failures: Partial<ProviderFailure>[], state = asking()): string[] {
  let now = state;
  const asked = [askedOf(now)];
  for (const [n, failure] of failures.entries()) {
    now = at(now, T0 + n, refused(workerOf(n + 1), failure, T0 + n));
    asked.push(askedOf(now));
  }
  return asked.map((one) => one.join(" "));
}

describe("where machines of a type may be (clouds.md#zones)", () => {
  test.each<[string, Partial<PoolConfigInput>, (string | null)[]]>([
    ["nowhere in particular: the provider chooses", {}, [null]],
    ["in the zones of the type", { instanceTypes: { small: { ...SMALL, zones: ["b", "a"] } } }, ["b", "a"]],
    ["in the subnets of the account", cloudConfig("ec2", {}), [null]],
    [
      "in the order of the account",
      cloudConfig("ec2", {
        provider: {
          kind: "ec2",
          credentials: { binding: "CLOUD_CI" },
          region: "eu-west-1",
          subnets: { "eu-west-1c": "subnet-0000000a", "eu-west-1a": "subnet-0000000b" },
        },
      }),
      ["eu-west-1c", "eu-west-1a"],
    ],
    [
      "in those of the type, whatever the account has",
      cloudConfig("ec2", { instanceTypes: { small: { ...SMALL, zones: ["us-east1-b"] } } }),
      ["us-east1-b"],
    ],
  ])("%s", (_what, more, zones) => {
    expect(offersOf({ config: poolConfig(more) }).map(({ zone }) => zone)).toEqual(zones);
  });

  test("the price comes before the zone, and the zone before nothing", () => {
    const names = offersOf({ config: poolConfig({ instanceTypes: TYPES }) }).map(
      ({ name, zone }) => `${name}@${zone}`,
    );
    expect(names).toEqual(["small@a", "small@b", "small@c", "other@a", "other@b", "other@c"]);
  });

  test("the zone is chosen with the permit, and is part of the intent, over a restart", () => {
    for (const state of [asking(), reloaded(asking())]) {
      expect(state.workers.get(workerOf(1))).toMatchObject({ instanceType: "small", zone: "a" });
      expect(owed(state, T0, "create")).toMatchObject([{ body: { instanceType: "small", zone: "a" } }]);
    }
  });

  test("a booting machine in any zone is what a run without asks counts on", () => {
    const row = workerRow("w1", "booting", { zone: "c" });
    const state = configured({ instanceTypes: TYPES }, [waiting("r", vcpus(4))], [row]);
    expect(createsOf(plan(state, T0))).toEqual([]);
  });
});

describe("case 43: a zone that is full", () => {
  const noRoom = { class: "capacity", scope: "offer" } as const;

  test("the next zone is asked at once, then the third, then another type", () => {
    expect(afterRefusals([noRoom, noRoom, noRoom])).toEqual(["small@a", "small@b", "small@c", "other@a"]);
  });

  test("each by a new worker: no token reaches two zones (case 24)", () => {
    const state = at(asking(), T0, refused(workerOf(1), noRoom, T0, "a"));
    expect(state.workers.get(workerOf(1))).toMatchObject({ phase: "gone", zone: "a" });
    expect(state.workers.get(workerOf(2))).toMatchObject({ phase: "asked", zone: "b" });
    expect(owed(state, T0, "create").map(({ to }) => to)).toEqual([workerOf(2)]);
  });

  test("with no place left the run waits, says why, and until when", () => {
    let state = asking();
    for (let n = 1; n <= 6; n += 1) state = at(state, T0 + n, refused(workerOf(n), noRoom, T0 + n));
    expect(askedOf(state)).toEqual([]);
    const [first] = state.record.holds;
    expect(explainRun(state, "r0", T0 + 6)).toMatchObject({
      reason: { code: "hold_off", text: expect.stringContaining("type:small@a") },
      next: { at: new Date(first?.until ?? 0).toISOString() },
    });
  });

  test("the first zone is tried again after its own pause, and the others after theirs", () => {
    let state = asking();
    const later = [0, 20_000, 40_000];
    for (const [n, ms] of later.entries())
      state = at(state, T0 + ms, refused(workerOf(n + 1), noRoom, T0 + ms));
    state = at(state, T0 + 50_000, refused(workerOf(4), { class: "capacity", scope: "type" }, T0 + 50_000));
    expect(askedOf(state)).toEqual([]);
    const ends = state.record.holds.map(({ until }) => until ?? 0);
    expect(ends[0]).toBeGreaterThanOrEqual(T0 + MINUTE);
    expect(poolMachine.wakeAt(state)).toBe(Math.min(...ends));
    state = at(state, ends[0] ?? 0, { type: "tick" });
    expect(askedOf(state)).toEqual(["small@a"]);
    const again = ends[0] ?? 0;
    state = at(state, again, refused(workerOf(5), noRoom, again));
    state = at(state, ends[1] ?? 0, { type: "tick" });
    expect(askedOf(state)).toEqual(["small@b"]);
  });

  test("what has room is asked for as often as it is needed, while one machine is tried elsewhere", () => {
    const state = at(asking(3), T0, refused(workerOf(1), noRoom, T0));
    // Two were asked for in the full zone, and are withdrawn, since nobody was told of them.
    expect(askedOf(state).filter((one) => one === "small@b").length).toBeGreaterThan(0);
    expect(askedOf(state)).toHaveLength(3);
  });

  test("a permit for that zone that nobody was told of is withdrawn, one for another zone stays", () => {
    const rows = ["a", "b"].map((zone) =>
      workerRow(`w-${zone}`, "asked", { zone, type: { ...SMALL, disk: "0", gpus: 0, zones: ZONES } }),
    );
    const runs = [waiting("x", vcpus(4)), waiting("y", vcpus(4))];
    const pool = configured({ instanceTypes: TYPES, maxInstances: 2 }, runs, rows);
    pool.memo.sweptAt = T0;
    const state = at(held(pool, hold(T0 + MINUTE, { cause: "capacity", scope: "type:small@a" })), T0, {
      type: "tick",
    });
    expect(state.workers.get("w-a")).toMatchObject({ phase: "gone" });
    expect(state.workers.get("w-b")).toMatchObject({ phase: "asked" });
  });

  test("a machine that was made in the zone ends its hold-off, one in another zone does not", () => {
    const over = hold(T0 - 1, { cause: "capacity", scope: "type:small@a" });
    const made = (zone: string) => {
      const row = workerRow("w1", "booting", { zone });
      return holdsOf(
        at(held(configured({ instanceTypes: TYPES }, [], [row]), over), T0, boots("w1", { zone })),
      );
    };
    expect(made("b")).toEqual(["capacity of type:small@a"]);
    expect(made("a")).toEqual([]);
  });
});

describe("what a failure holds off, by its scope (clouds.md#zones, pool.md#hold-offs)", () => {
  test.each<[string, Partial<ProviderFailure>, string, string[]]>([
    ["capacity without a scope: the type in its zone", { class: "capacity" }, "type:small@a", ["small@b"]],
    ["capacity of the offer", { class: "capacity", scope: "offer" }, "type:small@a", ["small@b"]],
    ["capacity of the zone (case 48)", { class: "capacity", scope: "zone" }, "zone:a", ["small@b"]],
    ["capacity of the type", { class: "capacity", scope: "type" }, "type:small", ["other@a"]],
    ["capacity of everything", { class: "capacity", scope: "all" }, "all", []],
    [
      "case 51: a type that ends in one place",
      { class: "invalid", scope: "offer" },
      "type:small@a",
      ["small@b"],
    ],
    ["case 53: a type that a zone lacks", { class: "invalid", scope: "offer" }, "type:small@a", ["small@b"]],
    ["a wrong subnet", { class: "invalid", scope: "zone" }, "zone:a", ["small@b"]],
    ["invalid without a scope: the type", { class: "invalid" }, "type:small", ["other@a"]],
    ["an outage of a zone", { class: "temporary", scope: "zone", refused: true }, "zone:a", ["small@b"]],
    ["any other trouble", { class: "temporary" }, "all", []],
  ])("%s", (_what, failure, scope, then) => {
    const state = at(asking(), T0, refused(workerOf(1), failure, T0));
    expect(holdsOf(state)).toEqual([`${failure.class} of ${scope}`]);
    expect(askedOf(state)).toEqual(then);
  });

  test.each<[string, Partial<ProviderFailure>, string]>([
    ["of a zone", { class: "capacity", scope: "zone" }, "type:small"],
    ["of the type in its zone", { class: "capacity", scope: "offer" }, "type:small"],
    ["without a scope", { class: "capacity" }, "type:small"],
    ["invalid, of a zone", { class: "invalid", scope: "zone" }, "type:small"],
    ["of everything", { class: "capacity", scope: "all" }, "all"],
  ])("where the provider chooses the zone, a failure %s holds off the type", (_what, failure, scope) => {
    const types = { small: SMALL, other: { ...SMALL, price: 1.2 } };
    const state = at(asking(1, types), T0, refused(workerOf(1), failure, T0));
    expect(holdsOf(state)).toEqual([`${failure.class} of ${scope}`]);
    expect(askedOf(state)).toEqual(scope === "all" ? [] : ["other"]);
  });

  test("other types go on in a zone where one type has no room (case 43)", () => {
    const types = { small: { ...SMALL, zones: ["a"] }, other: { ...SMALL, price: 1.2, zones: ["a"] } };
    expect(afterRefusals([{ class: "capacity" }], asking(1, types))).toEqual(["small@a", "other@a"]);
  });

  test("no type is asked for in a zone that is full, and all are elsewhere", () => {
    const zone = { class: "capacity", scope: "zone" } as const;
    expect(afterRefusals([zone, zone], asking())).toEqual(["small@a", "small@b", "small@c"]);
    const types = { small: { ...SMALL, zones: ["a"] }, other: { ...SMALL, price: 1.2, zones: ["a", "b"] } };
    expect(afterRefusals([zone], asking(1, types))).toEqual(["small@a", "other@b"]);
  });

  test("case 50: sold out everywhere, then another type, whatever the cloud's own pages show", () => {
    const soldOut = { class: "capacity", scope: "type" } as const;
    expect(afterRefusals([soldOut, soldOut])).toEqual(["small@a", "other@a", ""]);
  });

  test("case 55: a quota of one family; a run of another goes on", () => {
    const types = {
      std: { ...SMALL, quotaGroup: "standard", zones: ZONES },
      gpu: { vcpus: 4, memory: "1GiB", gpus: 1, price: 5, quotaGroup: "gpus", zones: ZONES },
    };
    const state = asking(1, types);
    const quota = at(state, T0, refused(workerOf(1), { class: "quota" }, T0));
    expect([holdsOf(quota), askedOf(quota)]).toEqual([["quota of group:standard"], []]);
    const need = { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 1 };
    expect(askedOf(at(quota, T0 + 1, run("g", { resources: need })))).toEqual(["gpu@a"]);
  });

  test("case 55: a quota ends early when one of our machines in its scope leaves, whatever its zone", () => {
    const type = { ...SMALL, disk: "0", gpus: 0, quotaGroup: "standard", zones: ZONES };
    const other = workerRow("w9", "shutdown", { zone: "c", type });
    const pool = configured({ instanceTypes: { small: type } }, [waiting("x", vcpus(4))], [other]);
    const full = hold(T0 + 10 * MINUTE, { cause: "quota", scope: "group:standard" });
    const state = at(held(pool, full), T0, { type: "tick" });
    expect(askedOf(state)).toEqual([]);
    const gone = boots("w9", { phase: "gone", zone: "c" });
    expect(askedOf(at(state, T0 + 1, gone))).toEqual(["small@a"]);
  });

  test("case 54: a host of Fly is full for 5 s, its region stays, and a full region is left", () => {
    const hostFull = { class: "capacity", scope: "offer", retryAfterMs: 5_000 } as const;
    const types = { small: { ...SMALL, zones: ["ams"] } };
    const state = at(asking(1, types), T0, refused(workerOf(1), hostFull, T0));
    expect([askedOf(state), state.record.holds[0]?.until]).toEqual([[], T0 + 5_000]);
    expect(askedOf(at(state, T0 + 5_000, { type: "tick" }))).toEqual(["small@ams"]);
  });

  test("case 56: an account that is being verified is tried again when its pause is over", () => {
    const pending = { class: "quota", scope: "all", retryAfterMs: 15 * MINUTE } as const;
    const state = at(asking(), T0, refused(workerOf(1), pending, T0));
    expect(askedOf(state)).toEqual([]);
    expect(askedOf(at(state, T0 + 15 * MINUTE, { type: "tick" }))).toEqual(["small@a"]);
  });
});

describe("where no zone was asked for, what is learned later changes nothing (clouds.md#zones)", () => {
  /** The provider has chosen the zone, and says so. */
  const there = () => at(asking(1, { small: SMALL }), T0, boots(workerOf(1), { zone: "a", version: 2 }));

  test("case 46: an interruption in a zone that the provider chose holds off the type", () => {
    const state = at(there(), T0 + MINUTE, withdrawn(workerOf(1), { class: "capacity" }, T0 + MINUTE));
    expect(holdsOf(state)).toEqual(["capacity of type:small"]);
    expect(askedOf(state)).toEqual([]);
  });

  test("the machine's zone is known all the same", () => {
    expect(there().workers.get(workerOf(1))).toMatchObject({ zone: "a" });
  });

  test("a zone that the configuration has no longer is no place to hold off either", () => {
    const before = at(asking(), T0, boots(workerOf(1), { zone: "a" }));
    const moved = at(before, T0, configureAs({ instanceTypes: { small: { ...SMALL, zones: ["b"] } } }));
    const state = at(moved, T0 + 1, withdrawn(workerOf(1), { class: "capacity" }, T0 + 1));
    expect(askedOf(state)).toEqual(["small@b"]);
  });
});

describe("what another configuration does to the hold-offs of zones", () => {
  const causes: [Hold["cause"], string, boolean][] = [
    ["rate_limit", "zone:a", true],
    ["capacity", "type:small@a", false],
    ["invalid", "type:small@a", false],
    ["capacity", "zone:a", false],
  ];

  test.each(causes)("%s of %s stays: %s", (cause, scope, stays) => {
    const pool = held(configured({ instanceTypes: TYPES }), hold(T0 + MINUTE, { cause, scope }));
    const state = at(pool, T0, configureAs({ instanceTypes: TYPES, maxInstances: 3 }));
    expect(state.record.holds).toHaveLength(stays ? 1 : 0);
  });

  test("a boot that failed holds off its type in every zone, and stays while the type does", () => {
    const scope = "type:small";
    const pool = held(
      configured({ instanceTypes: TYPES }),
      hold(T0 + MINUTE, { cause: "boot", scope, tries: 3 }),
    );
    expect(at(pool, T0, configureAs({ instanceTypes: TYPES, maxInstances: 3 })).record.holds).toHaveLength(1);
    const one = { small: { ...SMALL, zones: ["a"] } };
    expect(at(pool, T0, configureAs({ instanceTypes: one })).record.holds).toEqual([]);
  });

  test("a permit for a zone of the former configuration is still good", () => {
    const state = at(asking(), T0, configureAs({ instanceTypes: { small: { ...SMALL, zones: ["b"] } } }));
    expect(askedOf(state)).toEqual(["small@a"]);
  });
});

test("a listing is told the zone of each machine that should be there (clouds.md#gaps)", () => {
  const rows = [
    workerRow("w1", "ready", { zone: "a" }),
    workerRow("w2", "booting"),
    workerRow("w3", "shutdown", { zone: null }),
    workerRow("w4", "ready", { kind: "self-hosted" }),
  ];
  const [list] = owed(poolAt("ec2", {}, [], rows), T0, "list");
  expect(list?.known).toEqual([
    { worker: "w1", id: "i-w1", zone: "a" },
    { worker: "w3", id: "i-w3", zone: null },
  ]);
});
