// The state of a host: everything that its machine decides from.
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
import type { Exit, SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";

/** How a stream that has outgrown reports is doing. */
export interface ChunkState {
  /** The chunk that waits for its answer. */
  sent?: { from: number; bytes: number };
  /** When the latest was sent. */
  turnAt?: Instant;
  /** The latest has failed: until then the stream goes into reports. */
  notBefore?: Instant;
  failures: number;
  /** How many bytes the next may have. */
  limit: number;
}

/** One stream of one attempt: bytes written so far, and bytes that the control plane has stored. */
export interface StreamState {
  size: number;
  acked: number;
  chunk?: ChunkState;
  /** So many bytes at its beginning were given back to the disk. */
  punched?: number;
  /** The same, behind the cap: up to this offset. */
  dropped?: number;
}

/** How an attempt that nobody has said anything else about is stopped. */
export interface StopPlan {
  signal: SignalName;
  timeoutMs: Millis;
}

/** A stop that has begun. It is never undone. */
export interface StopState {
  signal: SignalName;
  /** When its grace is over. */
  killAt: Instant;
  /** The grace is over: the tree is being killed. */
  killing: boolean;
  /** The signal has been sent, or there was nobody to send it to. */
  signaled: boolean;
  /** Why the host itself has begun it, while the attempt had not ended. Absent: it was ordered. */
  by?: HostStop;
}

/** A signal as the orders name it: each number is sent once. */
export type NumberedSignal = Omit<SignalOrder, "id">;

/** One attempt as the host knows it. */
export interface AttemptState {
  id: string;
  /** What the orders last said of it. `nothing`: they omit it. */
  wanted: "run" | "stop" | "nothing";
  /** What would be started. Absent: this host must not, or need not, start it. */
  task?: TaskSpec;
  /** The stop that its task asks for. Absent: the task is not known. */
  plan?: StopPlan | undefined;
  /** The globs of what it leaves as its result. Absent: it has none. */
  outputs?: string[] | undefined;
  /** What became of that. */
  collected?: OutputsOutcome | undefined;
  /** How its tree can be ended (`Means`). Absent: it was not launched. */
  by?: Means["kill"] | undefined;
  /** Its run is sticky, and goes on with these data. */
  sticky?: StickySource;
  /** The data of its placement are to be stored as a snapshot. */
  save?: true | undefined;
  /** What became of that. */
  saved?: OutputsOutcome;
  /** The main process. `over`: it has ended, or will never be started. */
  main: "waiting" | "running" | "over";
  /** It was ordered not to start before this, which has not passed yet. */
  notBefore?: Instant;
  /** What must be there before it starts is there (`needsPreparation`). */
  prepared?: true;
  startedAt?: Instant | undefined;
  endedAt?: Instant | undefined;
  /** Neither `exit` nor `startError` when it is over: its status will never be known. */
  exit?: Exit | undefined;
  startError?: StartError | undefined;
  /** Its time limit, and the words of the orders that it was made of. */
  deadline?: Instant | undefined;
  timeoutMs?: Millis | undefined;
  timedOut: boolean;
  stop?: StopState | undefined;
  /** `tries`: those that found something to kill. `failed`: those of them that left something alive. */
  kill: { tries: number; failed: number; error: string | null };
  /** Signals that somebody wants it to get, in their order. */
  signals?: NumberedSignal[];
  /** The number of the latest of them that was sent: none is sent twice. */
  signaledUpTo?: number | undefined;
  /** No process of it lives, nor ever will. */
  treeGone: boolean;
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
  /** Of the report sent last. */
  seq: number;
  sent?: SentReport;
  /** By when what has changed since the last report must be reported. */
  newsBy?: Instant;
  /** Without news: when the next report goes. */
  restUntil: Instant;
  /** Back-off: no report before this. */
  notBefore: Instant;
  failures: number;
  /**
   * Sent log bytes were not acknowledged: when to send them again, and how often that has happened in a
   * row.
   */
  logRetryAt?: Instant;
  logStalls: number;
  /** Of when the sample is that was reported last. */
  usageTold?: Instant;
}

/** The socket to the control plane (host-protocol.md#socket). */
export interface LineState {
  phase: "closed" | "opening" | "open";
  /** Back-off: not opened before this. */
  notBefore: Instant;
  failures: number;
  /** While open: when the next full report is due. */
  fullBy: Instant;
  /** The attempts as they were when the latest report was sent on it. */
  told: Record<string, AttemptState>;
  /** When to say again what is over, and how often in a row that has been done. */
  repeatAt?: Instant;
  repeats: number;
}

/** The boot probe: run until it has succeeded once, reported until that has been answered. */
export interface BootState {
  outcome?: { ok: boolean; output: string; exitCode?: number | null };
  acked: boolean;
  /** When to run it next; absent while it runs, and when it has succeeded. */
  nextAt?: Instant;
  running: boolean;
}

/**
 * What is known of the machine's near end: `said`, as it was written, null if there is no notice, absent if
 * nobody knows yet; `text` and `goneAt`, what it means. `looking`: a look is under way; `nextAt`: when the
 * next one is due.
 */
export interface NoticeState {
  said?: string | null;
  text?: string;
  goneAt?: Instant;
  looking: boolean;
  nextAt?: Instant;
}

/** What something has used so far, or uses now. */
export interface RawUsage {
  cpuMs: number;
  memoryBytes: number;
  pids: number;
}

/** What is known of usage. `sampling`: a sample is being taken. */
export interface UsageState {
  sampling: boolean;
  latest?: { at: Instant; host: Sample; attempts: Record<string, Sample> };
}

/** The agent is about to exit: when all attempts are gone and that has been reported, or at `by`. */
export interface Ending {
  code: number;
  reason: string;
  by: Instant;
  /** Nothing is reported any more: another start of the agent speaks for this host. */
  silent: boolean;
  /** The machine is done for, not only this process. */
  powerOff: boolean;
}

/** With what a sticky placement begins. `first`: the orders name no data of its run. */
export type Beginning = "first" | StickyData;

/** A placement that is over and whose data are kept. */
export interface KeptData {
  since: Instant;
  /** They may be deleted: somebody has said so, or a bound is reached. */
  unneeded?: true;
}

/** The data of sticky runs (`sticky.ts`), by placement, as they lie on the disk. */
export interface StickyState {
  begun: Record<string, Beginning>;
  kept: Record<string, KeptData>;
}

/** All that the agent knows. Plain data; instants are milliseconds since the boot of the machine. */
export interface HostState {
  setup?: HostSetup;
  means: Means;
  attempts: Record<string, AttemptState>;
  /** Placements that may have directories here, `<run>/<epoch>`. */
  placements: string[];
  sticky: StickyState;
  /** Revision of the orders last applied. */
  ordersSeen: number;
  reportWithinMs: Millis;
  leaseUntil?: Instant;
  /**
   * Nothing is stopped for the end of the lease before this: the machine and its control plane have slept.
   */
  wokeUntil?: Instant;
  /** The longest lease that is ever granted; zero before the first join. */
  leaseMs: Millis;
  /** The machine can end itself, and shall at the end of its lease (invariant 8). */
  powersOff: boolean;
  boot: BootState;
  notice: NoticeState;
  exchange: ExchangeState;
  line: LineState;
  usage: UsageState;
  /** Whether this machine can give back the disk under what is stored elsewhere. */
  punches: boolean;
  ending?: Ending;
}
