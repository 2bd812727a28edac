import { describe, expect, test } from "vitest";
import { LATER_POOL_FIELDS, PoolConfig } from "../../../src/schema/pool.ts";
import { MAX_POOL_TAGS } from "../../../src/shared/limits.ts";

const provider = { kind: "http", url: "http://127.0.0.1:9/cloud", secret: "s" };
const small = { vcpus: 2, memory: "2GiB" };
const t3 = { ...small, providerType: "t3.small" };

/** The pointers of what is wrong with a pool; none if it is taken. */
function faults(more: Record<string, unknown>): string[] {
  const { error } = PoolConfig.safeParse({ provider, instanceTypes: { small }, ...more });
  return [...new Set(error?.issues.map((issue) => issue.path.join("/")) ?? [])];
}

test("what is not said has its default (api.md#pools)", () => {
  expect(PoolConfig.parse({ provider, instanceTypes: { small } })).toEqual({
    provider,
    instanceTypes: { small: { vcpus: 2, memory: "2GiB", disk: "0", gpus: 0 } },
    minInstances: 0,
    maxInstances: 64,
    maxRunsPerInstance: 0,
    maxConcurrentCreates: 10,
    maxCloudOpsPerSecond: 10,
    priceFactor: 1.5,
    tags: {},
    maxQueue: 10_000,
    allowHostPaths: false,
    allowFakeDriver: false,
    allowRunsWithoutGpus: false,
    replaceOnNewImage: false,
    shareMachines: false,
    spotPatience: "2m",
    image: "",
    probe: { interval: "10s" },
    timeouts: {
      ...{ boot: "10m", probe: "10m", idle: "1m", shutdown: "10s", lease: "30m" },
      ...{ staleRun: "5s", unlisted: "2m", maxKill: "1h" },
    },
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
    ["logs that go before their runs", { retention: { logs: "1h" } }],
    ["logs that go with their runs", { retention: { runs: "1h", logs: "60m" } }],
    ["as many instances at least as at most", { minInstances: 3, maxInstances: 3 }],
    ["time-outs of one probe interval", { probe: { interval: "1m" }, timeouts: { boot: "1m", probe: "1m" } }],
    ["a lease of two probe intervals", { probe: { interval: "1m" }, timeouts: { lease: "2m" } }],
    [
      "one provider type on demand, and as spot",
      { instanceTypes: { od: t3, spot: { ...t3, preemptible: true } } },
    ],
    ["a type of a quota group", { instanceTypes: { od: { ...t3, quotaGroup: "standard" } } }],
    ["tags", { tags: Object.fromEntries(Array.from({ length: MAX_POOL_TAGS }, (_, n) => [`t${n}`, "x"])) }],
    ["some time-outs, the others by default", { timeouts: { boot: "1m" } }],
  ])("%s", (_what, more) => {
    expect(faults(more)).toEqual([]);
  });
});

describe("a pool that contradicts itself is refused, and all is named at once (400, api.md#pools)", () => {
  const minute = { probe: { interval: "1m" } };
  test.each<[string, Record<string, unknown>, string[]]>([
    ["more at least than at most", { minInstances: 4, maxInstances: 3 }, ["minInstances"]],
    ["some at least of none at all", { minInstances: 1, maxInstances: 0 }, ["minInstances"]],
    [
      "time-outs that are over before the next report",
      { ...minute, timeouts: { boot: "59s", probe: "59999ms" } },
      ["timeouts/boot", "timeouts/probe"],
    ],
    [
      "a lease that no report renews in time",
      { probe: { interval: "2m" }, timeouts: { lease: "239s" } },
      ["timeouts/lease"],
    ],
    ["two names for one machine", { instanceTypes: { a: t3, b: t3 } }, ["instanceTypes/b/providerType"]],
    [
      "a name, and the same as provider type",
      { instanceTypes: { b: small, a: { ...small, providerType: "b" } } },
      ["instanceTypes/a/providerType"],
    ],
    [
      "all of it",
      {
        ...minute,
        minInstances: 9,
        maxInstances: 1,
        timeouts: { probe: "1s" },
        instanceTypes: { a: t3, b: t3 },
      },
      ["instanceTypes/b/providerType", "minInstances", "timeouts/probe"],
    ],
  ])("%s", (_what, more, pointers) => {
    expect(faults(more).sort()).toEqual(pointers);
  });
});

describe("a pool is refused, and the refusal names the field (400, api.md#pools)", () => {
  const type = (more: object) => ({ instanceTypes: { small: { ...small, ...more } } });

  test.each<[string, Record<string, unknown>, string]>([
    ["no provider", { provider: undefined }, "provider"],
    ["a kind of provider that there is not", { provider: { ...provider, kind: "azure" } }, "provider/kind"],
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
    ["a price factor below one", { priceFactor: 0.9 }, "priceFactor"],
    ["a price factor of anything", { priceFactor: 1_001 }, "priceFactor"],
    ["no calls to the provider at all", { maxCloudOpsPerSecond: 0 }, "maxCloudOpsPerSecond"],
    ["part of a call", { maxCloudOpsPerSecond: 0.5 }, "maxCloudOpsPerSecond"],
    ["a tag of Drover's own", { tags: { "drover-pool": "x" } }, "tags"],
    ["a tag that is no text", { tags: { team: 1 } }, "tags/team"],
    [
      "too many tags",
      { tags: Object.fromEntries(Array.from({ length: MAX_POOL_TAGS + 1 }, (_, n) => [`t${n}`, "x"])) },
      "tags",
    ],
    [
      "a quota group that is no name",
      type({ quotaGroup: "Standard On-Demand" }),
      "instanceTypes/small/quotaGroup",
    ],
    ["no queue at all", { maxQueue: 0 }, "maxQueue"],
    ["an endless queue", { maxQueue: 1_000_001 }, "maxQueue"],
    ["a probe interval of nothing", { probe: { interval: "0s" } }, "probe/interval"],
    ["an empty boot probe", { probe: { boot: "" } }, "probe/boot"],
    ["a machine that may never be unlisted", { timeouts: { unlisted: "0s" } }, "timeouts/unlisted"],
    ["a negative time for stale runs", { timeouts: { staleRun: "-1s" } }, "timeouts/staleRun"],
    ["an empty command for notices", { provider: { ...provider, notice: "" } }, "provider/notice"],
    ["a boot time-out of nothing", { timeouts: { boot: "0s" } }, "timeouts/boot"],
    ["a lease that is too short to be renewed", { timeouts: { lease: "119999ms" } }, "timeouts/lease"],
    ["a sync interval of nothing", { sync: { interval: "0s" } }, "sync/interval"],
    ["a time-out as a number", { timeouts: { probe: 600 } }, "timeouts/probe"],
    ["logs that outlive their runs", { retention: { runs: "1h", logs: "3601s" } }, "retention/logs"],
    ["logs that outlive them, who stay as by default", { retention: { logs: "8d" } }, "retention/logs"],
    ["logs that are kept for no time", { retention: { logs: "0s" } }, "retention/logs"],
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
