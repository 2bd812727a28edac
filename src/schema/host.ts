// The messages between hosts and the control plane (host-protocol.md).
import { z } from "zod";
import { ATTEMPT_ID_PATTERN, PLACEMENT_ID_PATTERN, type StreamName } from "../shared/attempt-id.ts";
import { CHECK_NAME_PATTERN, MAX_CHECK_OUTPUT_CHARS, MAX_CHECKS } from "../shared/health/words.ts";
import { MAX_TEXT_CHARS } from "../shared/limits.ts";

export type { StreamName } from "../shared/attempt-id.ts";
export { HostEngine, MAX_HOST_NUMBER, Means } from "./pool/means.ts";

import type { TunnelKind } from "../shared/tunnel/frames.ts";

import { Name, SnapshotId } from "./common.ts";
import { MAX_HOST_NUMBER, Means } from "./pool/means.ts";
import { LogStamps } from "./run/arrivals.ts";
import { CheckWord } from "./run/checks.ts";
import { DeviceIds, HostDevices } from "./run/devices.ts";
import { Peaks } from "./run/peaks.ts";
import { Exit, type SignalName, type TaskSpec } from "./run/run.ts";
import { StartErrorCode } from "./run/task.ts";

export const AttemptId = z.string().regex(ATTEMPT_ID_PATTERN, "must be <run>/<task>/<epoch>.<n>");

const PlacementId = z.string().regex(PLACEMENT_ID_PATTERN, "must be <run>/<epoch>");

const Text = z.string().max(MAX_TEXT_CHARS);
const Bytes = z.int().min(0);

/** The resources that a host measured. */
export const HostResources = z
  .object({
    vcpus: z.number().min(0),
    memoryBytes: Bytes,
    diskBytes: Bytes,
    gpus: z.int().min(0),
  })
  .meta({ id: "HostResources" });

/** The public key of a host (X25519), for which secrets are sealed (secrets.md#host-keys). */
export const HostKey = z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "must be the base64 of 32 bytes");

/** `POST /v1/hosts/enroll`: signed with the key of an enrollment code (protocol.md#enrolling). */
export const EnrollRequest = z.strictObject({
  salt: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "must be the base64 of 32 random bytes"),
  instanceId: z.string().max(256).optional(),
  agent: z.strictObject({ version: z.string().max(64), os: z.string().max(64), arch: z.string().max(64) }),
  bootId: z.string().min(1).max(128),
  resources: HostResources,
  publicKey: HostKey.optional().describe(
    "the host's X25519 key, for which secrets are sealed; absent: it takes no secrets",
  ),
});
export type EnrollRequest = z.infer<typeof EnrollRequest>;

/** What a host needs to start. Durations are milliseconds. */
export const HostSetup = z.object({
  worker: z.string(),
  incarnation: z.int(),
  reportUrl: z.string(),
  /** Where the host can open a socket; absent if the control plane has no sockets. */
  socketUrl: z.string().optional(),
  logsUrl: z
    .string()
    .optional()
    .describe("the URL for large logs, without its end /{attempt}/{stream}; absent: logs go into reports"),
  logStamps: z.boolean().optional().describe("whether chunks for `logsUrl` may have `stamps`"),
  logLines: z.boolean().optional().describe("whether they may have `lines`"),
  snapshotsUrl: z
    .string()
    .optional()
    .describe("the URL of snapshots, without its end /{snapshot}; absent: this deployment has none"),
  secretsUrl: z.string().optional().describe("where an attempt's secrets are; absent: it takes none"),
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
    .describe("a random text for this start of the agent, the same in each retry"),
  bootId: z.string().min(1).max(128),
  instanceId: z.string().max(256).optional(),
});
export type JoinRequest = z.infer<typeof JoinRequest>;

/**
 * Why a command could not be started. It is separate from `exit`, since a process that never started has no
 * exit. Each code is also a `failure.code`.
 */
export const StartError = z.object({
  code: StartErrorCode,
  text: Text,
  recoverable: z
    .boolean()
    .optional()
    .describe("whether another try may help; absent: it cannot (tasks.md#failure-note-2)"),
});
export type StartError = z.infer<typeof StartError>;

/** Bytes of one stream: `data` begins at offset `from`; `size` is the current length of the stream. */
export const LogPiece = z
  .object({ from: Bytes, size: Bytes, data: z.base64().optional(), stamps: LogStamps.optional() })
  .meta({ id: "LogPiece" });
export type LogPiece = z.infer<typeof LogPiece>;

/**
 * Why a host stopped an attempt without an order: its lease ends, its agent is shutting down, or its machine
 * is about to be interrupted.
 */
