// Who carries out what is due for an attempt or a placement, and in which order?
import { errorCode, isDiskFull, isStarved } from "../../posix/errors.ts";
import type { StartError } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { DriverName } from "../../src/schema/run/task.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import type { HostEvent } from "../core/events.ts";
import type { AttemptJournal, FoundAttempt } from "../core/journal.ts";
import type { NumberedSignal, RawUsage } from "../core/types.ts";
import {
  type Driver,
  driverOf,
  type OnTaskEnd,
  type RecoveredState,
  type TaskEnd,
} from "../drivers/driver.ts";
import type { Snapshots } from "../plane/snapshots.ts";
import type { AllocDirs } from "./files/alloc-dirs.ts";
import { collectOutputs } from "./files/collect.ts";
import type { Origin, StickyData } from "./files/sticky-data.ts";
import type { Prestart } from "./prestart.ts";
import type { AttemptStore } from "./processes/dirs.ts";
import { noSpace, starved } from "./processes/shim.ts";
import { measureHost } from "./processes/usage.ts";
import { StartFault } from "./start-fault.ts";
import { Streams } from "./streams.ts";

/** The drivers of this host, in the order in which they are asked to recover an attempt. */
export type Drivers = Record<DriverName, Driver>;

export interface SupervisorOptions {
  store: AttemptStore;
  allocs: AllocDirs;
  sticky: StickyData;
  prestart: Pick<Prestart, "prepare">;
  drivers: (ended: OnTaskEnd) => Drivers;
  /** Called with events that are not the result of a call: output and exits. */
  tell: (event: HostEvent) => void;
}

/**
 * Prepares, starts, signals and kills attempts, each by the driver of its task. It decides nothing. Calls for
 * one attempt are carried out in their order, so that a kill never overtakes the start before it. Each call
 * resolves with the event for the machine.
 */
