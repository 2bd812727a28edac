// What can happen to a host?
import type {
  HostEngine,
  HostSetup,
  HostStop,
  Means,
  Orders,
  OutputsOutcome,
  StartError,
  StreamName,
} from "../../src/schema/host.ts";
import type { Peaks } from "../../src/schema/run/peaks.ts";
import type { Exit } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import type { CheckResult } from "./checks/results.ts";
import type { Seen } from "./devices/device.ts";
import type { Beginning, RawUsage } from "./types.ts";

/** What can happen to a host. Every event is legal in every state. */
export type HostEvent =
  /** This host has enrolled or joined. */
  | { type: "joined"; setup: HostSetup }
  /** The report `seq` is about to be sent. The lease that its answer grants counts from here (rule R4). */
  | { type: "report_sent"; seq: number }
  /** The report `seq` was answered. */
  | { type: "orders"; seq: number; orders: Orders }
  /** The report `seq` got no answer, or an error. `random`: jitter of the back-off, in [0, 1). */
  | { type: "report_failed"; seq: number; random: number; retryAfterMs?: Millis | undefined }
  /** The socket is about to be opened, is open, was closed, or could not be opened (`random`: jitter). */
  | { type: "socket_opening" }
  | { type: "socket_opened" }
  | { type: "socket_closed"; random: number }
  /**
   * The machine, with this agent and its control plane, has slept. The sleep began at `since`, and the
   * control plane woke at `wokeAt`.
   */
  | { type: "slept"; since: Instant; wokeAt: Instant }
  /** The control plane asks for a full report. */
  | { type: "full_requested" }
  /** The control plane refuses this start of the agent for good. */
  | { type: "stale"; code: number; reason: string }
  /**
   * The secrets, the artifacts and the snapshot of the task are in place. `secretsOnDisk`: the machine has no
   * memory for the files of its secrets.
   */
  | { type: "prepared"; id: string; secretsOnDisk?: true }
  /** What is being done before the start of the attempt, in words, or the image that its container has. */
  | { type: "preparing"; id: string; doing?: string | undefined; image?: string | undefined }
  | { type: "launched"; id: string; by: Means["kill"] }
  | { type: "launch_failed"; id: string; startError: StartError }
  /** The attempt was not started, because its id was started or killed here before. */
  | { type: "refused"; id: string }
  /** The signal that begins the attempt's stop was sent. */
  | { type: "signaled"; id: string }
  /** The signal `n` is about to be sent. Once the journal has this, the signal is never sent again. */
  | { type: "passing_on"; id: string; n: number }
  /** The main process has ended; its children may live. `null`: the status is lost. */
  | { type: "exited"; id: string; exit: Exit | null }
  /**
   * None of the attempt's processes lives, and none will be started. `killed`: some had to be killed.
   * `peaks`: the most that the attempt has used, as far as measured.
   */
  | { type: "tree_gone"; id: string; killed: boolean; peaks?: Peaks | undefined }
  /** A `kill_tree` or an `end_hold` has left a process of the attempt alive. */
  | { type: "kill_failed"; id: string; error: string }
  /** None of the processes lives that were started in what was kept of an ended attempt. */
  | { type: "hold_ended"; id: string }
  /** The attempt's outputs are stored, or lost. */
  | { type: "collected"; id: string; outputs: OutputsOutcome }
  | { type: "output"; id: string; stream: StreamName; size: number }
  /** A check of a running attempt was tried. null: it could not be, and that says nothing of the task. */
  | { type: "checked"; id: string; name: string; result: CheckResult | null }
  /** A chunk is about to be sent. */
  | { type: "chunk_sent"; id: string; stream: StreamName; from: number; bytes: number }
  /** A chunk was answered. `stored`: how much of its stream the control plane has. */
  | { type: "chunk_stored"; id: string; stream: StreamName; stored: number }
  /** A chunk got no answer, or an error. `refused`: a retry would be refused, too. `random`: jitter. */
  | {
      type: "chunk_failed";
      id: string;
      stream: StreamName;
      random: number;
      refused: boolean;
      retryAfterMs?: Millis | undefined;
    }
  /** The disk space of these bytes was given back. */
  | { type: "punched"; id: string; stream: StreamName; from: number; end: number }
  /** This machine cannot give back disk space. */
  | { type: "punch_failed" }
  /** The attempt's data are deleted, and its id is remembered. */
  | { type: "forgotten"; id: string }
  /** The directories of a placement, or its kept data, are deleted. */
  | { type: "cleared"; placement: string }
  /** The directories of an ended placement cannot be deleted, since something holds on to them. */
  | { type: "held_on"; placement: string; holder: string }
  /** A sticky placement has its directory. `moved`: its data were moved from the placement `from`. */
  | { type: "begun"; placement: string; from?: string | undefined; data: Beginning }
  /** The data of a sticky placement are stored, or cannot be stored. */
  | { type: "saved"; placement: string; outcome: OutputsOutcome }
  /** The directories of a placement are deleted, except its sticky data. */
  | { type: "kept"; placement: string }
  | { type: "probed"; ok: boolean; output: string; exitCode?: number | null }
  /** A check for a notice has ended. null: there is none. Absent: the check has failed. */
  | { type: "noticed"; raw?: string | null | undefined }
  /** The agent with this digest is in this agent's file now, or it cannot be had (`failed`). */
  | { type: "agent_fetched"; sha256: string; failed: boolean }
  /** What is known of the machine's container engine. Absent: there is none. */
  | { type: "engine"; engine?: HostEngine | undefined }
  /** The machine was inspected. null: it is fit to be a host. */
  | { type: "inspected"; fault: string | null }
  /** A look at the devices has ended. */
  | { type: "devices_seen"; seen: Seen }
  | { type: "sampled"; host: RawUsage; attempts: Record<string, RawUsage> }
  /** The agent was asked to end. `by: "lease"`: the watchdog ends the attempts of a dead agent. */
  | { type: "shutdown"; by?: HostStop }
  | { type: "tick" };

/** An event of this type. */
export type EventOf<Type extends HostEvent["type"]> = Extract<HostEvent, { type: Type }>;
