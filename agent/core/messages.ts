// What can the host's state machine tell its shell to do?
import type { Report, StreamName } from "../../src/schema/host.ts";
import type { CheckSpec } from "../../src/schema/run/checks.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import type { NumberedSignal } from "./types.ts";

/** Log bytes for a report: `bytes` of them, from offset `from` on. */
export interface LogPiecePlan {
  id: string;
  stream: StreamName;
  from: number;
  bytes: number;
  /** When the attempt was started: its stamps count from then. Absent: it has not started, or is lost. */
  startedAt?: Instant | undefined;
}

/**
 * What the shell must do. Each message is idempotent, and due until an event confirms it. The comment of each
 * message names the events that may follow. For each `to`, only one message of a kind is in flight (rule R7),
 * but a newer `report` replaces a report whose answer is held back.
 */
export type HostMessage = { to: string } & (
  | {
      kind: "report";
      seq: number;
      by: "socket" | "webhook";
      /** How long the control plane may hold back its answer; 0: not at all. */
      waitMs: Millis;
      /** The report without log bytes: the shell adds the bytes of `pieces` as `log.<stream>.data`. */
      report: Report;
      pieces: LogPiecePlan[];
    }
  /** Open the socket, with a heartbeat. `socket_opening`, then `socket_opened` or `socket_closed`. */
  | { kind: "connect"; heartbeatMs: Millis }
  /** Close the socket, because an answer on it is overdue. `socket_closed`. */
  | { kind: "hang_up" }
  /**
   * Fetch the secrets, the artifacts and the snapshot of a task, and write its payload. `prepared`,
   * `launch_failed`, or `refused` after a `kill_tree`.
   */
  | { kind: "prepare"; id: string; task: TaskSpec }
  /**
   * Start the task, unless this id was ever started or killed here. `launched`, `launch_failed` or `refused`.
   */
  | { kind: "start"; id: string; task: TaskSpec }
  /** Signal the main process, as the first step of a stop. `signaled`. */
  | { kind: "signal"; id: string; signal: SignalName }
  /** Signal the main process for a user. `passing_on`, before the signal is sent. */
  | ({ kind: "pass_on"; id: string } & NumberedSignal)
  /**
   * Kill all processes of the attempt, and never start it from now on. `exited` (if the main process was
   * running), then `tree_gone`; or `kill_failed` if a process lives after `waitMs`.
   */
  | { kind: "kill_tree"; id: string; waitMs: Millis }
  /**
   * Kill the processes that were started in what was kept of an ended attempt. `hold_ended` or `kill_failed`.
   */
  | { kind: "end_hold"; id: string; waitMs: Millis }
  /** Try a check of a running attempt; aborted when no longer due. `checked`. */
  | { kind: "check"; id: string; check: CheckSpec }
  /** Collect and store the outputs of an attempt; aborted when no longer due. `collected`. */
  | { kind: "collect"; id: string; globs: string[] }
  /** Delete the data of an attempt, and remember its id. `forgotten`. */
  | { kind: "forget"; id: string }
  /**
   * Delete the directories of a placement, but keep the data of a sticky placement. `cleared`, `kept` or
   * `held_on`.
   */
  | { kind: "clear"; placement: string }
  /**
   * Create the directory of a sticky placement from the kept data of the placement `from`, or else from a
   * snapshot; aborted when no longer due. `begun`.
   */
  | { kind: "begin"; placement: string; from?: string | undefined; snapshot?: string | undefined }
  /** Store the data of a sticky placement as a snapshot; aborted when no longer due. `saved`. */
  | { kind: "save"; placement: string }
  /** Delete the kept data of a placement. `cleared`. */
  | { kind: "drop"; placement: string }
  /**
   * Send log bytes to the object store, with the number of their newlines if `counted`. `chunk_sent`, then
   * `chunk_stored` or `chunk_failed`.
   */
  | ({ kind: "ship_log"; url: string; counted?: true } & LogPiecePlan)
  /**
   * Give back the disk space of these log bytes; all other bytes keep their offsets. `punched` or
   * `punch_failed`.
   */
  | { kind: "punch"; id: string; stream: StreamName; from: number; end: number }
  /** Run the boot probe. `probed`. */
  | { kind: "probe"; command: string }
  /** Measure the usage of these attempts and of the machine. `sampled`. */
  | { kind: "sample"; ids: string[] }
  /** Check whether the machine is about to be taken away. `noticed`. */
  | { kind: "look" }
  /** Fetch the agent with this digest, and put it into this agent's file. `agent_fetched`. */
  | { kind: "fetch_agent"; sha256: string }
  /** Inspect the machine: is it fit to be a host? `inspected`. */
  | { kind: "inspect" }
  /** Look at the devices of the machine. `devices_seen`. */
  | { kind: "look_at_devices" }
  /** End this process. With `powerOff`, power off the machine, too, if it can power itself off. */
  | { kind: "exit"; code: number; reason: string; powerOff: boolean }
);

/** A message of this kind. */
export type MessageOf<Kind extends HostMessage["kind"]> = Extract<HostMessage, { kind: Kind }>;
