// What one task of a run may say: command, resources, policies, files, lifecycle.
import { z } from "zod";
import { isVcpus } from "../../shared/cloud/vcpus.ts";
import { START_ERROR_CODES } from "../../shared/errors.ts";
import { MAX_LABELS, MAX_TASK_SECRETS, MAX_TEXT_MAP_BYTES } from "../../shared/limits.ts";
import { SIGNALS } from "../../shared/signals.ts";
import { Duration, ProcessText, type Resources, Size, SnapshotId } from "../common.ts";
import { type CheckRestart, CheckRestartInput, type CheckSpec, Checks } from "./checks.ts";
import { Container } from "./container.ts";
import { SecretName } from "./secret-name.ts";

export const Signal = z.enum(SIGNALS).meta({ id: "Signal" });
export type SignalName = z.output<typeof Signal>;

/** The name of a task. It is part of paths and of attempt ids. */
export const TASK_NAME_PATTERN = /^[a-z0-9-]{1,63}$/;

/** How many tasks one group can have (api.md#forms-and-defaults). */
export const MAX_TASKS = 64;

const bytesOf = (text: string) => new TextEncoder().encode(text).byteLength;

export const TextMap = z
  .record(z.string().min(1).max(128), z.string().max(1_024))
  .refine((map) => Object.keys(map).length <= MAX_LABELS, `must have at most ${MAX_LABELS} entries`)
  .refine(
    (map) => bytesOf(Object.entries(map).flat().join("")) <= MAX_TEXT_MAP_BYTES,
    `must have at most ${MAX_TEXT_MAP_BYTES} bytes in all, names and values together`,
  );

export const Environment = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be letters, digits and underscores"),
  ProcessText,
);

export const Argv = z
  .array(ProcessText, 'must be a list of strings, such as ["make", "test"]')
  .min(1, "must name a command")
  .refine((argv) => argv[0] !== "", "must begin with the name of a command, not with an empty string");

const VCPUS_ERROR = "must be a number from 0 to 1024, with at most three digits after the point";

/** vCPUs, also in parts. Their sums are exact (pool.md#fit). */
const Vcpus = z
  .number(VCPUS_ERROR)
  .min(0, VCPUS_ERROR)
  .max(1_024, VCPUS_ERROR)
  .refine(isVcpus, VCPUS_ERROR)
  .meta({ example: 0.5 });

const ResourceFields = {
  vcpus: Vcpus,
  memory: Size,
  disk: Size,
  gpus: z.int().min(0).max(64),
};

const UMASK_ERROR = 'must be three octal digits in quotes, such as "027"; a leading 0 may come before them';

/** The umask of a command: permissions that its new files and directories do not get. */
export const Umask = z
  .string(UMASK_ERROR)
  .regex(/^0?[0-7]{3}$/, UMASK_ERROR)
  .meta({ example: "022" });

/**
 * The resources that a run needs (api.md#forms-and-defaults). Memory has no default here, since a default
 * would become a limit.
 */
export const ResourcesWanted = z
  .strictObject({
    vcpus: ResourceFields.vcpus.default(1),
    memory: ResourceFields.memory
      .optional()
      .describe(
        "reserved on the machine, and the limit of each task; if absent, 256MiB are reserved " +
          "and the only limit is the machine's",
      ),
    disk: ResourceFields.disk.default("0"),
    gpus: ResourceFields.gpus.default(0),
  })
  .meta({ id: "Resources" });

/** The resources of one task, which inherits omitted fields from its group. */
export const TaskResources = z.strictObject(ResourceFields).partial().meta({ id: "TaskResources" });

/**
 * A path below the task's directory, or an absolute path, which only a pool with `allowHostPaths` accepts.
 */
export const Directory = ProcessText.min(1)
  .max(4_096)
  .refine((dir) => dir.startsWith("/") || !climbsOut(dir), "must not lead outside the task's directory");

