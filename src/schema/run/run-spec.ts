// What a submission of a run may say (api.md#forms-and-defaults).
import { z } from "zod";
import { MAX_AFTER } from "../../shared/limits.ts";
import { Duration, Keep, Name, PositiveDuration, RunId, SnapshotId } from "../common.ts";
import { Retry } from "../retry/retry.ts";
import { RunArray } from "./array.ts";
import { CheckRestartInput, Checks } from "./checks.ts";
import { Container } from "./container.ts";
import { MachineAsks } from "./machine-asks.ts";
import { After } from "./relations/after.ts";
import { addFaults } from "./spec-rules.ts";
import { Concurrency } from "./start/concurrency.ts";
import { Payload } from "./start/payload.ts";
import {
  Argv,
  Directory,
  Environment,
  Identity,
  MAX_TASKS,
  Outputs,
  RescheduleInput,
  ResourcesWanted,
  RestartInput,
  SecretUses,
  Signal,
  TaskInput,
  TextMap,
  Umask,
} from "./task.ts";

const USUAL_RESOURCES = { vcpus: 1, disk: "0", gpus: 0 };

const TraceText = z.string().max(256);
/** What a caller's own system calls the run. */
const Trace = z
  .strictObject({ jobId: TraceText, taskId: TraceText, tag: TraceText })
  .partial()
  .meta({ id: "Trace" });

/** The fields of a run, without the rules between them (`spec-rules.ts`). */
export const RunFields = z.strictObject({
  id: RunId.optional(),
  argv: Argv.optional(),
  container: Container.optional().describe(
    "the container in which each task runs that names none; absent: commands run on the machine itself",
  ),
  tasks: z
    .array(TaskInput, "must be a list of tasks, each with a name and a command")
    .min(1, "must have at least 1 entry")
    .max(MAX_TASKS, `must have at most ${MAX_TASKS} entries`)
    .optional(),
  type: z.enum(["batch", "service"]).optional(),
  pool: Name.default("default"),
  priority: z.int().min(1).max(100).default(50),
  labels: TextMap.default({}),
  meta: TextMap.default({}),
  env: Environment.default({}),
  secrets: SecretUses.optional().describe("secrets of this Drover that the command gets, by its own names"),
  dir: Directory.optional(),
  umask: Umask.optional().describe(
    "permissions that new files and directories of the command do not get; 022 if absent",
  ),
  snapshot: SnapshotId.optional(),
  stdin: z.string().optional(),
  payload: Payload.optional().describe("a file that each task finds in its directory when it starts"),
  outputs: Outputs.optional(),
  identity: Identity.optional(),
  machine: MachineAsks.optional(),
  resources: ResourcesWanted.default(USUAL_RESOURCES).meta({ default: USUAL_RESOURCES }),
  timeout: PositiveDuration.optional(),
  queueTimeout: PositiveDuration.optional(),
  killTimeout: Duration.default("5s"),
  killSignal: Signal.default("SIGTERM").meta({ default: "SIGTERM" }),
  shutdownDelay: Duration.optional(),
  restart: RestartInput.optional(),
  reschedule: RescheduleInput.optional(),
  retry: Retry.optional(),
  checks: Checks.optional(),
  checkRestart: CheckRestartInput.optional(),
  sticky: z
    .boolean()
    .optional()
    .describe(
      "when the run is placed again, it keeps `data` and its tasks' directories. Its former " +
        "worker is preferred; on any other worker, the files come from a snapshot",
    ),
  compat: z
    .enum(["nomad"])
    .optional()
    .describe("also sets Nomad's `NOMAD_*` variables with the values of `DROVER_*`"),
  rerunOf: RunId.optional().describe("the run that this one repeats, as people see it in lists"),
  array: RunArray.optional().describe("the array to which the run belongs, and its place there"),
  replace: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      "ends earlier runs of its project and pool with the same value here, and starts once they have ended",
    ),
  concurrency: Concurrency.optional(),
  after: z
    .array(After)
    .min(1)
    .max(MAX_AFTER)
    .optional()
    .describe(
      "it starts when all of these have ended so: runs by their ids, arrays of its own pool, or runs of jobs",
    ),
  keep: Keep.optional().describe(
    "when the run fails, its machine keeps it for so long, so that people can look into it: commands and " +
      "copies work as in a running one",
  ),
  trace: Trace.optional(),
});

/**
 * A run (api.md#forms-and-defaults). The short form has `argv`: one command. The long form has `tasks`: a
 * group that is placed on one worker. In the long form, a task inherits omitted fields from the group: `env`,
 * `secrets`, `meta`, `dir`, `container`, `resources`, `restart`, and the fields that say how it is stopped.
 */
export const RunSpec = RunFields.superRefine((spec, context) => {
  // `continue: false` tells the union in `Submission` that this form does not match.
  addFaults(spec, (path, message) => context.addIssue({ code: "custom", path, message, continue: false }));
}).meta({ id: "RunSpec", example: { argv: ["make", "-j4"], labels: { team: "x" }, timeout: "30m" } });
/** A submission as stored, with every default that does not depend on its form or type. */
export type RunSpec = z.output<typeof RunSpec>;
/** A submission as sent by a client. */
export type RunSpecInput = z.input<typeof RunSpec>;
