// What runs look like on the wire: status by state, lists, and requests about them (api.md#one-run).
import { z } from "zod";
import { FAILURE_CODES } from "../../shared/errors.ts";
import { MAX_BATCH_RUNS, MAX_QUERY_IDS, MAX_TEXT_CHARS } from "../../shared/limits.ts";
import { isTerminal, RUN_STATES } from "../../shared/run-state.ts";
import { InstantText, Name, RunId, SnapshotId, Wait } from "../common.ts";
import { ErrorCode } from "../problem.ts";
import { Parked, triesShown } from "../retry/tries.ts";
import { RunArray } from "./array.ts";
import { RunBoot } from "./boot.ts";
import { CheckView, RunHealth } from "./checks.ts";
import { DeviceIds } from "./devices.ts";
import { Peaks, SizeAdvice } from "./peaks.ts";
import { RunSpec } from "./run-spec.ts";
import { Signal, TextMap } from "./task.ts";
import { KeptMachine } from "./view/kept.ts";

export { isTerminal, RUN_STATES } from "../../shared/run-state.ts";
export { RunSpec, type RunSpecInput } from "./run-spec.ts";
export type { Artifact, SignalName, TaskSpec } from "./task.ts";

export const RunState = z.enum(RUN_STATES).meta({ id: "RunState" });
export type RunState = z.output<typeof RunState>;

/** One submission, or up to a thousand. */
export const Submission = z.union(
  [z.strictObject({ runs: z.array(RunSpec).min(1).max(MAX_BATCH_RUNS) }), RunSpec],
  'must be an object: one run, such as {"argv": ["true"]}, or {"runs": […]}',
);

/** How a process ended. `code` is null when a signal ended it. */
export const Exit = z
  .object({
    code: z.int().nullable(),
    signal: z.string().max(32).nullable(),
    oomKilled: z.boolean(),
    message: z.string().max(MAX_TEXT_CHARS),
  })
  .meta({ id: "Exit" });
export type Exit = z.infer<typeof Exit>;

export const ATTEMPT_STATES = [
  "ordered",
  "preparing",
  "running",
  "stopping",
  "uploading",
  "exited",
  "gone",
] as const;

export const Attempt = z
  .object({
    id: z.string().meta({ example: "build-17/main/1.1" }),
    state: z.enum(ATTEMPT_STATES),
    startedAt: InstantText.nullable(),
    finishedAt: InstantText.nullable(),
    exit: Exit.nullable(),
    devices: DeviceIds.optional().describe("the ids of the GPUs that it was given; absent: none"),
    peaks: Peaks.optional().describe("the most that it has used; absent: not measured, or not ended"),
    image: z.string().optional().describe("the image of its container, by its digest where it has one"),
    doing: z.string().optional().describe("before its start: what its host does for it, such as a pull"),
  })
  .meta({ id: "Attempt" });

export const RunEvent = z
  .object({
    seq: z.int(),
    type: z.string(),
    at: InstantText,
    task: z.string().nullable(),
    message: z.string(),
    details: z.record(z.string(), z.string()),
  })
  .meta({ id: "RunEvent" });
export type RunEvent = z.infer<typeof RunEvent>;

/** The latest events of a run, oldest first. `dropped`: how many older events are no longer kept. */
export const EventList = z
  .object({ items: z.array(RunEvent), dropped: z.int(), ended: z.boolean() })
  .meta({ id: "EventList" });
export type EventList = z.infer<typeof EventList>;

/** The cost of a run, from list prices and the run's share of its machines. */
export const RunCost = z
  .object({
    amount: z.number().nullable().describe("so far, or in total; null: no price is known"),
    unpriced: z.int().describe("placements of unknown price, not in `amount`"),
    perHour: z.number().nullable().describe("while it is placed; null: unknown"),
  })
  .meta({ id: "RunCost" });
export type RunCost = z.infer<typeof RunCost>;

