// What can happen to a host? Every event is legal in every state.
import type {
  HostSetup,
  HostStop,
  Means,
  Orders,
  OutputsOutcome,
  StartError,
  StreamName,
} from "../../src/schema/host.ts";
import type { Exit } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import type { Beginning, RawUsage } from "./types.ts";

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
  /**
   * This agent and its control plane have stood still since then, as in a sleep of their machine, the control
   * plane until `wokeAt`.
   */
  | { type: "slept"; since: Instant; wokeAt: Instant }
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
  /** Its outputs are stored, or lost. */
  | { type: "collected"; id: string; outputs: OutputsOutcome }
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
  /** The directories that its tasks have shared are deleted, or what was kept of them. */
  | { type: "cleared"; placement: string }
  /** A sticky placement has its directory; those of `from` are no more if they were moved. */
  | { type: "begun"; placement: string; from?: string | undefined; data: Beginning }
  /** The data of a sticky placement are stored, or cannot be. */
  | { type: "saved"; placement: string; outcome: OutputsOutcome }
  /** Of a placement that is over only what is to be kept is left. */
  | { type: "kept"; placement: string }
  | { type: "probed"; ok: boolean; output: string; exitCode?: number | null }
  /** A look for a notice has ended. null: there is none. Absent: nobody knows. */
  | { type: "noticed"; said?: string | null | undefined }
  /** What is used at this moment. */
  | { type: "sampled"; host: RawUsage; attempts: Record<string, RawUsage> }
  /** The agent is told to end; or, in the place of one that is dead, that the lease ends. */
  | { type: "shutdown"; by?: HostStop }
  | { type: "tick" };