export const HostStop = z
  .enum(["lease", "agent", "interruption"])
  .describe("the host's own stop: its lease ends, its agent is shutting down, or its machine is interrupted");
export type HostStop = z.infer<typeof HostStop>;

/**
 * What the directories of a sticky run contain when the run is placed again. `moved`: the data of an earlier
 * placement on this machine. `fetched`: the data in a snapshot from another machine. `empty`: nothing.
 */
export const StickyData = z.enum(["moved", "fetched", "empty"]);
export type StickyData = z.infer<typeof StickyData>;

/** Files that were packed and stored. */
export const SavedFiles = z
  .object({ snapshot: SnapshotId, files: Bytes, bytes: Bytes })
  .meta({ id: "SavedFiles" });

/** The result of a task's `outputs`: their snapshot, or why they are lost. */
const Outcome = z.union([
  z.object({ error: Text }),
  // If a value fits both forms equally badly, the errors are those of the last form (`field-errors.ts`).
  SavedFiles,
]);
export type OutputsOutcome = z.infer<typeof Outcome>;

/** One check of an attempt (health.md#report). */
export const CheckReport = z.object({
  name: z.string().regex(CHECK_NAME_PATTERN),
  status: CheckWord,
  sinceAgoMs: z.number().min(0),
  output: z.string().max(MAX_CHECK_OUTPUT_CHARS).optional().describe("what led to the status, if it is bad"),
});
export type CheckReport = z.infer<typeof CheckReport>;

/**
 * One attempt as the host sees it. `exited`: the exit is known and the process tree is empty. `uploading`:
 * as `exited`, but the host is still collecting the outputs. `gone`: the process tree is empty, and the exit
 * will never be known.
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
    .describe("the attempt must not be started yet (`startInMs`), and nothing of it exists here"),
  doing: z.string().max(512).optional().describe("before its start: what the host does for it, in words"),
  image: z.string().max(512).optional().describe("the image of its container, by its digest"),
  timedOut: z.boolean().optional().describe("the host stopped it at its time limit"),
  stopped: HostStop.optional(),
  checks: z.array(CheckReport).max(MAX_CHECKS).optional().describe("its checks; absent: none has begun"),
  unhealthy: z
    .object({
      check: z.string().regex(CHECK_NAME_PATTERN),
      failures: z.int().min(1),
      output: z.string().max(MAX_CHECK_OUTPUT_CHARS),
      agoMs: z.number().min(0),
    })
    .optional()
    .describe("the host stopped it, because this check has failed too often in a row"),
  secretsOnDisk: z
    .boolean()
    .optional()
    .describe("the files of its secrets are on a disk, since the host has no memory file system for them"),
  outputs: Outcome.optional().describe(
    "for a task with `outputs` that ended by itself: its result, or why there is none",
  ),
  hold: z
    .enum(["kept", "over"])
    .optional()
    .describe(
      "of an ended attempt: `kept`: what is left of it is kept (`holdMs`), or something that was started " +
        "there may live; `over`: neither, any more; absent: nothing of it was kept",
    ),
  saved: Outcome.optional().describe(
    "after an order with `save`: the snapshot of its placement's data, or why there is none",
  ),
  data: StickyData.optional().describe(
    "for a sticky run that was placed here again: whether its directories have earlier data",
  ),
  kill: z
    .object({
      tries: z.int().min(0),
      error: Text.nullable(),
      treeGone: z.boolean(),
      by: z.enum(["cgroup", "processes"]),
    })
    .optional(),
  devices: DeviceIds.optional().describe("the ids of the devices that it was given; absent: none"),
  peaks: Peaks.optional().describe("once no process of it is left: the most that it has used"),
  log: z.object({ stdout: LogPiece, stderr: LogPiece }).partial().optional(),
});
export type AttemptReport = z.infer<typeof AttemptReport>;

/** Resource usage: processor time so far, processors used recently, current memory and processes. */
export const Sample = z
  .object({
    cpuMs: z.number().min(0),
    cpus: z.number().min(0).optional().describe("since the previous sample; absent if there is none"),
    memoryBytes: Bytes,
    peakMemoryBytes: Bytes.optional().describe("the most memory so far; absent: the kernel does not keep it"),
    pids: Bytes,
  })
  .meta({ id: "Sample" });
export type Sample = z.infer<typeof Sample>;

/** The latest usage of a host and its attempts (host-protocol.md#report). */
export const Usage = z.object({
  agoMs: z.number().min(0),
  host: Sample,
  attempts: z.record(AttemptId, Sample),
});
export type Usage = z.infer<typeof Usage>;