const Placement = z
  .object({
    epoch: z.int(),
    worker: z.string(),
    from: InstantText,
    to: InstantText.nullable(),
    outcome: z.enum(["open", "refused", "gone", "lost"]),
    cause: z
      .enum(["interruption"])
      .optional()
      .describe("the machine was interrupted, as its host had announced"),
    rate: z.number().optional().describe("cost per hour; absent: unknown"),
  })
  .meta({ id: "Placement" });

export const TaskState = z.enum(["pending", "running", "dead"]).meta({ id: "TaskState" });

const TaskStatus = z
  .object({
    name: z.string(),
    state: TaskState,
    phase: z.enum(["waiting", "preparing", "running", "stopping", "uploading", "backoff", "dead"]),
    failed: z.boolean(),
    restarts: z.int(),
    lastRestart: InstantText.nullable().optional(),
    nextStart: InstantText.nullable().optional().describe("in `backoff`: when it will be restarted"),
    startedAt: InstantText.nullable(),
    finishedAt: InstantText.nullable(),
    attempts: z.array(Attempt),
    checks: z.array(CheckView).optional().describe("absent: the task has none"),
    events: z.array(RunEvent),
  })
  .meta({ id: "TaskStatus" });

export const AllocStatus = z
  .enum(["pending", "running", "complete", "failed", "lost"])
  .meta({ id: "AllocStatus", description: "the state in Nomad's terms" });

/** The fields of a run in every state. */
const AnyRun = z.object({
  id: z.string(),
  allocStatus: AllocStatus,
  specIndex: z.int(),
  version: z.int(),
  spec: RunSpec,
  project: z.string(),
  pool: z.string(),
  labels: z.record(z.string(), z.string()),
  description: z.string(),
  submittedAt: InstantText,
  placedAt: InstantText.nullable(),
  placements: z.array(Placement),
  cost: RunCost.optional(),
  kept: KeptMachine.optional(),
  boot: RunBoot.nullable()
    .optional()
    .describe(
      "with `include=boot`: how the machine of its latest placement became ready; null: it has no " +
        "placement yet, or its worker does not answer",
    ),
  health: RunHealth.optional().describe("absent: no task has checks, or the run has ended"),
  tasks: z.array(TaskStatus),
  ...triesShown,
  advice: z
    .array(SizeAdvice)
    .optional()
    .describe("once it has ended: requests that were far from what was used; absent: there are none"),
});
export type AnyRun = z.infer<typeof AnyRun>;

export const Abort = z.object({ reason: z.string(), by: z.string() }).meta({ id: "Abort" });
/** An abort is in progress, or has failed: a run that cannot be killed ends as `failed` or `unknown`. */
const AskedAbort = Abort.nullable().describe("an abort was requested");
const FailureCode = z.enum(FAILURE_CODES).meta({ id: "FailureCode" });
export const Failure = z
  .object({ class: z.enum(["task", "infrastructure"]), code: FailureCode, text: z.string() })
  .meta({ id: "Failure" });
const LogRef = z
  .string()
  .nullable()
  .describe("where the output is; null: there is none, or it is no longer kept");
const Result = SnapshotId.nullable()
  .optional()
  .describe("the result, in `complete` and `failed`: the files that `outputs` named");

// Fields that do not apply to a state are null, so that every state has all fields.
const none = z.null();
const noExit = { exitCode: none, signal: none, snapshot: none.optional() };
const refs = { stdoutRef: LogRef, stderrRef: LogRef };
/** For a run that has ended, even if it never started. */
const ended = { ...refs, startedAt: InstantText.nullable(), finishedAt: InstantText };
/** For a run whose tasks have ended by themselves. */
const result = {
  exitCode: z.int().nullable().describe("null: several main tasks without a leader, or no exit"),
  signal: z.string().nullable(),
  ...ended,
  snapshot: Result,
};
const noResult = { ...noExit, ...ended };

