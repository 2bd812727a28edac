import { z } from "zod";
import { ATTEMPT_ID_PATTERN, PLACEMENT_ID_PATTERN, type StreamName } from "../shared/attempt-id.ts";
import { MAX_HOST_NUMBER, MAX_TEXT_CHARS } from "../shared/limits.ts";

export type { StreamName } from "../shared/attempt-id.ts";

import { Name, SnapshotId } from "./common.ts";
import { Exit, type SignalName, type TaskSpec } from "./run/run.ts";
import { StartErrorCode } from "./run/task.ts";

export const AttemptId = z.string().regex(ATTEMPT_ID_PATTERN, "must be <run>/<task>/<epoch>.<n>");

const PlacementId = z.string().regex(PLACEMENT_ID_PATTERN, "must be <run>/<epoch>");

const Text = z.string().max(MAX_TEXT_CHARS);
const Seq = z.int().min(1).max(MAX_HOST_NUMBER);
const Bytes = z.int().min(0);

/** What a host has, as it measured it. */
export const HostResources = z
  .object({
    vcpus: z.number().min(0),
    memoryBytes: Bytes,
    diskBytes: Bytes,
    gpus: z.int().min(0),
  })
  .meta({ id: "HostResources" });

/** `POST /v1/hosts/enroll`: signed with the key of a code (protocol.md#enrolling). */
export const EnrollRequest = z.strictObject({
  salt: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "must be the base64 of 32 random bytes"),
  instanceId: z.string().max(256).optional(),
  agent: z.strictObject({ version: z.string().max(64), os: z.string().max(64), arch: z.string().max(64) }),
  bootId: z.string().min(1).max(128),
  resources: HostResources,
});
export type EnrollRequest = z.infer<typeof EnrollRequest>;

/** What a host needs to know to begin. Durations are milliseconds. */
export const HostSetup = z.object({
  worker: z.string(),
  incarnation: z.int(),
  reportUrl: z.string(),
  /** Where a socket can be opened. A control plane without sockets says nothing. */
  socketUrl: z.string().optional(),
  logsUrl: z
    .string()
    .optional()
    .meta({ description: "where large logs go, followed by /{attempt}/{stream}; absent: into reports" }),
  snapshotsUrl: z
    .string()
    .optional()
    .meta({ description: "where snapshots are, followed by /{snapshot}; absent: this deployment has none" }),
  probe: z.object({ intervalMs: z.int(), boot: z.string() }),
  leaseMs: z.int(),
  agent: z.object({ version: z.string(), sha256: z.string() }),
});
export type HostSetup = z.infer<typeof HostSetup>;

/** `POST /v1/hosts/{worker}/join`: signed, at each start of the agent. Answered with a `HostSetup`. */
export const JoinRequest = z.strictObject({
  start: z
    .string()
    .regex(/^[\w-]{16,64}$/)
    .meta({ description: "a random text of this start of the agent: the same in each try of it" }),
  bootId: z.string().min(1).max(128),
  instanceId: z.string().max(256).optional(),
});
export type JoinRequest = z.infer<typeof JoinRequest>;

/**
 * Why a command could not be started. It stands beside `exit`, because there is no exit of a process that
 * never was. The codes are those of `failure.code` with class `task`, `start_failed` and `artifact_failed`.
 */
export const StartError = z.object({
  code: StartErrorCode,
  text: Text,
  recoverable: z
    .boolean()
    .optional()
    .meta({ description: "another try may help; if absent it cannot (tasks.md#failure-note-2)" }),
});
export type StartError = z.infer<typeof StartError>;

/** Bytes of one stream: `data` begins at offset `from`; `size` is how many the stream has by now. */
export const LogPiece = z
  .object({ from: Bytes, size: Bytes, data: z.base64().optional() })
  .meta({ id: "LogPiece" });
export type LogPiece = z.infer<typeof LogPiece>;

/**
 * Why a host has begun to stop an attempt by itself: its lease ends, its agent was told to end, or its
 * machine is about to be taken away.
 */
export const HostStop = z.enum(["lease", "agent", "interruption"]).meta({
  description:
    "the host itself stopped it: its lease ends, its agent was told to end, or its machine is taken away",
});
export type HostStop = z.infer<typeof HostStop>;

/**
 * With what the directories of a sticky run began that had been placed before: `moved`, what an earlier
 * placement left on this machine; `fetched`, what one left on another machine, from a snapshot; `empty`,
 * nothing.
 */
export const StickyData = z.enum(["moved", "fetched", "empty"]);
export type StickyData = z.infer<typeof StickyData>;

/** Files that were packed and stored. */
export const SavedFiles = z
  .object({ snapshot: SnapshotId, files: Bytes, bytes: Bytes })
  .meta({ id: "SavedFiles" });

/** What became of a task's `outputs`: the snapshot that they lie in, or why they are lost. */
const Outcome = z.union([
  z.object({ error: Text }),
  // Of equally wrong forms the last is taken for what was meant (`field-errors.ts`).
  SavedFiles,
]);
export type OutputsOutcome = z.infer<typeof Outcome>;

/**
 * One attempt as the host sees it. `exited`: the status is known and the tree is empty. `uploading`: the
 * same, and its outputs are being collected. `gone`: the tree is empty and the status will never be known.
 */
