import { describe, expect, test } from "vitest";
import { LATER_POOL_FIELDS, PoolConfig } from "../../../src/schema/pool.ts";

const provider = { kind: "http", url: "http://127.0.0.1:9/cloud", secret: "s" };
const small = { vcpus: 2, memory: "2GiB" };

/** The pointers of what is wrong with a pool; none if it is taken. */
function faults(more: Record<string, unknown>): string[] {
  const { error } = PoolConfig.safeParse({ provider, instanceTypes: { small }, ...more });
  return [...new Set(error?.issues.map((issue) => issue.path.join("/")) ?? [])];
}

test("what is not said has its default (api.md, Pools and workers)", () => {
  expect(PoolConfig.parse({ provider, instanceTypes: { small } })).toEqual({
    provider,
    instanceTypes: { small: { vcpus: 2, memory: "2GiB", disk: "0", gpus: 0, price: 0 } },
    minInstances: 0,
    maxInstances: 64,
    maxRunsPerInstance: 0,
    maxConcurrentCreates: 10,
    maxQueue: 10_000,
    allowHostPaths: false,
    image: "",
    probe: { interval: "10s", boot: "systemctl is-system-running" },
    timeouts: { boot: "10m", probe: "10m", idle: "1m", shutdown: "10s", lease: "30m" },
    retention: { runs: "7d" },
    sync: { interval: "1m" },
  });
});

describe("a pool is taken", () => {
  test.each<[string, Record<string, unknown>]>([
    ["no machines at all", { maxInstances: 0 }],
    ["very many machines", { minInstances: 10_000, maxInstances: 10_000 }],
    ["the smallest queue and the greatest", { maxQueue: 1_000_000 }],
    ["an idle time-out of nothing", { timeouts: { idle: "0s" } }],
    ["the shortest lease", { timeouts: { lease: "2m" } }],
    ["an https provider", { provider: { ...provider, url: "https://cloud.test" } }],
    [
      "a large type",
      {
        instanceTypes: {
          "gpu-8": { vcpus: 1_024, memory: 0, disk: "1TiB", gpus: 64, price: 98.32, providerType: "p5" },
        },
      },
    ],
    ["some time-outs, the others by default", { timeouts: { boot: "1m" } }],
  ])("%s", (_what, more) => {
    expect(faults(more)).toEqual([]);
  });
});

describe("a pool is refused, and the refusal names the field (400, api.md)", () => {
  const type = (more: object) => ({ instanceTypes: { small: { ...small, ...more } } });

  test.each<[string, Record<string, unknown>, string]>([
    ["no provider", { provider: undefined }, "provider"],
    ["a kind of provider that there is not", { provider: { ...provider, kind: "ec2" } }, "provider/kind"],
    ["a provider without http", { provider: { ...provider, url: "ftp://cloud" } }, "provider/url"],
    ["a provider that is nowhere", { provider: { ...provider, url: "http://" } }, "provider/url"],
    ["a provider without a secret", { provider: { ...provider, secret: "" } }, "provider/secret"],
    [
      "a secret that is too long",
      { provider: { ...provider, secret: "s".repeat(1_025) } },
      "provider/secret",
    ],
    ["no instance type", { instanceTypes: {} }, "instanceTypes"],
    ["a type that is no name", { instanceTypes: { "t3.small": small } }, "instanceTypes/t3.small"],
    ["a type without vCPUs", type({ vcpus: 0 }), "instanceTypes/small/vcpus"],
    ["a type of 1025 vCPUs", type({ vcpus: 1_025 }), "instanceTypes/small/vcpus"],
    ["a type without a word on memory", type({ memory: undefined }), "instanceTypes/small/memory"],
    ["a negative price", type({ price: -0.1 }), "instanceTypes/small/price"],
    ["a type with more in it", type({ spot: true }), "instanceTypes/small"],
    ["fewer than no machines", { maxInstances: -1 }, "maxInstances"],
    ["too many machines", { maxInstances: 10_001 }, "maxInstances"],
    ["no creates at all", { maxConcurrentCreates: 0 }, "maxConcurrentCreates"],
    ["no queue at all", { maxQueue: 0 }, "maxQueue"],
    ["an endless queue", { maxQueue: 1_000_001 }, "maxQueue"],
    ["a probe interval of nothing", { probe: { interval: "0s" } }, "probe/interval"],
    ["an empty boot probe", { probe: { boot: "" } }, "probe/boot"],
    ["a boot time-out of nothing", { timeouts: { boot: "0s" } }, "timeouts/boot"],
    ["a lease that is too short to be renewed", { timeouts: { lease: "119999ms" } }, "timeouts/lease"],
    ["a sync interval of nothing", { sync: { interval: "0s" } }, "sync/interval"],
    ["a time-out as a number", { timeouts: { probe: 600 } }, "timeouts/probe"],
    ["a field that there is not", { machines: 4 }, ""],
  ])("%s", (_what, more, pointer) => {
    expect(faults(more)).toEqual([pointer]);
  });

  test.each(LATER_POOL_FIELDS)("%s, which a later version will take", (field) => {
    const later = [
      { [field]: "1m" },
      { timeouts: { [field]: "1m" } },
      { instanceTypes: { small: { ...small, [field]: true } } },
    ];
    for (const more of later) expect(faults(more)).not.toEqual([]);
  });
});