/** A run in one state: the fields of every run, and the fields that depend on the state. */
function runIn<State extends RunState, Fields extends z.ZodRawShape>(
  state: State,
  id: string,
  fields: Fields,
) {
  return AnyRun.extend({ state: z.literal(state), ...fields }).meta({ id });
}

/** The full status of a run: its state decides which fields have a value (api.md#fields-by-state). */
export const RunStatus = z
  .discriminatedUnion("state", [
    runIn("pending", "PendingRun", {
      ...noExit,
      failure: none,
      abort: AskedAbort,
      stdoutRef: none,
      stderrRef: none,
      startedAt: none,
      finishedAt: none,
    }),
    runIn("running", "RunningRun", {
      ...noExit,
      ...refs,
      failure: none,
      abort: AskedAbort,
      startedAt: InstantText,
      finishedAt: none,
    }),
    runIn("complete", "CompleteRun", { ...result, failure: none, abort: none }),
    runIn("failed", "FailedRun", { ...result, failure: Failure, abort: AskedAbort }),
    runIn("unknown", "UnknownRun", { ...noResult, failure: Failure, abort: AskedAbort }),
    runIn("aborted", "AbortedRun", { ...noResult, failure: none, abort: Abort }),
    runIn("timedout", "TimedOutRun", { ...noResult, failure: none, abort: none }),
  ])
  .meta({ id: "RunStatus" });
export type RunStatus = z.infer<typeof RunStatus>;

/** The answer to a batch, in the order of the submission. */
export const RunBatch = z.object({ items: z.array(RunStatus) }).meta({ id: "RunBatch" });
export type RunBatch = z.infer<typeof RunBatch>;

/** A run in a pool's list. */
export const RunSummary = z
  .object({
    id: z.string(),
    state: RunState,
    version: z.int(),
    project: z.string(),
    pool: z.string(),
    labels: z.record(z.string(), z.string()),
    priority: z.int(),
    command: z.string().describe("the beginning of the command line"),
    rerunOf: z.string().optional().describe("the run that it repeats"),
    array: RunArray.optional(),
    keptUntil: InstantText.optional().describe("it has failed, and its machine keeps it until then"),
    tries: z.int().optional().describe("the number of its present or last try; absent: it is the first"),
    parked: Parked.optional(),
    health: RunHealth.optional().describe("absent: no task has checks, or the run has ended"),
    exitCode: z.int().nullable(),
    failure: FailureCode.optional().describe(
      "why it has failed, or why its end is unknown; absent: it has not failed",
    ),
    cost: RunCost.optional().describe("absent: an earlier version has ended the run, and it is not known"),
    worker: z.string().nullable(),
    submittedAt: InstantText,
    startedAt: InstantText.nullable(),
    finishedAt: InstantText.nullable(),
  })
  .meta({ id: "RunSummary" });
export type RunSummary = z.infer<typeof RunSummary>;

export const ServiceStatus = z
  .object({
    pool: z.string(),
    initialized: z.boolean(),
    healthy: z.boolean(),
    error: z.string().optional(),
  })
  .meta({ id: "ServiceStatus" });
export type ServiceStatus = z.infer<typeof ServiceStatus>;

/** For a query with `all`: whether all selected runs are in one of the states. */
const AllOf = z.object({
  holds: z.boolean(),
  open: z.int().describe("runs that are in none of the states yet, but can still reach one of them"),
  possible: z.boolean().describe("false: a run has ended in another state, so `holds` can never become true"),
});

export const RunList = z
  .object({
    items: z.array(RunSummary),
    next: z.string().nullable(),
    service: z.array(ServiceStatus),
    all: AllOf.optional(),
  })
  .meta({ id: "RunList" });
export type RunList = z.infer<typeof RunList>;

const Force = z
  .boolean()
  .optional()
  .describe("kill everything at once, including poststop tasks, even if a graceful stop has begun");

export const AbortRequest = z.strictObject({ reason: z.string().max(1_024).optional(), force: Force });

