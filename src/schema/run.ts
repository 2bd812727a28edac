import { z } from "zod";
import { MAX_BATCH_RUNS, MAX_QUERY_IDS, MAX_TEXT_CHARS } from "../core/limits.ts";
import { isTerminal, RUN_STATES, type RunState } from "../core/run-state.ts";
import { Duration, InstantText, Json, Name } from "./common.ts";
import { RunSpec } from "./run-spec.ts";
import { SIGNALS } from "./task.ts";

export { isTerminal, RUN_STATES, type RunState } from "../core/run-state.ts";
export { LATER_RUN_FIELDS, RunSpec, type RunSpecInput } from "./run-spec.ts";
export { type Artifact, SIGNALS, type SignalName, type TaskSpec } from "./task.ts";

/** One submission, or up to a thousand. */
export const Submission = z.union(
  [z.strictObject({ runs: z.array(RunSpec).min(1).max(MAX_BATCH_RUNS) }), RunSpec],
  { error: 'must be an object: one run, such as {"argv": ["true"]}, or {"runs": […]}' },
);

/** How a process ended. `code` is null when a signal ended it. */
export const Exit = z.object({
  code: z.int().nullable(),
  signal: z.string().max(32).nullable(),
  oomKilled: z.boolean(),
  message: z.string().max(MAX_TEXT_CHARS),
});
export type Exit = z.infer<typeof Exit>;

export const ATTEMPT_STATES = ["ordered", "preparing", "running", "stopping", "exited", "gone"] as const;

const Attempt = z.object({
  id: z.string().meta({ example: "build-17/main/1.1" }),
  state: z.enum(ATTEMPT_STATES),
  startedAt: InstantText.nullable(),
  finishedAt: InstantText.nullable(),
  exit: Exit.nullable(),
});

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

/** The latest events of a run, oldest first. `dropped`: how many older ones are no longer kept. */
export const EventList = z
  .object({ items: z.array(RunEvent), dropped: z.int(), ended: z.boolean() })
  .meta({ id: "EventList" });
export type EventList = z.infer<typeof EventList>;

export const RunStatus = z
  .object({
    id: z.string(),
    state: z.enum(RUN_STATES),
    allocStatus: z.enum(["pending", "running", "complete", "failed", "lost"]),
    specIndex: z.int(),
    version: z.int(),
    spec: z.record(z.string(), Json),
    pool: z.string(),
    labels: z.record(z.string(), z.string()),
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    failure: z
      .object({ class: z.enum(["task", "infrastructure"]), code: z.string(), text: z.string() })
      .nullable(),
    abort: z.object({ reason: z.string(), by: z.string() }).nullable(),
    description: z.string(),
    stdoutRef: z.string().nullable(),
    stderrRef: z.string().nullable(),
    submittedAt: InstantText,
    placedAt: InstantText.nullable(),
    startedAt: InstantText.nullable(),
    finishedAt: InstantText.nullable(),
    placements: z.array(
      z.object({
        epoch: z.int(),
        worker: z.string(),
        from: InstantText,
        to: InstantText.nullable(),
        outcome: z.enum(["open", "refused", "gone", "lost"]),
      }),
    ),
    tasks: z.array(
      z.object({
        name: z.string(),
        state: z.enum(["pending", "running", "dead"]),
        phase: z.enum(["waiting", "preparing", "running", "stopping", "backoff", "dead"]),
        failed: z.boolean(),
        restarts: z.int(),
        lastRestart: InstantText.nullable().optional(),
        nextStart: InstantText.nullable()
          .optional()
          .meta({ description: "in `backoff`: when it is started again" }),
        startedAt: InstantText.nullable(),
        finishedAt: InstantText.nullable(),
        attempts: z.array(Attempt),
        events: z.array(RunEvent),
      }),
    ),
  })
  .meta({ id: "RunStatus" });
export type RunStatus = z.infer<typeof RunStatus>;

/** The answer to a batch, in the order of the submission. */
export const RunBatch = z.object({ items: z.array(RunStatus) }).meta({ id: "RunBatch" });
export type RunBatch = z.infer<typeof RunBatch>;

/** A run as the pool's list shows it. */
export const RunSummary = z
  .object({
    id: z.string(),
    state: z.enum(RUN_STATES),
    version: z.int(),
    pool: z.string(),
    labels: z.record(z.string(), z.string()),
    priority: z.int(),
    command: z.string().meta({ description: "the beginning of the command line" }),
    exitCode: z.int().nullable(),
    worker: z.string().nullable(),
    submittedAt: InstantText,
    startedAt: InstantText.nullable(),
    finishedAt: InstantText.nullable(),
  })
  .meta({ id: "RunSummary" });
export type RunSummary = z.infer<typeof RunSummary>;

export const ServiceStatus = z.object({
  pool: z.string(),
  initialized: z.boolean(),
  healthy: z.boolean(),
  error: z.string().optional(),
});
export type ServiceStatus = z.infer<typeof ServiceStatus>;

export const RunList = z
  .object({ items: z.array(RunSummary), next: z.string().nullable(), service: z.array(ServiceStatus) })
  .meta({ id: "RunList" });
export type RunList = z.infer<typeof RunList>;

export const AbortRequest = z.strictObject({ reason: z.string().max(1_024).optional() });

/** Which tasks are started again: one, all that run, or all. */
export const RestartRequest = z
  .strictObject({ task: z.string().max(63).optional(), all: z.boolean().optional() })
  .refine(({ task, all }) => task === undefined || all !== true, {
    path: ["all"],
    error: "cannot stand beside `task`: say one of them",
  });

/** Which signal the main process of a task gets, or that of every task that runs. */
export const SignalRequest = z.strictObject({
  task: z.string().max(63).optional(),
  signal: z.enum(SIGNALS),
});

/** A new spec, whole, and the index of the one that it replaces. */
export const UpdateRequest = z.strictObject({ specIndex: z.int().min(1), spec: RunSpec });

/** Why something waits, and when Drover acts next (invariant 5). */
export const Why = z
  .object({
    state: z.string(),
    reason: z
      .object({ code: z.string(), text: z.string() })
      .catchall(z.union([z.number(), z.string(), z.boolean()])),
    next: z.object({ action: z.string(), at: InstantText.nullable() }),
    chain: z.array(z.object({ what: z.string(), state: z.string(), text: z.string() })),
  })
  .meta({ id: "Why" });
export type Why = z.infer<typeof Why>;

/** The body of a query by ids (`POST /v1/runs/query`). */
export const RunQuery = z.strictObject({
  runs: z.array(Name).max(MAX_QUERY_IDS).default([]),
  allRuns: z.boolean().default(false),
  states: z
    .array(
      z.union([z.enum(RUN_STATES), z.enum(["done", "all"]), z.int().min(0).max(127)], {
        error: `must be one of ${RUN_STATES.join(", ")}, done, all, or a bit set from 0 to 127`,
      }),
    )
    .default(["all"]),
  wait: Duration.optional(),
});

/**
 * Everything that the state filter of a query may say, as the set of states that it selects (`api.md`,
 * States).
 */
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