export class Supervisor {
  readonly streams: Streams;
  readonly #options: SupervisorOptions;
  readonly #drivers: Drivers;
  /** The driver that has started or recovered an attempt. */
  readonly #owners = new Map<string, Driver>();
  readonly #queues = new Map<string, Promise<unknown>>();
  /** Attempts that are being prepared or started. */
  readonly #starting = new Map<string, AbortController>();
  /** Transfers, by attempt or placement. They are aborted when they are no longer due. */
  readonly #transfers = new Map<string, AbortController>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.streams = new Streams(options.store, options.tell);
    this.#drivers = options.drivers((id, end) => this.#reportEnd(id, end));
  }

  /**
   * Recovers an attempt of an earlier start of the agent (host-protocol.md#survives). Without a journal of
   * this boot no file of it is believed, because pid and start time identify a process only within one boot.
   * Undefined: the agent died before the task began, so the orders, which are repeated, may start it. Events
   * of the attempt come after this call.
   */
  recover(id: string, journal: AttemptJournal | "other boot" | undefined): FoundAttempt | undefined {
    if (journal === "other boot") return { id, main: { kind: "rebooted" } };
    const found = journal === undefined ? undefined : this.#recover(id, journal);
    if (found?.main.kind === "unbegun") return undefined;
    this.streams.watch(id);
    if (found === undefined) return { id, main: { kind: "lost" } };
    this.#owners.set(id, found.driver);
    return { id, journal, main: found.main };
  }

  /** Does the slow steps before a start: `prepared`, `launch_failed`, or `refused` if it was stopped. */
  prepare(id: string, task: TaskSpec): Promise<HostEvent> {
    return this.#startStep(id, async (stop) => {
      try {
        await this.#options.prestart.prepare(id, task, stop);
        return { type: "prepared", id };
      } catch (error) {
        if (stop.aborted) return { type: "refused", id };
        throw error;
      }
    });
  }

  /** Starts an attempt, once: `launched`, `launch_failed` or `refused`. */
  start(id: string, task: TaskSpec): Promise<HostEvent> {
    return this.#startStep(id, async (stop) => {
      if (!this.#options.store.claim(id)) return { type: "refused", id };
      const driver = this.#drivers[driverOf(task)];
      this.#owners.set(id, driver);
      this.streams.watch(id);
      const by = await driver.start(id, task, stop);
      return by === undefined ? { type: "refused", id } : { type: "launched", id, by };
    });
  }

  /** Signals the main process: `signaled`, even if it has ended. */
  signal(id: string, signal: SignalName): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      await this.#owners.get(id)?.signal(id, signal);
      return { type: "signaled", id };
    });
  }

  /**
   * Passes a signal on to the main process. The event comes first: an agent that dies in between may lose a
   * signal, but never sends one twice.
   */
  passOn(id: string, { signal, n }: NumberedSignal): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      const event: HostEvent = { type: "passing_on", id, n };
      await this.#owners.get(id)?.signal(id, signal, () => this.#options.tell(event));
      return event;
    });
  }

  /** Kills all processes of an attempt and bans its id: `tree_gone` or `kill_failed`. */
  killTree(id: string, waitMs: Millis): Promise<HostEvent> {
    this.#starting.get(id)?.abort();
    return this.#inOrder(id, () => this.#kill(id, waitMs));
  }

  /** Collects and stores the outputs of an attempt whose tree is gone: `collected`, or `tick` if aborted. */
  collect(id: string, globs: string[], snapshots: Snapshots | undefined): Promise<HostEvent> {
    return this.#transfer(id, id, async (signal) => {
      const dirs = this.#options.allocs.of(id);
      const outputs = await collectOutputs(globs, { dirs, snapshots, signal });
      return { type: "collected", id, outputs };
    });
  }

  /** Aborts the transfers of all other attempts and placements. */
  keepTransfers(ids: readonly string[]): void {
    for (const [id, stop] of this.#transfers) if (!ids.includes(id)) stop.abort();
  }

  /** Moves data between this machine and the control plane, until that is done or no longer due. */
  #transfer(id: string, queue: string, act: (signal: AbortSignal) => Promise<HostEvent>): Promise<HostEvent> {
    return this.#inOrder(queue, async () => {
      const stop = new AbortController();
      this.#transfers.set(id, stop);
      try {
        return await act(stop.signal);
      } catch (error) {
        if (stop.signal.aborted) return { type: "tick" };
        throw error;
      } finally {
        this.#transfers.delete(id);
      }
    });
  }

  /** Deletes the data of an attempt whose tree is gone: `forgotten`. */
  forget(id: string): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      await this.#options.store.forget(id);
      return { type: "forgotten", id };
    });
  }

  /** Measures the usage of the machine and of these attempts: `sampled`. */
  async sample(ids: string[]): Promise<HostEvent> {
    const attempts: Record<string, RawUsage> = {};
    for (const driver of Object.values(this.#drivers)) {
      const own = ids.filter((id) => this.#owners.get(id) === driver);
      Object.assign(attempts, driver.usage(own));
    }
    return { type: "sampled", host: measureHost(), attempts };
  }

  /** Deletes the directories of a placement without attempts: `cleared`, or `kept` if its data stay. */
  clear(placement: string): Promise<HostEvent> {
    const { allocs, sticky } = this.#options;
    return this.#inOrder(runOf(placement), async () => {
      if (await sticky.keep(placement)) return { type: "kept", placement };
      await allocs.clear(allocs.rootOf(placement));
      return { type: "cleared", placement };
    });
  }

  /** Deletes the kept data of a placement: `cleared`. */
  drop(placement: string): Promise<HostEvent> {
    const { allocs } = this.#options;
    return this.#inOrder(runOf(placement), async () => {
      await allocs.clear(allocs.keptRootOf(placement));
      return { type: "cleared", placement };
    });
  }

  /** Creates the directory of a sticky placement: `begun`, or `tick` if aborted. */
  begin(placement: string, origin: Origin): Promise<HostEvent> {
    return this.#transfer(placement, runOf(placement), async (signal) => {
      const data = await this.#options.sticky.begin(placement, origin, signal);
      return { type: "begun", placement, from: origin.from, data };
    });
  }

  /** Stores the data of a sticky placement: `saved`, or `tick` if aborted. */
  save(placement: string, snapshots: Snapshots | undefined): Promise<HostEvent> {
    return this.#transfer(placement, runOf(placement), async (signal) => {
      const outcome = await this.#options.sticky.save(placement, snapshots, signal);
      return { type: "saved", placement, outcome };
    });
  }

  #recover(id: string, journal: AttemptJournal): { driver: Driver; main: RecoveredState } | undefined {
    for (const driver of Object.values(this.#drivers)) {
      const main = driver.recover(id, journal);
      if (main !== undefined) return { driver, main };
    }
    return undefined;
  }

  /** Kills an attempt. If its driver is not known, any driver may have started it. */
  async #kill(id: string, waitMs: Millis): Promise<HostEvent> {
    this.#options.store.ban(id);
    const owner = this.#owners.get(id);
    let killed = false;
    for (const driver of owner === undefined ? Object.values(this.#drivers) : [owner]) {
      const outcome = await driver.kill(id, waitMs);
      if (outcome.alive !== undefined) return { type: "kill_failed", id, error: outcome.alive };
      killed ||= outcome.killed;
    }
    this.streams.unwatch(id);
    this.#owners.delete(id);
    return { type: "tree_gone", id, killed };
  }

  #reportEnd(id: string, end: TaskEnd): void {
    this.streams.look(id);
    if ("startError" in end) this.#options.tell({ type: "launch_failed", id, startError: end.startError });
    else this.#options.tell({ type: "exited", id, exit: "exit" in end ? end.exit : null });
  }

  /** Carries out a step towards the start, which a kill can stop. */
  #startStep(id: string, act: (stop: AbortSignal) => Promise<HostEvent>): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      const stop = new AbortController();
      this.#starting.set(id, stop);
      try {
        return await act(stop.signal);
      } catch (error) {
        return { type: "launch_failed", id, startError: startErrorOf(error) };
      } finally {
        this.#starting.delete(id);
      }
    });
  }

  /** Carries out calls with the same id one after the other. */
  #inOrder(id: string, act: () => Promise<HostEvent>): Promise<HostEvent> {
    const before = this.#queues.get(id) ?? Promise.resolve();
    const done = before.then(act);
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (this.#queues.get(id) === settled) this.#queues.delete(id);
      });
    this.#queues.set(id, settled);
    return done;
  }
}

/**
 * The queue of a placement is that of its run, whose placements can share data. No attempt has a run's id.
 */
function runOf(placement: string): string {
  return placement.slice(0, placement.indexOf("/"));
}

function startErrorOf(error: unknown): StartError {
  if (error instanceof StartFault) return error.startError;
  if (errorCode(error) === "E2BIG") {
    const text =
      "The arguments and the environment together are larger than this machine can pass to a process.";
    return { code: "arguments_too_long", text };
  }
  if (isDiskFull(error)) return noSpace();
  if (isStarved(error)) return starved(error);
  return new StartFault("start_failed", `The command could not be started: ${errorText(error)}`).startError;
}
