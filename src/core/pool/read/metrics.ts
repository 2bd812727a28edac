// Which metrics does a pool report?
import { BOOT_OUTCOMES } from "../../../probes/boot.ts";
import type { Resources } from "../../../schema/common.ts";
import type { MetricName, Sample } from "../../../schema/metrics.ts";
import type { PoolConfig } from "../../../schema/pool.ts";
import { projectsServed } from "../../../shared/access/project.ts";
import { addVcpus } from "../../../shared/cloud/vcpus.ts";
import { CHECK_STATUSES } from "../../../shared/health/words.ts";
import type { Instant } from "../../../shared/machine.ts";
import { isTerminal, RUN_STATES } from "../../../shared/run-state.ts";
import {
  CALL_OUTCOMES,
  type Counts,
  callSeries,
  type HistogramName,
  histogramOf,
  TIMED_CALLS,
} from "../../histogram.ts";
import { HOOKS } from "../../run/mishaps.ts";
import { asksKey } from "../plan/asks.ts";
import { eligibleOffers, offersOf } from "../plan/eligible.ts";
import { plan } from "../plan/plan.ts";
import { isSilentHost, UNKNOWN_CODE } from "../plan/tally.ts";
import { isInForce } from "../provider/hold-offs.ts";
import { undestroyed, usableOfRow, type WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { priceOfRow, spendOf } from "./money.ts";

type Labels = Sample["labels"];

/** One series of a histogram: its buckets, its name among the counters, and its labels. */
type Series = readonly [of: HistogramName, series: string, labels: Labels];

/** The samples of one scrape. */
class Samples {
  readonly #samples = new Map<string, Sample>();
  readonly #pool: string;

  constructor(pool: string) {
    this.#pool = pool;
  }

  /** Adds to the sample with these labels. A new sample starts at 0. */
  add(name: MetricName, value: number, labels: Labels = {}, part?: Sample["part"]): void {
    const key = `${name} ${part} ${Object.values(labels).join(" ")}`;
    const known = this.#samples.get(key);
    if (known !== undefined) known.value += value;
    else {
      const of = { name, labels: { pool: this.#pool, ...labels }, value };
      this.#samples.set(key, part === undefined ? of : { ...of, part });
    }
  }

  /** Adds all samples of a histogram. */
  addHistogram(name: MetricName, counts: Readonly<Counts>, [of, series, labels]: Series): void {
    const { buckets, seconds, times } = histogramOf(counts, of, series);
    for (const { le, count } of buckets) this.add(name, count, { ...labels, le }, "bucket");
    this.add(name, seconds, labels, "sum");
    this.add(name, times, labels, "count");
  }

  get all(): Sample[] {
    return [...this.#samples.values()];
  }
}

/**
 * The metrics of a pool (pool.md#metrics, tasks.md#metrics). Gauges are queries over the rows (invariant 6);
 * counters come from `tally.ts`. Samples of known label values exist from the start, with value 0.
 */
export function metricsOf(state: Configured, now: Instant): Sample[] {
  const samples = new Samples(state.record.name);
  samples.add("drover_pool_up", 1);
  addRuns(samples, state);
  addQueue(samples, state, now);
  addWorkers(samples, state);
  addHolds(samples, state);
  addCounts(samples, state.memo.counting.counts);
  return samples.all;
}

/**
 * The label `project` of gauges of runs, in a pool that serves several projects; else none (pool.md#metrics).
 */
function projectLabel({ projects = {} }: PoolConfig, project: string): Labels {
  return Object.keys(projects).length > 1 ? { project } : {};
}

function addRuns(samples: Samples, { runs, memo, record: { config } }: ReadonlyConfigured): void {
  for (const project of projectsServed(config)) {
    const label = projectLabel(config, project);
    for (const one of ["pending", "running"]) samples.add("drover_runs", 0, { state: one, ...label });
    samples.add("drover_runs_starting", 0, label);
    for (const status of CHECK_STATUSES) samples.add("drover_checks", 0, { status, ...label });
  }
  for (const { state, project, checks } of runs.live()) {
    if (isTerminal(state)) continue;
    samples.add("drover_runs", 1, { state, ...projectLabel(config, project) });
    for (const status of CHECK_STATUSES) {
      const count = checks?.[status] ?? 0;
      if (count > 0) samples.add("drover_checks", count, { status, ...projectLabel(config, project) });
    }
  }
  const all: Resources = { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 };
  for (const on of memo.index.placed.values()) {
    for (const { state, resources, project } of on.values()) {
      if (state === "pending") samples.add("drover_runs_starting", 1, projectLabel(config, project));
      all.vcpus = addVcpus(all.vcpus, resources.vcpus);
      all.memoryBytes += resources.memoryBytes;
      all.diskBytes += resources.diskBytes;
      all.gpus += resources.gpus;
    }
  }
  samples.add("drover_allocated_vcpus", all.vcpus);
  samples.add("drover_allocated_memory_bytes", all.memoryBytes);
  samples.add("drover_allocated_disk_bytes", all.diskBytes);
  samples.add("drover_allocated_gpus", all.gpus);
}

/**
 * Queued runs by their first eligible type (pool.md#metrics); `none`: only a self-hosted machine can hold the
 * run.
 */
function addQueue(samples: Samples, state: Configured, now: Instant): void {
  const { queue } = state.memo.index;
  let oldest = now;
  const offers = offersOf({ ...state.record, learned: undefined, learnedGpus: undefined });
  const typeOf = new Map<string, string>();
  const { waits } = plan(state, now);
  for (const { run, resources, asks, submittedAt, project } of queue) {
    oldest = Math.min(oldest, submittedAt);
    const { vcpus, memoryBytes, diskBytes, gpus } = resources;
    const need = `${vcpus} ${memoryBytes} ${diskBytes} ${gpus} ${asksKey(asks)}`;
    const known = typeOf.get(need);
    const type = known ?? eligibleOffers(state.record.config, { resources, asks }, offers)[0]?.name ?? "none";
    typeOf.set(need, type);
    const reason = waits.get(run)?.code ?? "machine_booting";
    const labels = { reason, instance_type: type, ...projectLabel(state.record.config, project) };
    samples.add("drover_queue_runs", 1, labels);
  }
  samples.add("drover_queue_oldest_age_seconds", (now - oldest) / 1_000);
}

const CATEGORIES = ["inuse", "hold", "booting", "unknown", "shutdown", "idle"] as const;
type Category = (typeof CATEGORIES)[number];

/**
 * The category of a worker (pool.md#metrics). Draining is not a category. A worker with runs is always
 * `inuse`, even on `hold`. Without runs, a machine that is being destroyed is `shutdown`, not `idle`.
 */
function categoryOf({ phase, idleBehavior }: WorkerRow, runs: number): Category {
  if (runs > 0) return "inuse";
  if (phase === "shutdown") return phase;
  if (idleBehavior === "hold") return "hold";
  if (phase === "asked" || phase === "booting") return "booting";
  return phase === "unknown" ? phase : "idle";
}

function addWorkers(samples: Samples, state: ReadonlyConfigured): void {
  for (const category of CATEGORIES) {
    samples.add("drover_instances_vcpus", 0, { category });
    samples.add("drover_instances_memory_bytes", 0, { category });
    samples.add("drover_instances_gpus", 0, { category });
    samples.add("drover_instances_price", 0, { category });
  }
  for (const row of state.workers.live()) {
    const category = categoryOf(row, state.memo.index.placed.get(row.worker)?.size ?? 0);
    const { vcpus, memoryBytes, gpus } = usableOfRow(row);
    samples.add("drover_instances", 1, { category, instance_type: row.instanceType });
    samples.add("drover_instances_vcpus", vcpus, { category });
    samples.add("drover_instances_memory_bytes", memoryBytes, { category });
    samples.add("drover_instances_gpus", gpus, { category });
    samples.add("drover_instances_price", priceOfRow(row) ?? 0, { category });
  }
  addHosts(samples, [...state.workers.live()]);
  samples.add("drover_instances_undestroyed", undestroyed(state).length);
  const { unpriced, worstPerHour } = spendOf(state);
  samples.add("drover_instances_unpriced", unpriced);
  samples.add("drover_instances_max", state.record.config.maxInstances);
  if (worstPerHour !== null) samples.add("drover_instances_max_price", worstPerHour);
}

/** The hosts whose reports are overdue, and the clock that is furthest from ours (pool.md#clock-skew). */
function addHosts(samples: Samples, rows: readonly WorkerRow[]): void {
  samples.add("drover_hosts_silent", rows.filter(isSilentHost).length);
  const most = Math.max(0, ...rows.map(({ clockSkewMs }) => Math.abs(clockSkewMs)));
  samples.add("drover_host_clock_skew_seconds", most / 1_000);
}

const CAUSES = ["rate_limit", "quota", "capacity", "auth", "temporary", "invalid", "boot"] as const;

function addHolds(samples: Samples, { record, memo }: ReadonlyConfigured): void {
  for (const cause of CAUSES) samples.add("drover_hold_offs", 0, { cause });
  for (const { cause } of record.holds.filter(isInForce)) samples.add("drover_hold_offs", 1, { cause });
  samples.add("drover_cloud_list_failing", memo.sweepError === null ? 0 : 1);
}

function addCounts(samples: Samples, counts: Readonly<Counts>): void {
  const add = (name: MetricName, count: string, labels: Labels = {}) =>
    samples.add(name, counts[count] ?? 0, labels);
  for (const state of RUN_STATES) {
    if (isTerminal(state)) add("drover_runs_ended_total", `ended ${state}`, { state });
  }
  add("drover_task_restarts_total", "restarts");
  add("drover_task_oom_kills_total", "oomKills");
  for (const hook of HOOKS) add("drover_task_failures_total", `failed ${hook}`, { hook });
  add("drover_task_start_failures_total", "startFailures");
  add("drover_host_silences_total", "silences");
  for (const outcome of ["success", "failure"])
    add("drover_instance_creates_total", `created ${outcome}`, { outcome });
  add("drover_instance_destroys_total", "destroys");
  for (const outcome of BOOT_OUTCOMES) add("drover_instance_boots_total", `boot ${outcome}`, { outcome });
  for (const state of ["unknown", "booting", "ready", "shutdown"])
    add("drover_instances_disappeared_total", `disappeared ${state}`, { state });
  add("drover_instances_spent_total", "spent");
  for (const object of ["allocation", "worker", "pool"])
    add("drover_invariants_violated_total", `violated ${object}`, { object });
  for (const [name, value] of Object.entries(counts)) {
    if (name.startsWith(UNKNOWN_CODE))
      samples.add("drover_cloud_unknown_errors_total", value, { code: name.slice(UNKNOWN_CODE.length) });
  }
  for (const [name, of] of TIMES) samples.addHistogram(name, counts, [of, of, {}]);
  for (const call of TIMED_CALLS) {
    for (const outcome of CALL_OUTCOMES) {
      const series: Series = ["call", callSeries(call, outcome), { call, outcome }];
      samples.addHistogram("drover_cloud_call_seconds", counts, series);
    }
  }
}

/** The metrics of durations, and their histograms. */
const TIMES: readonly (readonly [MetricName, HistogramName])[] = [
  ["drover_run_start_seconds", "start"],
  ["drover_run_duration_seconds", "run"],
  ["drover_report_age_seconds", "report"],
  ["drover_instance_ready_seconds", "ready"],
  ["drover_instance_shutdown_seconds", "shutdown"],
];
