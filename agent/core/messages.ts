// What does the host's machine owe the world? The shell carries these messages out.
import type { Report, StreamName } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Envelope, Millis } from "../../src/shared/machine.ts";
import type { NumberedSignal } from "./types.ts";

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
    /**
     * Collect its outputs and store them. `collected`, unless it is not owed any more in between: then it is
     * given up.
     */
    | { kind: "collect"; id: string; globs: string[] }
    /** Delete its data, remember its id. `forgotten`. */
    | { kind: "forget"; id: string }
    /** Delete the directories of a placement; of a sticky one, all but its data. `cleared` or `kept`. */
    | { kind: "clear"; placement: string }
    /**
     * Make the directory of a sticky placement: out of that of `from` if that is kept, else out of a
     * snapshot. `begun`, unless it is not owed any more in between: then it is given up.
     */
    | { kind: "begin"; placement: string; from?: string | undefined; snapshot?: string | undefined }
    /** Store the data of a sticky placement as a snapshot. `saved`, unless that is not owed any more. */
    | { kind: "save"; placement: string }
    /** Delete what is kept of a placement. `cleared`. */
    | { kind: "drop"; placement: string }
    /** Send log bytes to the object store. `chunk_sent`, then `chunk_stored` or `chunk_failed`. */
    | { kind: "ship_log"; url: string; id: string; stream: StreamName; from: number; bytes: number }
    /** Give back the disk under log bytes, and leave all others where they are. `punched`, `punch_failed`. */
    | { kind: "punch"; id: string; stream: StreamName; from: number; end: number }
    /** Run the boot probe. `probed`. */
    | { kind: "probe"; command: string }
    /** Measure what these attempts and the machine use. `sampled`. */
    | { kind: "sample"; ids: string[] }
    /** Look whether the machine is about to be taken away. `noticed`. */
    | { kind: "look" }
    /** End this process, and the machine with it where it can end itself. */
    | { kind: "exit"; code: number; reason: string; powerOff: boolean }
  );
