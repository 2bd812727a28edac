import { describe, expect, test } from "vitest";
import { metricsOf } from "../../../src/core/pool/read/metrics.ts";
import { METRICS, metricsText } from "../../../src/schema/metrics.ts";
import { faultsOf, promtoolSays } from "../support/exposition.ts";
import { configured, held, hold, MINUTE, placed, T0, vcpus, waiting, workerRow } from "../support/pool.ts";

const NOW = T0 + 5_000;

/** A pool with something of everything. */
const full = () =>
  held(
    configured(
      { maxInstances: 9 },
      [
        waiting("a", { submittedAt: T0 - 5_000, ...vcpus(4) }),
        placed("b", "w1", { state: "running", ...vcpus(2) }),
        placed("c", "w1"),
      ],
      [
        workerRow("w1", "ready", { idleBehavior: "hold" }),
        workerRow("w2", "ready", { idleBehavior: "hold", clockSkewMs: -90_000 }),
        workerRow("w3", "asked"),
        workerRow("w4", "unknown", { clockSkewMs: 20_000 }),
        workerRow("w5", "shutdown"),
        workerRow("w6", "ready", { idleBehavior: "drain" }),
        workerRow("w7", "gone", { clockSkewMs: 500_000 }),
      ],
    ),
    hold(T0 + MINUTE, { cause: "quota", scope: "type:small" }),
  );

const textOf = (state = full()) => metricsText(metricsOf(state, NOW));
const linesOf = (state?: ReturnType<typeof full>) => textOf(state).split("\n");

describe("gauges are queries over rows (invariant 6, pool.md#metrics)", () => {
  test.each([
    'drover_pool_up{pool="default"} 1',
    'drover_runs{pool="default",state="pending"} 2',
    'drover_runs{pool="default",state="running"} 1',
    'drover_runs_starting{pool="default"} 1',
    'drover_queue_runs{pool="default",reason="machine_asked",instance_type="small"} 1',
    'drover_queue_oldest_age_seconds{pool="default"} 10',
    'drover_allocated_vcpus{pool="default"} 3',
    'drover_instances_max{pool="default"} 9',
    'drover_instances_max_price{pool="default"} 9',
    'drover_instances_unpriced{pool="default"} 0',
    'drover_hold_offs{pool="default",cause="quota"} 1',
    'drover_hold_offs{pool="default",cause="boot"} 0',
    'drover_cloud_list_failing{pool="default"} 0',
    'drover_hosts_silent{pool="default"} 1',
    'drover_host_clock_skew_seconds{pool="default"} 90',
  ])("%s", (line) => {
    expect(linesOf()).toContain(line.replace("machine_asked", reasonOfQueue()));
  });

  test("in a pool of several projects, gauges of runs say whose they are (pool.md#metrics)", () => {
    const ml = { project: "ml" };
    const runs = [placed("b", "w1", { ...ml, state: "running" }), waiting("a", vcpus(4))];
    const lines = linesOf(
      configured({ projects: { default: {}, ml: {}, web: {} } }, runs, [workerRow("w1")]),
    );
    expect(lines).toEqual(
      expect.arrayContaining([
        'drover_runs{pool="default",state="running",project="ml"} 1',
        'drover_runs{pool="default",state="pending",project="default"} 1',
        'drover_runs{pool="default",state="pending",project="web"} 0',
        'drover_runs_starting{pool="default",project="ml"} 0',
      ]),
    );
    expect(lines.join()).toMatch(/drover_queue_runs.*,instance_type="small",project="default"} 1/);
  });

  /** Which of the reasons it is decides the plan; here only that it is told matters. */
  function reasonOfQueue(): string {
    return /reason="(\w+)"/.exec(textOf())?.[1] ?? "";
  }

  test.each(["inuse", "hold", "booting", "unknown", "shutdown", "idle"])(
    "each machine is in the first category that fits: %s",
    (category) => {
      const labels = `pool="default",category="${category}"`;
      expect(linesOf()).toContain(`drover_instances{${labels},instance_type="small"} 1`);
      expect(linesOf()).toContain(`drover_instances_vcpus{${labels}} 4`);
      expect(linesOf()).toContain(`drover_instances_memory_bytes{${labels}} ${1024 ** 3}`);
      expect(linesOf()).toContain(`drover_instances_price{${labels}} 1`);
    },
  );

  test("the worst bill is left out while a price is not known (cases.md#case-21)", () => {
    const type = { vcpus: 4, memory: "1GiB" };
    expect(textOf(configured({ instanceTypes: { small: type } }))).not.toContain("_max_price");
  });
});

describe("the text is what Prometheus reads", () => {
  const strange = () => {
    const state = full();
    return { ...state, record: { ...state.record, name: 'a"b\\c\nd' } };
  };

  test("an empty pool has all counters from the beginning, as 0 (pool.md#metrics)", () => {
    const ofPools = Object.keys(METRICS).filter((name) => !/^drover_(webhook|job)/.test(name));
    const told = new Set(metricsOf(configured(), T0).map(({ name }) => name));
    const absent = ofPools.filter((name) => !told.has(name as keyof typeof METRICS));
    expect(absent).toEqual(["drover_queue_runs", "drover_instances", "drover_cloud_unknown_errors_total"]);
  });

  test.each([
    ["an empty pool", configured],
    ["a full one", full],
    ["a strange name", strange],
  ])("of %s nothing is wrong", (_what, state) => {
    expect(faultsOf(textOf(state()))).toEqual([]);
  });

  test.each([
    [
      "a bucket with less than the one before it",
      'a_bucket{b="1",le="1"} 2\na_bucket{b="1",le="+Inf"} 1\na_count{b="1"} 1\n',
    ],
    ["a count that differs from the last bucket", 'a_bucket{b="1",le="+Inf"} 1\na_count{b="1"} 2\n'],
  ])("the check notices %s (pool.md#histograms)", (_what, samples) => {
    expect(faultsOf(`# HELP a x\n# TYPE a histogram\n${samples}`)).toHaveLength(1);
  });

  test("the check notices what is wrong", () => {
    const bad = '# HELP a_total x\n# TYPE a_total gauge\na_total{b="1"} 1\na_total{b="1"} NaN\nc{d=1} 2\n';
    expect(faultsOf(bad).length).toBeGreaterThanOrEqual(5);
  });

  test("`promtool check metrics` finds nothing", ({ skip }) => {
    const said = promtoolSays(textOf());
    if (said === undefined) return skip("there is no promtool here: apt-get install prometheus");
    expect(said).toEqual({ status: 0, output: "" });
  });

  test("no run and no machine is a label (decisions/pool.md#metrics)", () => {
    const names = new Set(metricsOf(full(), NOW).flatMap(({ labels }) => Object.keys(labels)));
    expect([...names].sort()).toEqual([
      "call",
      "category",
      "cause",
      "hook",
      "instance_type",
      "le",
      "object",
      "outcome",
      "pool",
      "reason",
      "state",
      "status",
    ]);
  });
});
