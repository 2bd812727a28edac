// What does the host's state machine know?
import type {
  HostSetup,
  HostStop,
  Means,
  OutputsOutcome,
  Sample,
  SignalOrder,
  StartError,
  StickyData,
  StickySource,
  StreamName,
} from "../../src/schema/host.ts";
import type { CheckRestart, CheckSpec } from "../../src/schema/run/checks.ts";
import type { Peaks } from "../../src/schema/run/peaks.ts";
import type { Exit, SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { CheckStatus } from "../../src/shared/health/words.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import type { Device } from "./devices/device.ts";

/** The upload of a stream in chunks, which begins when the stream has outgrown reports. */
export interface ChunkState {
  /** The chunk that waits for its answer. */
  sent?: { from: number; bytes: number } | undefined;
  /** When the latest chunk was sent. */
  turnAt?: Instant;
  /** The latest chunk has failed: until this instant the stream uses reports. */
  notBefore?: Instant | undefined;
  failures: number;
  /** The largest size of the next chunk, in bytes. */
  limit: number;
}

/**
 * One stream of one attempt. `size`: bytes written so far; `acked`: bytes that the control plane has stored.
 */
export interface StreamState {
  size: number;
  acked: number;
  chunk?: ChunkState;
  /** The disk space of the stream is given back from its beginning up to this offset. */
  punched?: number;
  /** The disk space of bytes beyond the cap is given back up to this offset. */
  dropped?: number;
}

/** How an attempt is stopped. */
export interface StopPlan {
  signal: SignalName;
  timeoutMs: Millis;
}

/** A stop that has begun. It is never undone. */
export interface StopState {
  signal: SignalName;
  /** End of the grace period. */
  killAt: Instant;
  /** The grace period is over: the tree is being killed. */
  killing: boolean;
  /** The signal has been sent, or no process was left to get it. */
  signaled: boolean;
  /** Why the host itself has begun the stop, before the attempt ended. Absent: the orders asked for it. */
  by?: HostStop | "check";
}

/** How the attempts of a task are checked, and when a failing check stops one of them. */
export interface CheckPlan {
  checks: CheckSpec[];
  restart?: CheckRestart;
}

/**
 * One check of a running attempt. `good` and `bad` count results in a row that change the status; `unhealthy`
 * counts those that restart the task.
 */
export interface CheckState {
  status: CheckStatus;
  /** Since when it has this status. */
  since: Instant;
  good: number;
  bad: number;
  unhealthy: number;
  /** A result was good, so that the start period is over. */
  hasPassed: boolean;
  /** When it is tried next. Absent while it is tried. */
  nextAt?: Instant | undefined;
  /** When the try began that is being made. Absent: none is. */
  beganAt?: Instant | undefined;
  /** What the failure said that led to the status, or the first one while it is pending. */
  output?: string | undefined;
}

/** The check whose failures have stopped an attempt. */
export interface Unhealthy {
  check: string;
  /** How many results in a row were bad. */
  failures: number;
  output: string;
  /** When the stop began. */
  at: Instant;
}

/** A signal in the orders. Each number is sent at most once. */
export type NumberedSignal = Omit<SignalOrder, "id">;

/**
 * What is left of an ended attempt is kept, so that commands can be run there (tasks.md#kept). `possible`:
 * the attempt has not ended yet. `ending`: the processes there are to be killed. `over`: none is left.
 */
export interface HoldState {
  phase: "possible" | "kept" | "ending" | "over";
  /** The task, whose environment commands get. Absent: it is not known. */
  task?: TaskSpec;
  /** This host ends the hold then. Absent: the orders have not said when. */
  until?: Instant;
}

/** One attempt as the host knows it. */
export interface AttemptState {
  id: string;
  /** What the latest orders want of the attempt. `nothing`: the orders omit the attempt. */
  wanted: "run" | "stop" | "nothing";
  /** The task to start. Absent: this host must not, or need not, start it. */
  task?: TaskSpec | undefined;
  /** How the task is to be stopped. Absent: the task is not known. */
  plan?: StopPlan | undefined;
  /** How it is checked while it runs. Absent: it is not, or the task is not known. */
  checks?: CheckPlan | undefined;
  /** Its checks, by name. Absent: its main process has not been seen running. */
  checking?: Record<string, CheckState>;
  /** Why this host has stopped it, if one of its checks has failed too often. */
  unhealthy?: Unhealthy | undefined;
  /** The globs of its outputs. Absent: it has none. */
  outputs?: string[] | undefined;
  /** Whether the outputs were stored. Absent: not known yet. */
  collected?: OutputsOutcome | undefined;
  /**
   * The devices that were given to it, before its start and for good (devices.md#assignment). `any`: it may
   * use any device of this machine. `unknown`: its journal is lost. Absent: it was given none.
   */
  devices?: Device[] | "any" | "unknown" | undefined;
  /** Nothing of it can use its devices any more: others may have been given them (devices.md#freed). */
  freed?: true | undefined;
  /** How the attempt's processes can be killed (`Means`). Absent: the attempt was not launched. */
  by?: Means["kill"] | undefined;
  /** Absent: nothing of it is kept. */
  hold?: HoldState | undefined;
  /** Where the data of its sticky run come from. */
  sticky?: StickySource;
  /** The data of its placement are to be stored as a snapshot. */
  save?: true | undefined;
  /** Whether these data were stored. Absent: not known yet. */
  saved?: OutputsOutcome;
  /** The main process. `over`: it has ended, or will never be started. */
  main: "waiting" | "running" | "over";
  /** The attempt must not start before this instant, which is still to come. */
  notBefore?: Instant | undefined;
  /** What is done for it before its start, in words. Absent: nothing that takes long. */
  doing?: string | undefined;
  /** The image of its container, by its digest. Absent: it has none, or it is not known yet. */
  image?: string | undefined;
  /** Its secrets, artifacts and snapshot are in place (`needsPreparation`). */
  prepared?: true;
  /** Its task has secrets: the next start of the agent must find their sealed values (secrets.md#handed). */
  hasSecrets?: true;
  /** The files of its secrets are on a disk (secrets.md#files). */
  secretsOnDisk?: true | undefined;
  startedAt?: Instant | undefined;
  endedAt?: Instant | undefined;
  /** If `main` is `over` and there is neither `exit` nor `startError`, the exit status is lost. */
  exit?: Exit | undefined;
  startError?: StartError | undefined;
  /** End of the time limit, and the limit in the orders from which it was computed. */
  deadline?: Instant | undefined;
  timeoutMs?: Millis | undefined;
  timedOut: boolean;
  stop?: StopState | undefined;
  /** `tries`: kills that found a process alive. `failed`: kills that left a process alive. */
  kill: { tries: number; failed: number; error: string | null };
  /** Signals that users have asked for, in their order. */
  signals?: NumberedSignal[];
  /** Number of the latest signal that was sent: no signal is sent twice. */
  signaledUpTo?: number | undefined;
  /** None of the attempt's processes lives, and none will be started. */
  treeGone: boolean;
  /** The most that it has used (tasks.md#peaks). Absent: nothing was measured, or it has not ended. */
  peaks?: Peaks | undefined;
  logs: Record<StreamName, StreamState>;
}

/** The report that waits for its answer. */
export interface SentReport {
  seq: number;
  at: Instant;
  waitMs: Millis;
  withLogs: boolean;
  bootOk: boolean;
}

export interface ExchangeState {
  /** Number of the latest report. */
  seq: number;
  sent?: SentReport | undefined;
  /** By when the changes since the last report must be reported. */
  newsBy?: Instant | undefined;
  /** When the next report is sent if nothing changes. */
  restUntil: Instant;
  /** Back-off: no report is sent before this instant. */
  notBefore: Instant;
  failures: number;
  /** When to resend log bytes that were not acknowledged. */
  logRetryAt?: Instant | undefined;
  /** How often in a row log bytes were not acknowledged. */
  logStalls: number;
  /** Instant of the latest reported sample. */
  usageReportedAt?: Instant | undefined;
}

/** The socket to the control plane (host-protocol.md#socket). */
export interface SocketState {
  phase: "closed" | "opening" | "open";
  /** Back-off: the socket is not opened before this instant. */
  notBefore: Instant;
  failures: number;
  /** While open: when the next full report is due. */
  fullBy: Instant;
  /** The attempts as they were when the latest report was sent on the socket. */
  reported: Record<string, AttemptState>;
  /** Attempts that have begun, and have no other news: by when a report must name them. */
  begun: Record<string, Instant>;
  /** When to repeat the reports of ended attempts, and how often in a row they were repeated. */
  repeatAt?: Instant;
  repeats: number;
}

/**
 * The boot probe. It runs until it succeeds once. Its result is reported until a report of success is
 * answered.
 */
export interface BootState {
  outcome?: { ok: boolean; output: string; exitCode?: number | null };
  acked: boolean;
  /** When to run it next; absent while it runs, and once it has succeeded. */
  nextAt?: Instant | undefined;
  running: boolean;
}

/** The provider's notice that this machine will be taken away. */
export interface NoticeState {
  /** The notice as written. null: there is none. Absent: not known yet. */
  raw?: string | null;
  /** The meaning of the notice: a text, and when the machine will be gone. */
  text?: string;
  goneAt?: Instant;
  /** When to check next; absent while a check is in flight, and before this host has joined. */
  nextAt?: Instant | undefined;
  running: boolean;
}

/** Whether the machine is fit to be a host (`reports/fitness.ts`). */
export interface FitnessState {
  running: boolean;
  /** When to inspect the machine next; absent while it is inspected, and before this host has joined. */
  nextAt?: Instant | undefined;
  /** Since when inspections have found a fault. */
  since?: Instant;
  /** The fault, once it has lasted. */
  broken?: string;
}

/** The devices of the machine, as far as known (`devices/looks.ts`). */
export interface DevicesState {
  running: boolean;
  /** When to look next; absent while a look is in flight, and before the first look. */
  nextAt?: Instant | undefined;
  /** `none`: nothing on this machine names devices. Absent: nobody has looked yet. */
  known?: Device[] | "none" | undefined;
  /** Why the devices are not known, once that has lasted. */
  fault?: string | undefined;
  /** Since when looks have failed. */
  since?: Instant | undefined;
}

/** Something holds on to the directories of an ended placement (`attempts/remains.ts`). */
export interface Remains {
  holder: string;
  tries: number;
  /** When to try again to delete them; absent while that is tried. */
  againAt?: Instant | undefined;
}

/** One measurement. `cpuMs` is the total so far; the other fields are current values. */
export interface RawUsage {
  cpuMs: number;
  memoryBytes: number;
  pids: number;
  /** The most memory at a time so far, as far as the kernel remembers it. */
  peakBytes?: number | undefined;
  /** `peakBytes` is not the kernel's, but that of one process. */
  peakIsSampled?: true | undefined;
}

/** `sampling`: a sample is being taken. */
export interface UsageState {
  sampling: boolean;
  latest?: { at: Instant; host: Sample; attempts: Record<string, Sample> };
}

/** The agent exits when no process of an attempt is left and this is reported, or at `by`. */
export interface Ending {
  code: number;
  reason: string;
  by: Instant;
  /** Report nothing more: a newer incarnation reports for this host. */
  silent: boolean;
  /** End the machine, not only this process. */
  powerOff: boolean;
}

/** The data with which a sticky placement begins. `first`: its run has no data yet. */
export type Beginning = "first" | StickyData;

/** Data on disk of a sticky placement that is over. */
export interface KeptData {
  since: Instant;
  /** The data are to be deleted: the orders dropped them, or a bound is reached. */
  unneeded?: true;
}

/** The data of sticky runs on the disk (`sticky.ts`), by placement. */
export interface StickyState {
  begun: Record<string, Beginning>;
  kept: Record<string, KeptData>;
}

/** Which agent runs, and which one is to take its place (`update.ts`). All are digests. */
export interface UpdateState {
  /** Absent: this agent does not update itself. */
  own?: string;
  wanted?: string | undefined;
  /** The agent that is in this agent's file now. */
  ready?: string | undefined;
  /** Nothing is fetched before this instant. */
  notBefore: Instant;
  /** The control plane has answered a report of this agent, so that the agent before it is not needed. */
  isProven: boolean;
}

/** All that the agent knows. Plain data; instants are milliseconds since the boot of the machine. */
export interface HostState {
  setup?: HostSetup;
  means: Means;
  attempts: Record<string, AttemptState>;
  /** Placements that may have directories here, `<run>/<epoch>`. */
  placements: string[];
  sticky: StickyState;
  /** Revision of the latest orders. */
  ordersSeen: number;
  reportWithinMs: Millis;
  leaseUntil?: Instant;
  /** After a sleep of machine and control plane, the end of the lease stops nothing before this instant. */
  wokeUntil?: Instant;
  /** The longest lease that is ever granted; zero before the first join. */
  leaseMs: Millis;
  /** The machine can power itself off, and must do so at the end of its lease (invariant 8). */
  powersOff: boolean;
  boot: BootState;
  notice: NoticeState;
  fitness: FitnessState;
  devices: DevicesState;
  /** By placement: what keeps its directories from being deleted. */
  remains: Record<string, Remains>;
  exchange: ExchangeState;
  socket: SocketState;
  usage: UsageState;
  update: UpdateState;
  /** Whether this machine can give back the disk space of stored log bytes. */
  punches: boolean;
  ending?: Ending;
}