const StateWords = z
  .array(
    z.union(
      [RunState, z.enum(["done", "all"]), z.int().min(0).max(127)],
      `must be one of ${RUN_STATES.join(", ")}, done, all, or a bit set from 0 to 127`,
    ),
  )
  .default(["all"]);

const hasEntries = (map: object) => Object.keys(map).length > 0;

/** Which runs to abort. Without a filter, `all` must be true. */
export const AbortManyRequest = z
  .strictObject({
    ids: z.array(RunId).max(1_000).optional(),
    labels: TextMap.default({}).describe("only runs with all of these labels"),
    array: Name.optional().describe("only runs of this array"),
    pool: Name.optional(),
    states: StateWords.describe("only runs in one of these states; ended runs are left as they are"),
    all: z.boolean().default(false).describe("all runs"),
    reason: z.string().max(1_024).optional(),
    force: Force,
    limit: z.int().min(1).max(1_000).optional().describe("1000 if absent"),
    cursor: z.string().max(16_384).optional().describe("the `next` of an earlier answer"),
  })
  .refine(({ all, ids, labels, array, pool }) => all || ids || array || pool || hasEntries(labels), {
    path: ["all"],
    error: "must be true to abort all runs; otherwise choose them by `labels`, `array`, `pool` or `ids`",
  })
  .refine(({ all, ids, array, labels }) => !all || !(ids || array || hasEntries(labels)), {
    path: ["all"],
    error: "cannot be combined with `ids`, `array` or `labels`: choose runs, or all of them",
  })
  .superRefine(({ ids, ...page }, context) => {
    if (ids === undefined) return;
    for (const field of ["cursor", "limit"] as const) {
      if (page[field] === undefined) continue;
      const message = "cannot be combined with `ids`, which have no pages";
      context.addIssue({ code: "custom", path: [field], message });
    }
  });

/** A run for which a request about many could not be carried out. */
export const FailedRunItem = z
  .object({ id: z.string(), code: ErrorCode, detail: z.string() })
  .meta({ id: "FailedRunItem" });

/** The runs that were asked to end, with their states at that time, and the runs that could not be asked. */
export const AbortedList = z
  .object({
    items: z.array(z.object({ id: z.string(), state: RunState })),
    failed: z.array(FailedRunItem).describe("repeat the request to abort them"),
    next: z.string().nullable(),
    service: z.array(ServiceStatus),
  })
  .meta({ id: "AbortedList" });
export type AbortedList = z.infer<typeof AbortedList>;

/** Which tasks to restart: `task`, every running task, or (`all`) every task. */
export const RestartRequest = z
  .strictObject({ task: z.string().max(63).optional(), all: z.boolean().optional() })
  .refine(({ task, all }) => task === undefined || all !== true, {
    path: ["all"],
    error: "cannot be combined with `task`: send one of them",
  });

/** A signal for the main process of one task, or of every running task. */
export const SignalRequest = z.strictObject({
  task: z.string().max(63).optional(),
  signal: Signal,
});

/** A complete new spec, and the index of the spec that it replaces. */
export const UpdateRequest = z.strictObject({ specIndex: z.int().min(1), spec: RunSpec });

/** The body of a query by ids (`POST /v1/runs/query`). */
export const RunQuery = z.strictObject({
  runs: z.array(RunId).max(MAX_QUERY_IDS).default([]),
  allRuns: z.boolean().default(false),
  states: StateWords,
  all: z.boolean().default(false),
  wait: Wait.optional(),
});

/** The states that a query's state filter selects (api.md#state-filter). */
export function statesSelected(filter: (string | number)[]): Set<RunState> {
  const selected = new Set<RunState>();
  for (const item of filter) {
    for (const [bit, state] of RUN_STATES.entries()) {
      const named = item === "all" || item === state || (item === "done" && isTerminal(state));
      if (named || (typeof item === "number" && (item >> bit) % 2 === 1)) selected.add(state);
    }
  }
  return selected;
}