/** A path below the directory of the task. */
export const RelativePath = Directory.refine(
  (path) => !path.startsWith("/"),
  "must be relative to the task's directory",
);

function climbsOut(dir: string): boolean {
  let depth = 0;
  for (const part of dir.split("/")) {
    if (part === "..") depth -= 1;
    else if (part !== "" && part !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

const Attempts = z.int().min(0).max(1_000_000);

/** When a task is restarted on its machine; omitted fields are inherited (`shared/policy.ts`). */
export const RestartInput = z
  .strictObject({
    attempts: Attempts.optional(),
    interval: Duration.optional(),
    delay: Duration.optional(),
    mode: z.enum(["fail", "delay"]).optional(),
  })
  .meta({ id: "Restart" });

/** When a run is placed again (`shared/policy.ts`). */
export const RescheduleInput = z
  .strictObject({
    attempts: Attempts.optional(),
    interval: Duration.optional(),
    delay: Duration.optional(),
    function: z.enum(["constant", "exponential", "fibonacci"]).optional(),
    maxDelay: Duration.optional(),
    unlimited: z.boolean().optional(),
  })
  .meta({ id: "Reschedule" });

/** When a task of a group runs. Without a hook it is a main task (tasks.md#stages). */
export const Lifecycle = z
  .strictObject({
    hook: z.enum(["prestart", "poststart", "poststop"]).optional(),
    sidecar: z.boolean().optional(),
  })
  .meta({ id: "Lifecycle" });

/** A file that the host downloads into a task's directory before the task starts. */
export const Artifact = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: "must be an http or https URL" })
      .max(2_048, "must have at most 2048 characters"),
    sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hexadecimal digits"),
    to: RelativePath,
  })
  .meta({ id: "Artifact" });
export type Artifact = z.output<typeof Artifact>;

/** Whether a command can get tokens of Drover that say which run it is (oidc.md#out). */
export const Identity = z
  .boolean()
  .describe(
    "the command can get tokens that prove to others which run it is: `DROVER_OIDC_URL` and " +
      "`DROVER_OIDC_REQUEST_TOKEN` are in its environment",
  );

/** The name that a task has for a secret: of a file in `DROVER_SECRETS_DIR`, or of a variable. */
const SecretKey = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/,
    "must be 1 to 128 letters, digits, `_`, `.` and `-`, and begin with a letter or `_`",
  );

/** How a task gets a secret (secrets.md#tasks). */
export const SecretUse = z
  .strictObject({
    secret: SecretName.describe("the name of the secret"),
    as: z
      .enum(["file", "env"])
      .default("file")
      .describe("a file in `DROVER_SECRETS_DIR`, or an environment variable"),
  })
  .meta({ id: "SecretUse" });

/** The secrets of a task, by the names that the task has for them (secrets.md#tasks). */
export const SecretUses = z
  .record(SecretKey, SecretUse)
  .refine(
    (uses) => Object.keys(uses).length <= MAX_TASK_SECRETS,
    `must have at most ${MAX_TASK_SECRETS} entries`,
  )
  .meta({ id: "SecretUses" });
export type SecretUses = z.output<typeof SecretUses>;

/** The files that become the result of a run: globs, relative to the task's directory. */
export const Outputs = z
  .array(RelativePath.max(1_024))
  .min(1, "must have at least 1 glob")
  .max(64, "must have at most 64 globs");

/** How a host runs a task: as a process, in a container, or as a simulated script. */
export const DriverName = z.enum(["exec", "container", "fake"]).meta({ id: "DriverName" });
export type DriverName = z.output<typeof DriverName>;

/** Why a command could not be started. */
export const StartErrorCode = z.enum(START_ERROR_CODES).meta({ id: "StartErrorCode" });
export type StartErrorCode = z.output<typeof StartErrorCode>;

