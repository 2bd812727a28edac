import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { METRICS } from "../../src/schema/metrics.ts";
import { readDocument } from "./support/examples.ts";

// The alert rules and the board that come with Drover (docs/monitoring.md), as Prometheus judges them.

const RULES = readDocument("docs/monitoring/alerts.yml");
const BOARD = JSON.parse(readDocument("docs/monitoring/board.json"));
const RULES_FILE = join(import.meta.dirname, "../../docs/monitoring/alerts.yml");
const INSTALL = "promtool is not installed: `apt-get install prometheus`";
const isMissing = spawnSync("promtool", ["--version"]).error !== undefined;

interface Panel {
  id: number;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}
const panels: Panel[] = BOARD.panels;
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

const counter = (name: string, step: number) => ({ series: name, values: `0+${step}x130` });
const constant = (name: string, value: number) => ({ series: name, values: `${value}x130` });
const bucket = (name: string, labels: string, le: string, step: number) =>
  counter(`${name}_bucket{pool="p"${labels},le="${le}"}`, step);
/** A histogram of durations that are all in the last of these buckets but one. */
const slow = (name: string, labels: string, low: string, high: string) => [
  bucket(name, labels, low, 0),
  bucket(name, labels, high, 1),
  bucket(name, labels, "+Inf", 1),
];
const ended = (state: string, step: number) =>
  counter(`drover_runs_ended_total{pool="p",state="${state}"}`, step);

type Series = { series: string; values: string };
/** For each alert: series with which it fires after two hours, and series with which it does not. */
const CASES: [alert: string, fires: Series[], isQuiet: Series[]][] = [
  ["DroverUnreachable", [constant('up{job="drover"}', 0)], [constant('up{job="drover"}', 1)]],
  ["DroverPoolDown", ...gauge("drover_pool_up", 0, 1)],
  ["DroverQueueWaits", ...gauge("drover_queue_oldest_age_seconds", 1_801, 1_800)],
  [
    "DroverStartsSlow",
    slow("drover_run_start_seconds", "", "300", "1800"),
    slow("drover_run_start_seconds", "", "60", "300"),
  ],
  ["DroverRunsLost", [ended("unknown", 1)], [ended("unknown", 0), ended("failed", 1)]],
  [
    "DroverTasksFail",
    [counter('drover_task_failures_total{pool="p",hook="main"}', 1), ended("complete", 1)],
    [counter('drover_task_failures_total{pool="p",hook="main"}', 1), ended("complete", 3)],
  ],
  [
    "DroverHooksFail",
    [counter('drover_task_failures_total{pool="p",hook="prestart"}', 1)],
    [counter('drover_task_failures_total{pool="p",hook="main"}', 1)],
  ],
  ["DroverStartsFail", ...total("drover_task_start_failures_total")],
  ["DroverOutOfMemory", ...total("drover_task_oom_kills_total")],
  ["DroverHostsSilent", ...gauge("drover_hosts_silent", 1, 0)],
  ["DroverHostsUnsteady", ...total("drover_host_silences_total")],
  [
    "DroverReportsLate",
    [
      bucket("drover_report_age_seconds", "", "60", 0),
      counter('drover_report_age_seconds_count{pool="p"}', 1),
    ],
    [
      bucket("drover_report_age_seconds", "", "60", 1),
      counter('drover_report_age_seconds_count{pool="p"}', 1),
    ],
  ],
  ["DroverClockSkew", ...gauge("drover_host_clock_skew_seconds", 61, 60)],
  ["DroverBootsFail", ...total("drover_instance_boots_total", ',outcome="failure"', ',outcome="aborted"')],
  [
    "DroverBootsSlow",
    slow("drover_instance_ready_seconds", "", "600", "1200"),
    slow("drover_instance_ready_seconds", "", "120", "300"),
  ],
  [
    "DroverMachinesVanish",
    ...total("drover_instances_disappeared_total", ',state="ready"', ',state="shutdown"'),
  ],
  ["DroverMachinesUndestroyed", ...gauge("drover_instances_undestroyed", 1, 0)],
  ["DroverCloudListFails", ...gauge("drover_cloud_list_failing", 1, 0)],
  [
    "DroverCloudCallsFail",
    ...total(
      "drover_cloud_call_seconds_count",
      ',call="list",outcome="failure"',
      ',call="list",outcome="success"',
    ),
  ],
  [
    "DroverCloudCallsSlow",
    slow("drover_cloud_call_seconds", ',call="create"', "30", "60"),
    slow("drover_cloud_call_seconds", ',call="create"', "1", "2.5"),
  ],
  [
    "DroverHoldOff",
    [constant('drover_hold_offs{pool="p",cause="auth"}', 1)],
    [constant('drover_hold_offs{pool="p",cause="rate_limit"}', 1)],
  ],
  ["DroverInvariantViolated", ...total("drover_invariants_violated_total", ',object="pool"')],
  [
    "DroverWebhookStuck",
    [constant('drover_webhook_state{webhook="w",state="failing"}', 1)],
    [constant('drover_webhook_state{webhook="w",state="active"}', 1)],
  ],
  ["DroverWebhookGap", ...total("drover_webhook_gap_total")],
];

