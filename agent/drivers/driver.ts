// What must a driver do for the supervisor: start, signal, kill, adopt?
import type { Means, StartError } from "../../src/schema/host.ts";
import type { Peaks } from "../../src/schema/run/peaks.ts";
import type { Exit, SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { DriverName } from "../../src/schema/run/task.ts";
import type { Millis } from "../../src/shared/machine.ts";
import type { AttemptJournal, FoundAttempt } from "../core/journal.ts";
import type { RawUsage } from "../core/types.ts";
import type { Inside } from "../exec/processes/inside.ts";

/** The driver of a task: `fake` if the task has a script for it, `container` if it has one, else `exec`. */
export function driverOf({ fake, container }: { fake?: unknown; container?: unknown }): DriverName {
  if (fake !== undefined) return "fake";
  return container === undefined ? "exec" : "container";
}

/** Where the ports are of what has the network of the machine. */
export const LOCALHOST = "127.0.0.1";

/** Where the ports of an attempt of this driver are; null: nowhere. */
export function addressIn(driver: Driver | undefined, id: string): string | null {
  return driver?.addressOf === undefined ? LOCALHOST : driver.addressOf(id);
}

/** How the main process of an attempt ended. `lost`: the end is unknown, and will never be known. */
export type TaskEnd = { exit: Exit } | { startError: StartError } | { lost: true };

/** Called once for each attempt that a driver has started or recovered, when its main process has ended. */
export type OnTaskEnd = (id: string, end: TaskEnd) => void;

/** What a driver finds of an earlier attempt. `unbegun`: the attempt never ran, and may be started. */
export type RecoveredState = FoundAttempt["main"] | { kind: "unbegun" };

/**
 * The result of a kill. `killed`: a process was alive. `alive`: why a process may still be alive. `peaks`:
 * the most that the attempt has used, if it was measured and no process is left.
 */
export interface KillResult {
  killed: boolean;
  alive?: string;
  peaks?: Peaks | undefined;
}

/**
 * Runs tasks of one kind (tasks.md#start). A driver decides nothing, and keeps only state that a later start
 * of the agent can find again. Calls for one attempt never overlap. The supervisor handles ids, preparation
 * and streams; a driver only writes to the stream files.
 */
export interface Driver {
  /**
   * Starts a task, under an id that was never started here. Resolves with the means by which the task can be
   * killed, or with undefined if `stop` was aborted before the task ran. Rejects with a `StartFault`, or with
   * the system's error.
   */
  start(id: string, task: TaskSpec, stop: AbortSignal): Promise<Means["kill"] | undefined>;

  /**
   * Recovers an attempt of an earlier start of the agent in this boot (tasks.md#restore); undefined if this
   * driver has not started the attempt. The end of a running attempt is reported after this call.
   */
  recover(id: string, journal: AttemptJournal): RecoveredState | undefined;

  /** Calls `before`, and then signals the main process if it lives. */
  signal(id: string, signal: SignalName, before?: () => void): Promise<void>;

  /**
   * Kills all processes of an attempt, even if this driver does not know it, until no process lives for
   * certain, or until `waitMs` have passed. The end of the main process is reported before the promise
   * resolves.
   */
  kill(id: string, waitMs: Millis): Promise<KillResult>;

  /** What a process needs to run beside the attempt's main process; undefined: there is none. */
  inside(id: string): Promise<Inside | undefined>;

  /**
   * Where the ports of the attempt are; null: it has no network, or that is not known yet. Absent: on this
   * machine.
   */
  addressOf?(id: string): string | null;

  /** Whether the service by which this driver reaches into attempts is away. Absent: it needs none. */
  isAway?(id: string): boolean;

  /**
   * What a process needs to run where the attempt ran, after all processes of the attempt have ended;
   * undefined: this is not possible. Rejects with a `StartFault`, with the system's error, or with the
   * reason of `stop`.
   */
  insideKept(id: string, task: TaskSpec, stop: AbortSignal): Promise<Inside | undefined>;

  /** Measures the usage of these attempts. */
  usage(ids: string[]): Record<string, RawUsage>;
}
