// What must a driver do for the supervisor: start, signal, kill, adopt?
import type { Means, StartError } from "../../src/schema/host.ts";
import type { Exit, SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { Millis } from "../../src/shared/machine.ts";
import type { AttemptJournal, FoundAttempt } from "../core/journal.ts";
import type { RawUsage } from "../core/types.ts";

/** How the main process of an attempt ended. `lost`: nobody will ever know. */
export type TaskEnd = { exit: Exit } | { startError: StartError } | { lost: true };

/** Hears how what a driver has started, or taken on, has ended. Each end is told once. */
export type TellEnd = (id: string, end: TaskEnd) => void;

/** What an earlier start of the agent has left. `unbegun`: it never ran, nor will without a new start. */
export type Recovered = FoundAttempt["main"] | { kind: "unbegun" };

/** What came of a kill. `killed`: there was something to kill. `alive`: why it may still live. */
export interface Killed {
  killed: boolean;
  alive?: string;
}

/**
 * What runs tasks of one kind (tasks.md#start). It decides nothing, and remembers nothing that a later start
 * of the agent could not find again. Its calls for one attempt never overlap. Ids, what comes before a start,
 * and streams are the supervisor's: a driver only writes to the files of the streams.
 */
export interface Driver {
  /**
   * Starts a task, under an id that never was started here. Resolves with how sure a kill of it is; with
   * undefined if `stop` came before anything of it ran. Rejects with a `StartFault`, or what the system says.
   */
  start(id: string, task: TaskSpec, stop: AbortSignal): Promise<Means["kill"] | undefined>;

  /**
   * Takes on an attempt of an earlier start of the agent in this boot, as it is (tasks.md#restore); undefined
   * if it is none of this driver. The end of what runs is told like any other, after this call.
   */
  recover(id: string, journal: AttemptJournal): Recovered | undefined;

  /** Signals the main process, and calls `before` right before it does; nothing if there is none. */
  signal(id: string, signal: SignalName, before?: () => void): Promise<void>;

  /**
   * Ends all that lives of an attempt, known to this driver or not, and looks for `waitMs` until that is
   * proved. If the main process lived its end has been told by then.
   */
  kill(id: string, waitMs: Millis): Promise<Killed>;

  /** What these attempts use: all of them in one look. */
  usage(ids: string[]): Record<string, RawUsage>;
}