function gauge(name: string, fires: number, isQuiet: number): [Series[], Series[]] {
  return [[constant(`${name}{pool="p"}`, fires)], [constant(`${name}{pool="p"}`, isQuiet)]];
}

/** A counter that grows each minute, and one that does not, or one with other labels that does. */
function total(name: string, labels = "", others?: string): [Series[], Series[]] {
  const quiet = counter(`${name}{pool="p"${others ?? labels}}`, others === undefined ? 0 : 1);
  return [[counter(`${name}{pool="p"${labels}}`, 1)], [quiet]];
}

/** What promtool says of a file: JSON is YAML. */
function promtool(args: string[], document: object): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), "drover-alerts-"));
  const file = join(folder, "file.json");
  writeFileSync(file, JSON.stringify(document));
  const { status, stdout, stderr } = spawnSync("promtool", [...args, file], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  return { status, output: status === 0 ? "" : `${stdout}${stderr}` };
}

/** What promtool says of stories of two hours, after which this many alerts of that name must fire. */
const testRule = (alert: string, stories: [Series[], number][]) =>
  promtool(["test", "rules"], {
    rule_files: [RULES_FILE],
    evaluation_interval: "1m",
    tests: stories.map(([series, count]) => ({
      interval: "1m",
      input_series: series,
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
          eval_time: "2h",
          exp_samples: [{ labels: "{}", value: count }],
        },
      ],
    })),
  });

const OK = { status: 0, output: "" };
const alerts = [...RULES.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = ""]) => name);

describe("the alert rules (docs/monitoring.md)", () => {
  test("CI has what checks them", () => {
    expect(process.env.CI !== undefined && isMissing ? INSTALL : "").toBe("");
  });

  test("each alert is tried here, and has a section that says what it means and what to do", () => {
    const sections = [...readDocument("docs/monitoring.md").matchAll(/^### (Drover\w+)\n\n.+\n\n.+$/gm)];
    expect(CASES.map(([alert]) => alert)).toEqual(alerts);
    expect(sections.map(([, name]) => name)).toEqual(alerts);
    const runbooks = [...RULES.matchAll(/runbook: "docs\/monitoring\.md#(\w+)"/g)].map(([, name]) => name);
    expect(runbooks).toEqual(alerts.map((name) => name.toLowerCase()));
  });

  test.runIf(!isMissing).each(CASES)("%s fires when it must, and only then", (alert, fires, isQuiet) => {
    const stories: [Series[], number][] = [
      [fires, 1],
      [isQuiet, 0],
    ];
    expect(testRule(alert, stories)).toEqual(OK);
  });
});

describe("the board (docs/monitoring.md)", () => {
  test.runIf(!isMissing)("has only expressions that Prometheus can read", () => {
    const rules = expressions.map((expr, n) => {
      const plain = expr.replaceAll("$__rate_interval", "5m").replaceAll("$pool", ".*");
      return { record: `panel:${n}`, expr: plain };
    });
    expect(promtool(["check", "rules"], { groups: [{ name: "board", rules }] })).toEqual(OK);
  });

  test("has panels with ids of their own that do not overlap", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });
});

test("rules and board name only metrics that exist (api.md#metrics)", () => {
  const parts = Object.entries(METRICS).flatMap(([name, { kind }]) =>
    kind === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name],
  );
  const named = new Set(
    [...`${RULES}${expressions.join(" ")}`.matchAll(/drover_\w+/g)].map(([name]) => name),
  );
  expect([...named].filter((name) => !parts.includes(name))).toEqual([]);
  expect(named.size).toBeGreaterThan(25);
});