export const AttemptReport = z.object({
  id: AttemptId,
  state: z.enum(["preparing", "running", "stopping", "uploading", "exited", "gone"]),
  startedAgoMs: z.number().min(0).optional(),
  endedAgoMs: z.number().min(0).optional(),
  exit: Exit.optional(),
  startError: StartError.optional(),
  waits: z
    .boolean()
    .optional()
    .meta({ description: "it is not to be started yet (`startInMs`), and nothing of it is here" }),
  timedOut: z
    .boolean()
    .optional()
    .meta({ description: "the host itself stopped it, because its time was over" }),
  stopped: HostStop.optional(),
  outputs: Outcome.optional().meta({
    description: "of a task with `outputs` that has ended by itself: its result, or why there is none",
  }),
  saved: Outcome.optional().meta({
    description: "after an order with `save`: the snapshot of its placement's data, or why there is none",
  }),
  data: StickyData.optional().meta({
    description: "of a sticky run that was placed here anew: whether its directories go on with earlier data",
  }),
  kill: z
    .object({
      tries: z.int().min(0),
      error: Text.nullable(),
      treeGone: z.boolean(),
      by: z.enum(["cgroup", "processes"]),
    })
    .optional(),
  log: z.object({ stdout: LogPiece, stderr: LogPiece }).partial().optional(),
});
export type AttemptReport = z.infer<typeof AttemptReport>;

/**
 * What the host can promise of a kill and of limits. By `cgroup` nothing escapes; by `processes` it ends what
 * it finds, by descent, session and environment, which is best effort. `limits`: what it can hold a task to.
 */
export const Means = z.object({
  kill: z.enum(["cgroup", "processes"]),
  limits: z.array(z.enum(["memory", "pids", "cpu"])),
  acts: z.array(z.string().max(64)).max(64).optional().meta({
    description: "fields of a task and its order that the agent acts on; absent: those of a command",
  }),
});
export type Means = z.infer<typeof Means>;

/** What something uses: processor time so far, processors of late, and now memory and processes. */
export const Sample = z
  .object({
    cpuMs: z.number().min(0),
    cpus: z
      .number()
      .min(0)
      .optional()
      .meta({ description: "since the sample before; absent: there is none" }),
    memoryBytes: Bytes,
    pids: Bytes,
  })
  .meta({ id: "Sample" });
export type Sample = z.infer<typeof Sample>;

/** The latest sample of what runs on a host (host-protocol.md#report). */
export const Usage = z.object({
  agoMs: z.number().min(0),
  host: Sample,
  attempts: z.record(AttemptId, Sample),
});
export type Usage = z.infer<typeof Usage>;

/** What a host says is true (host-protocol.md#report). */
export const Report = z.object({
  incarnation: z.int().min(1),
  seq: Seq,
  clock: z.number().min(0).optional().meta({
    description:
      "milliseconds since the boot of this machine, as of this report: shows how long it was on its way",
  }),
  full: z.boolean(),
  ordersSeen: z.int().min(0).max(MAX_HOST_NUMBER),
  boot: z
    .object({ ok: z.boolean(), output: Text, exitCode: z.int().nullable().optional() })
    .nullable()
    .optional(),
  broken: Text.nullable().optional(),
  draining: Text.nullable().optional().meta({
    description: "why this machine is to take nothing more: a notice of the provider, an operator at work",
  }),
  goneInMs: z.number().min(0).optional().meta({ description: "beside `draining`: when it will be gone" }),
  stale: z
    .array(z.union([Name, z.object({ run: Name, holder: Text.optional() })]))
    .max(10_000)
    .optional()
    .meta({ description: "runs whose supervisor is gone, while something of them still holds on" }),
  attempts: z.array(AttemptReport).max(10_000),
  kept: z.array(PlacementId).max(1_000).optional().meta({
    description: "placements of sticky runs that are over here, and whose data are kept; absent: none",
  }),
  resources: HostResources.optional(),
  means: Means.optional(),
  usage: Usage.optional(),
});
export type Report = z.infer<typeof Report>;

/**
 * What one attempt shall do. `run` without `task` means: keep it as it is, never start it. `sticky`: the data
 * of its placement are kept when that is over; they begin with those of epoch `from` if this host has them,
 * else with those in `snapshot`. `save`: everything of its placement has ended; its data are to be stored as
 * a snapshot. `startInMs`: so long it is not started; absent, it may be at once.
 */
export type AttemptOrder = RunOrder | StopOrder;
interface RunOrder {
  id: string;
  want: "run";
  task?: TaskSpec;
  startInMs?: number;
  timeoutMs?: number;
  sticky?: StickySource;
  save?: true;
}
/** Where a sticky placement's data come from. */
export interface StickySource {
  /** The epoch whose data this host may have kept; null: it has none. */
  from: number | null;
  /** The newest data of the run that are stored. Absent: none are. */
  snapshot?: string;
}
interface StopOrder {
  id: string;
  want: "stop";
  signal: SignalName;
  timeoutMs: number;
  reason: string;
  save?: true;
  /** The time limit is the reason. */
  timedOut?: true;
}

/** A signal for the main process of an attempt, once: `n` tells it from others like it. */
export interface SignalOrder {
  id: string;
  signal: SignalName;
  n: number;
}

/** What a host shall hold (host-protocol.md#orders). What is omitted shall be stopped and forgotten. */
export interface Orders {
  incarnation: number;
  revision: number;
  /** The `seq` of the report that this answers: the lease counts from when that was sent. */
  answers: number;
  /** What is left of the lease. Zero: nothing is granted. */
  leaseMs: number;
  reportWithinMs: number;
  attempts: AttemptOrder[];
  signals?: SignalOrder[];
  /** Kept placements (`Report.kept`) whose data nobody needs any more. What is not named here stays. */
  drop?: string[];
  /** Bytes stored so far, by attempt and stream: the host may drop what lies before. */
  logs: Record<string, Partial<Record<StreamName, number>>>;
  powerOff: boolean;
}

/**
 * What a socket carries to a host: orders, the wish for a full report, or why it is about to be closed, with
 * the status that a call would have been refused with (protocol.md#the-socket).
 */
export type HostFrame = Orders | { ask: "full" } | { refused: { status: number; detail: string } };
