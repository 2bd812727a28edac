import type { Envelope, Instant, Millis } from "../../src/core/machine.ts";
import type {
  HostSetup,
  HostStop,
  Means,
  Orders,
  Report,
  Sample,
  SignalOrder,
  StartError,
  StreamName,
} from "../../src/schema/host.ts";
import type { Exit, SignalName, TaskSpec } from "../../src/schema/run.ts";

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
  /** How its tree can be ended (`Means`). Absent: it was not launched. */
  by?: Means["kill"] | undefined;
  /** The main process. `over`: it has ended, or will never be started. */
  main: "waiting" | "running" | "over";
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

/** The socket to the control plane (`host-protocol.md`). */
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
  outcome?: { ok: boolean; output: string };
  acked: boolean;
  /** When to run it next; absent while it runs, and when it has succeeded. */
  nextAt?: Instant;
  running: boolean;
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

/** All that the agent knows. Plain data; instants are milliseconds since the boot of the machine. */
export interface HostState {
  setup?: HostSetup;
  means: Means;
  attempts: Record<string, AttemptState>;
  /** Placements that may have directories here, `<run>/<epoch>`. */
  placements: string[];
  /** Revision of the orders last applied. */
  ordersSeen: number;
  reportWithinMs: Millis;
  leaseUntil?: Instant;
  /** The longest lease that is ever granted; zero before the first join. */
  leaseMs: Millis;
  /** The machine can end itself, and shall at the end of its lease (invariant 8). */
  powersOff: boolean;
  boot: BootState;
  exchange: ExchangeState;
  line: LineState;
  usage: UsageState;
  /** Whether this machine can give back the disk under what is stored elsewhere. */
  punches: boolean;
  ending?: Ending;
}

/** What can happen to a host. Every event is legal in every state. */
export type HostEvent =
  /** Enrolled or joined. */
  | { type: "joined"; setup: HostSetup }
  /** The report `seq` is about to be sent. The lease that its answer grants counts from here (rule R4). */
  | { type: "report_sent"; seq: number }
  /** The report `seq` was answered. */
  | { type: "orders"; seq: number; orders: Orders }
  /** The report `seq` got no answer, or an error. `random` is in [0, 1): the jitter of the back-off. */
  | { type: "report_failed"; seq: number; random: number; retryAfterMs?: Millis }
  /** A socket is being opened; it is open; it was closed, or could not be opened (`random`: as above). */
  | { type: "line_opening" }
  | { type: "line_opened" }
  | { type: "line_closed"; random: number }
  /** The control plane asks for a full report. */
  | { type: "full_wanted" }
  /** The control plane will never again listen to this start of the agent. */
  | { type: "stale"; code: number; reason: string }
  /** What its task needs before it starts is there. */
  | { type: "prepared"; id: string }
  | { type: "launched"; id: string; by: Means["kill"] }
  | { type: "launch_failed"; id: string; startError: StartError }
  /** The id was ever started here, so it was not started now. */
  | { type: "refused"; id: string }
  /** The signal of its stop was sent. */
  | { type: "signaled"; id: string }
  /** The signal `n` is about to be sent. Once this is written down, it is never sent again. */
  | { type: "passing_on"; id: string; n: number }
  /** The main process has ended; its tree may live. `null`: its status is lost. */
  | { type: "exited"; id: string; exit: Exit | null }
  /** Nothing of it lives, and it will never be started. `killed`: something had to be killed for that. */
  | { type: "tree_gone"; id: string; killed: boolean }
  /** A try of `kill_tree` has left something alive. */
  | { type: "kill_failed"; id: string; error: string }
  | { type: "output"; id: string; stream: StreamName; size: number }
  /** A chunk is about to be sent. */
  | { type: "chunk_sent"; id: string; stream: StreamName; from: number; bytes: number }
  /** A chunk was answered: so much of its stream is stored. */
  | { type: "chunk_stored"; id: string; stream: StreamName; stored: number }
  /** It got no answer, or an error. `refused`: the same would be refused again. `random`: see above. */
  | {
      type: "chunk_failed";
      id: string;
      stream: StreamName;
      random: number;
      refused: boolean;
      retryAfterMs?: Millis;
    }
  /** The disk under these bytes is free. */
  | { type: "punched"; id: string; stream: StreamName; from: number; end: number }
  /** This machine cannot do that. */
  | { type: "punch_failed" }
  /** Its data are deleted, its id is remembered. */
  | { type: "forgotten"; id: string }
  /** The directories that its tasks have shared are deleted. */
  | { type: "cleared"; placement: string }
  | { type: "probed"; ok: boolean; output: string }
  /** What is used at this moment. */
  | { type: "sampled"; host: RawUsage; attempts: Record<string, RawUsage> }
  /** The agent is told to end; or, in the place of one that is dead, that the lease ends. */
  | { type: "shutdown"; by?: HostStop }
  | { type: "tick" };

