// Which metrics exist, and how are they formatted for Prometheus (api.md#metrics)?

/** A metric's kind in Prometheus' text format, and its help text with the unit. */
interface Metric {
  kind: "gauge" | "counter" | "histogram";
  help: string;
}

/**
 * The complete list of metrics. Every sample has the label `pool`, or `webhook` if it is of an endpoint, or
 * `project` if it is of its jobs. No label names a run, a job or a machine, since there may be any number of
 * them. The buckets of a histogram are those of `BUCKETS` in `src/core/histogram.ts`.
 */
export const METRICS = {
  drover_pool_up: { kind: "gauge", help: "Whether the pool has answered this scrape." },
  drover_runs: { kind: "gauge", help: "Runs that have not ended, by state." },
  drover_checks: { kind: "gauge", help: "Checks of tasks of runs that have not ended, by status." },
  drover_runs_starting: { kind: "gauge", help: "Placed runs that have not started." },
  drover_queue_runs: {
    kind: "gauge",
    help: "Runs that wait for a place, by reason, and by the cheapest instance type that can hold them.",
  },
  drover_queue_oldest_age_seconds: {
    kind: "gauge",
    help: "Time since the submission of the oldest run that waits for a place.",
  },
  drover_instances: { kind: "gauge", help: "Machines that may exist, by category and instance type." },
  drover_instances_vcpus: { kind: "gauge", help: "Processors of machines that may exist, by category." },
  drover_instances_memory_bytes: { kind: "gauge", help: "Memory of machines that may exist, by category." },
  drover_instances_gpus: { kind: "gauge", help: "GPUs of machines that may exist, by category." },
  drover_instances_price: { kind: "gauge", help: "Hourly cost of machines that may exist, by category." },
  drover_instances_unpriced: { kind: "gauge", help: "Machines whose price is not known." },
  drover_instances_max: { kind: "gauge", help: "The most machines that the pool may have." },
  drover_instances_max_price: {
    kind: "gauge",
    help: "Hourly list price of a full pool of the most expensive type; absent if a price is not known.",
  },
  drover_allocated_vcpus: { kind: "gauge", help: "Processors that placed runs have asked for." },
  drover_allocated_memory_bytes: { kind: "gauge", help: "Memory that placed runs have asked for." },
  drover_allocated_disk_bytes: { kind: "gauge", help: "Disk that placed runs have asked for." },
  drover_allocated_gpus: { kind: "gauge", help: "GPUs that placed runs have asked for." },
  drover_hold_offs: { kind: "gauge", help: "Hold-offs in force, by cause; `quota`: a quota is reached." },
  drover_cloud_list_failing: { kind: "gauge", help: "Whether the provider's latest listing has failed." },
  drover_runs_ended_total: { kind: "counter", help: "Runs that have ended, by state." },
  drover_task_restarts_total: { kind: "counter", help: "Restarts of tasks, counted when their run ends." },
  drover_task_oom_kills_total: {
    kind: "counter",
    help: "Attempts that ran out of memory, counted when their run ends.",
  },
  drover_run_start_seconds: {
    kind: "histogram",
    help: "Time from the submission of runs to their start, counted when they end.",
  },
  drover_task_failures_total: {
    kind: "counter",
    help: "Tasks that have failed, by the part of the run in which they run, counted when their run ends.",
  },
  drover_task_start_failures_total: {
    kind: "counter",
    help: "Attempts that their host could not start, counted when their run ends.",
  },
  drover_run_duration_seconds: { kind: "histogram", help: "Time from the start of runs to their end." },
  drover_report_age_seconds: {
    kind: "histogram",
    help: "Age of the news that a started run has ended, when its pool hears of it.",
  },
  drover_hosts_silent: { kind: "gauge", help: "Hosts that were ready, and whose reports are overdue." },
  drover_host_silences_total: { kind: "counter", help: "How often the reports of a host became overdue." },
  drover_host_clock_skew_seconds: {
    kind: "gauge",
    help: "How far the clock of a host is off, as far as known: the greatest difference in the pool.",
  },
  drover_cloud_call_seconds: {
    kind: "histogram",
    help: "Time that calls to the provider took, by call and outcome.",
  },
  drover_instance_creates_total: { kind: "counter", help: "Machines that were asked for, by outcome." },
  drover_instance_destroys_total: { kind: "counter", help: "Machines whose destruction was requested." },
  drover_instance_boots_total: { kind: "counter", help: "Finished boots, by outcome." },
  drover_instances_disappeared_total: {
    kind: "counter",
    help: "Machines that were seen to be gone, by their previous state: only `shutdown` is expected.",
  },
  drover_instance_ready_seconds: {
    kind: "histogram",
    help: "Time from the permission to create a machine until it is ready.",
  },
  drover_instance_shutdown_seconds: {
    kind: "histogram",
    help: "Time from the latest request to destroy machines until they were seen to be gone.",
  },
  drover_instances_spent_total: {
    kind: "counter",
    help: "The list price of machines that are gone, for the time that they existed.",
  },
  drover_invariants_violated_total: {
    kind: "counter",
    help: "Steps that broke an invariant of Drover itself: each is a bug, and the log names the invariant.",
  },
  drover_cloud_unknown_errors_total: {
    kind: "counter",
    help: "Failures with a code of the provider that Drover does not know, which count as temporary.",
  },
  drover_instances_undestroyed: {
    kind: "gauge",
    help: "Machines that should be gone, and whose latest destroy call failed: they cost money.",
  },
  drover_jobs: {
    kind: "gauge",
    help: "Jobs, by what they wait for: a tick of their schedule, a trigger, or the end of a pause.",
  },
  drover_job_skipped_total: {
    kind: "counter",
    help: "Ticks of a job that got no run, by reason; as the job has said within the last hour.",
  },
  drover_webhook_up: { kind: "gauge", help: "Whether the endpoint has answered this scrape." },
  drover_webhook_state: { kind: "gauge", help: "1 for the state that the endpoint is in, 0 for the others." },
  drover_webhook_owed: {
    kind: "gauge",
    help: "Deliveries that wait, and ends of runs that the endpoint knows of and has not read.",
  },
  drover_webhook_gap_total: {
    kind: "counter",
    help: "Ends that are never sent, since their runs were deleted before the endpoint had read them.",
  },
  drover_webhook_failures_total: { kind: "counter", help: "Attempts that the receiver did not accept." },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

/** One value of a metric. `part`: of a histogram, which of its values. */
export interface Sample {
  name: MetricName;
  part?: "bucket" | "sum" | "count";
  labels: Readonly<Record<string, string>>;
  value: number;
}

/**
 * Formats samples for Prometheus (text format 0.0.4), grouped by metric in the order of the list. Metrics
 * without samples are left out.
 */
export function metricsText(samples: readonly Sample[]): string {
  const byName = Map.groupBy(samples, ({ name }) => name);
  let text = "";
  for (const [name, { kind, help }] of Object.entries(METRICS)) {
    const lines = (byName.get(name as MetricName) ?? []).map(lineOf); // a key of `METRICS`
    if (lines.length > 0) text += `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
  }
  return text;
}

function lineOf({ name, part, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${part === undefined ? "" : `_${part}`}{${pairs.join(",")}} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