/** A host's report of its state (host-protocol.md#report). */
export const Report = z.object({
  incarnation: z.int().min(1),
  seq: z.int().min(1).max(MAX_HOST_NUMBER),
  clock: z
    .number()
    .min(0)
    .optional()
    .describe("milliseconds since the boot of this machine when the report was sent; this reveals delays"),
  date: z
    .int()
    .min(0)
    .max(MAX_HOST_NUMBER)
    .optional()
    .describe("in a full report: the date of this machine in milliseconds since 1970; it is only shown"),
  full: z.boolean(),
  ordersSeen: z.int().min(0).max(MAX_HOST_NUMBER),
  boot: z
    .object({ ok: z.boolean(), output: Text, exitCode: z.int().nullable().optional() })
    .nullable()
    .optional(),
  broken: Text.nullable().optional(),
  draining: Text.nullable()
    .optional()
    .describe(
      "why this machine must take no more runs: a notice of the provider, maintenance by an operator",
    ),
  goneInMs: z.number().min(0).optional().describe("with `draining`: when the machine will be gone"),
  stale: z
    .array(z.union([Name, z.object({ run: Name, holder: Text.optional() })]))
    .max(10_000)
    .optional()
    .describe("runs whose supervisor is gone while something still holds their resources"),
  attempts: z.array(AttemptReport).max(10_000),
  kept: z
    .array(PlacementId)
    .max(1_000)
    .optional()
    .describe("ended placements of sticky runs whose data is kept here; absent: none"),
  devices: HostDevices.optional().describe(
    "in a full report: the machine's devices; absent: nothing there names devices",
  ),
  resources: HostResources.optional(),
  means: Means.optional(),
  usage: Usage.optional(),
});
export type Report = z.infer<typeof Report>;

/**
 * An order for one attempt. `run` without `task`: keep the attempt, but never start it. `sticky`: keep the
 * data when the placement ends. The placement begins with the data of epoch `from` if this host has these
 * data, or else with the data in `snapshot`. `save`: the whole placement has ended, so store its data as a
 * snapshot. `startInMs`: do not start the attempt before this time has passed; absent: start it immediately.
 * `holdMs`: keep what is left of the ended attempt for so long, so that commands can be run there; 0: end
 * that.
 */
export type AttemptOrder = RunOrder | StopOrder;
interface RunOrder {
  id: string;
  want: "run";
  task?: TaskSpec;
  startInMs?: number;
  timeoutMs?: number;
  holdMs?: number;
  sticky?: StickySource;
  save?: true;
}
/** Where a sticky placement gets its initial data. */
export interface StickySource {
  /** The epoch whose data this host may have; null: no epoch. */
  from: number | null;
  /** The run's newest stored data; absent: nothing is stored. */
  snapshot?: string;
}
interface StopOrder {
  id: string;
  want: "stop";
  signal: SignalName;
  timeoutMs: number;
  reason: string;
  save?: true;
  /** The attempt is stopped because its time limit is over. */
  timedOut?: true;
}

/** A signal to send once to the main process of an attempt. `n` identifies the signal. */
export interface SignalOrder {
  id: string;
  signal: SignalName;
  n: number;
}

/** What a host must run (host-protocol.md#orders). It must stop and forget everything else. */
export interface Orders {
  incarnation: number;
  revision: number;
  /** The `seq` of the answered report: the lease counts from the time at which that report was sent. */
  answers: number;
  /** How long the lease still lasts. 0: there is no lease. */
  leaseMs: number;
  reportWithinMs: number;
  attempts: AttemptOrder[];
  signals?: SignalOrder[];
  /** Kept placements (`Report.kept`) whose data may be deleted. The data of all other placements stay. */
  drop?: string[];
  /** How many bytes are stored so far, by attempt and stream. The host may drop these bytes. */
  logs: Record<string, Partial<Record<StreamName, number>>>;
  powerOff: boolean;
  /** The SHA-256 of the agent that this Drover serves, for agents that update themselves. */
  agent?: string;
}

/**
 * A frame to a host: orders, a request for a full report, or the reason why the socket is being closed.
 * `status`: the status with which an HTTP call would have been answered (protocol.md#the-socket).
 */
export type HostFrame = Orders | { ask: "full" } | { refused: { status: number; detail: string } };

/** A frame of a tunnel on a host's socket (tunnels.md#frames). Only the two ends read `frame`. */
export interface TunnelEnvelope {
  /** The tunnel's id. */
  tunnel: string;
  frame: string;
}

/**
 * What the worker's object tells a host: a client that may use this tunnel is connected. It is no frame, so
 * that no client can say it.
 */
export interface TunnelOpening {
  tunnel: string;
  open: { attempt: string; kind: TunnelKind };
}