/** Log bytes that a report shall carry: `bytes` of them, from offset `from` on. */
export interface LogPiecePlan {
  id: string;
  stream: StreamName;
  from: number;
  bytes: number;
}

/**
 * What the agent owes. All are idempotent, and owed until an event says that they are done; the shell has
 * one of a kind in flight for one destination (rule R7), but a newer `report` takes the place of one that
 * is held.
 */
export type HostMessage = Envelope &
  (
    | {
        kind: "report";
        seq: number;
        by: "socket" | "webhook";
        /** For how long the answer may be held; 0: not at all. */
        waitMs: Millis;
        /** Everything but the log bytes: those of `pieces` are filled in as `log.<stream>.data`. */
        report: Report;
        pieces: LogPiecePlan[];
      }
    /**
     * Open the socket, and say every so often that we live. `line_opening`, then `line_opened` or
     * `line_closed`.
     */
    | { kind: "connect"; heartbeatMs: Millis }
    /** Close the socket: it does not answer. `line_closed`. */
    | { kind: "hang_up" }
    /**
     * Fetch what its task needs before it starts. `prepared`, `launch_failed`, or `refused` if a `kill_tree`
     * has come in between.
     */
    | { kind: "prepare"; id: string; task: TaskSpec }
    /** Start it, unless this id was ever started or killed here. `launched`, `launch_failed` or `refused`. */
    | { kind: "start"; id: string; task: TaskSpec }
    /** Signal the main process. `signaled`. */
    | { kind: "signal"; id: string; signal: SignalName }
    /** Signal the main process because somebody wants that. `passing_on`, before it is done. */
    | ({ kind: "pass_on"; id: string } & NumberedSignal)
    /**
     * Kill whatever lives of it, and never start it from now on. Done when nothing lives: `exited` (if the
     * main process was running), then `tree_gone`; after `waitMs` in vain `kill_failed`.
     */
    | { kind: "kill_tree"; id: string; waitMs: Millis }
    /** Delete its data, remember its id. `forgotten`. */
    | { kind: "forget"; id: string }
    /** Delete the directories of a placement. `cleared`. */
    | { kind: "clear"; placement: string }
    /** Send log bytes to the object store. `chunk_sent`, then `chunk_stored` or `chunk_failed`. */
    | { kind: "ship_log"; url: string; id: string; stream: StreamName; from: number; bytes: number }
    /** Give back the disk under log bytes, and leave all others where they are. `punched`, `punch_failed`. */
    | { kind: "punch"; id: string; stream: StreamName; from: number; end: number }
    /** Run the boot probe. `probed`. */
    | { kind: "probe"; command: string }
    /** Measure what these attempts and the machine use. `sampled`. */
    | { kind: "sample"; ids: string[] }
    /** End this process, and the machine with it where it can end itself. */
    | { kind: "exit"; code: number; reason: string; powerOff: boolean }
  );