/** What a task of the fake driver simulates, without a process. */
export const FakeInput = z
  .strictObject({
    runFor: Duration.default("0s"),
    exitCode: z.int().min(0).max(255).default(0),
    signal: Signal.optional(),
    startError: z
      .strictObject({
        text: z.string().min(1).max(1_024),
        code: StartErrorCode.optional(),
        recoverable: z.boolean().default(false),
      })
      .optional(),
    /** The task ends as if it ran out of memory. */
    oomKilled: z.boolean().optional(),
    blockStart: Duration.default("0s"),
    ignoreSignals: z.boolean().default(false),
    output: z.array(z.string().max(1_024)).max(100).default([]),
    dieWithAgent: z.boolean().default(false),
  })
  .meta({ id: "FakeScript" });

/** One task of the long form. It inherits omitted fields from its group. */
export const TaskInput = z
  .strictObject({
    name: z
      .string()
      .regex(TASK_NAME_PATTERN, "must be 1 to 63 lower-case letters, digits and dashes")
      .refine((name) => name !== "alloc", 'must not be "alloc", which is reserved'),
    argv: Argv.optional().describe("the command; it may be absent only with `container`: then the image's"),
    container: Container.optional().describe("the container in which it runs; absent: none"),
    lifecycle: Lifecycle.optional(),
    leader: z.boolean().optional(),
    env: Environment.optional(),
    secrets: SecretUses.optional(),
    meta: TextMap.optional(),
    dir: Directory.optional(),
    resources: TaskResources.optional(),
    restart: RestartInput.optional(),
    shutdownDelay: Duration.optional(),
    killTimeout: Duration.optional(),
    killSignal: Signal.optional(),
    driver: DriverName.optional(),
    fake: FakeInput.optional(),
    user: ProcessText.min(1).max(64).optional(),
    umask: Umask.optional(),
    artifacts: z.array(Artifact).max(64).optional(),
    snapshot: SnapshotId.optional(),
    stdin: z.string().optional(),
    identity: Identity.optional(),
    checks: Checks.optional(),
    checkRestart: CheckRestartInput.optional(),
  })
  .meta({ id: "Task" });
export type TaskInput = z.output<typeof TaskInput>;

/** What the fake driver simulates, with its durations in milliseconds. */
export interface FakeScript extends Omit<z.output<typeof FakeInput>, "runFor" | "blockStart"> {
  runForMs: number;
  blockStartMs: number;
}

/** One task of a run as its host needs it. A run of the short form has one task, called `main`. */
export interface TaskSpec {
  name: string;
  /** Empty only in a container: then the command is the image's. */
  argv: string[];
  /** The container in which it runs. Absent: none. */
  container?: Container;
  env: Record<string, string>;
  /** Its secrets, which it gets from its host; none if absent. */
  secrets?: SecretUses;
  meta: Record<string, string>;
  dir?: string;
  resources: Resources;
  /** Memory limit; 0: none. Absent: the requested memory. */
  memoryLimitBytes?: number;
  killTimeoutMs: number;
  killSignal: SignalName;
  /** The script to simulate, for the fake driver. */
  fake?: FakeScript;
  /** The user that the task runs as; the agent's user if absent. */
  user?: string;
  /** The task's umask, in octal digits; 022 if absent. */
  umask?: string;
  artifacts?: Artifact[];
  /** Whether the task's environment also has Nomad's variables. */
  compat?: "nomad";
  /** The snapshot to unpack into the task's directory before the start. */
  snapshot?: string;
  /** The standard input; empty if absent. */
  stdin?: string;
  /** A file that it finds in its directory, with its bytes in base64 (tasks.md#prepare-16). */
  payload?: { path: string; content: string };
  /** Whether the task can get tokens that say which run it is. */
  identity?: true;
  /** What is left of an ended attempt may be kept for a look (tasks.md#kept). */
  keep?: true;
  /** The globs of the task's result, which is collected once the task has ended by itself. */
  outputs?: string[];
  /** How it is checked while it runs (health.md#spec). Absent: it has no checks. */
  checks?: CheckSpec[];
  /** When a failing check restarts it. Absent: none does. */
  checkRestart?: CheckRestart;
}
