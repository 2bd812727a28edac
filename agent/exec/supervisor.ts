import { errorCode, isDiskFull, isStarved } from "../../posix/errors.ts";
import type { StartError } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { DriverName } from "../../src/schema/run/task.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { driverOf } from "../../src/shared/means.ts";
import { errorText } from "../../src/shared/words.ts";
import type { HostEvent } from "../core/events.ts";
import type { AttemptJournal, FoundAttempt } from "../core/journal.ts";
import type { NumberedSignal, RawUsage } from "../core/types.ts";
import type { Driver, Recovered, TaskEnd, TellEnd } from "../drivers/driver.ts";
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

/** The drivers of this host. What an earlier start has left is shown to them in this order. */
export type Drivers = Record<DriverName, Driver>;

export interface SupervisorOptions {
  store: AttemptStore;
  allocs: AllocDirs;
  sticky: StickyData;
  prestart: Pick<Prestart, "prepare">;
  drivers: (ended: TellEnd) => Drivers;
  /** Hears of what happens to attempts by itself: output and exits. */
  tell: (event: HostEvent) => void;
}

/**
 * Has attempts prepared, started, signaled and killed, each by the driver of its task. It decides nothing:
 * what it does for one attempt it does in the order in which it was asked, so that a kill never overtakes
 * the start before it. Each call resolves with what came of it.
 */
export class Supervisor {
  readonly streams: Streams;
  readonly #options: SupervisorOptions;
  readonly #drivers: Drivers;
  /** Who has started an attempt, or taken it on. */
  readonly #owners = new Map<string, Driver>();
  readonly #last = new Map<string, Promise<unknown>>();
  /** Attempts that are being prepared or started. */
  readonly #beginning = new Map<string, AbortController>();
  /** Work that is given up when it is not owed any more, by what it is for: an attempt or a placement. */
  readonly #transfers = new Map<string, AbortController>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.streams = new Streams(options.store, options.tell);
    this.#drivers = options.drivers((id, end) => this.#tellEnd(id, end));
  }

  /**
   * Takes on an attempt of an earlier start of the agent (host-protocol.md#survives). Without a journal of
   * this boot nothing that was written down is believed, because a pid and a start time name a process within
   * one boot only. Undefined if the agent died before the task began: the orders, which come again, may then
   * start it. What happens to it by itself is told after this call.
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

  /** Does what may take long before a start: `prepared`, `launch_failed`, or `refused` if it was stopped. */
  prepare(id: string, task: TaskSpec): Promise<HostEvent> {
    return this.#begin(id, async (stop) => {
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
    return this.#begin(id, async (stop) => {
      if (!this.#options.store.claim(id)) return { type: "refused", id };
      const driver = this.#drivers[driverOf(task)];
      this.#owners.set(id, driver);
      this.streams.watch(id);
      const by = await driver.start(id, task, stop);
      return by === undefined ? { type: "refused", id } : { type: "launched", id, by };
    });
  }

  /** Signals the main process: `signaled`, also when there is none any more. */
  signal(id: string, signal: SignalName): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      await this.#owners.get(id)?.signal(id, signal);
      return { type: "signaled", id };
    });
  }

  /**
   * Passes a signal on to the main process. That it does so is told before: an agent that dies in between may
   * owe a signal, but never sends one twice.
   */
  passOn(id: string, { signal, n }: NumberedSignal): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      const event: HostEvent = { type: "passing_on", id, n };
      await this.#owners.get(id)?.signal(id, signal, () => this.#options.tell(event));
      return event;
    });
  }

  /** Ends all that lives of an attempt, and its ever being started: `tree_gone` or `kill_failed`. */
  killTree(id: string, waitMs: Millis): Promise<HostEvent> {
    this.#beginning.get(id)?.abort();
    return this.#inOrder(id, () => this.#kill(id, waitMs));
  }

  /**
   * Collects and stores the outputs of an attempt whose tree is gone: `collected`, or nothing of note if that
   * was given up.
   */
  collect(id: string, globs: string[], snapshots: Snapshots | undefined): Promise<HostEvent> {
    return this.#transfer(id, id, async (signal) => {
      const dirs = this.#options.allocs.of(id);
      const outputs = await collectOutputs(globs, { dirs, snapshots, signal });
      return { type: "collected", id, outputs };
    });
  }

  /** Gives up every transfer for an attempt or a placement that is none of these. */
  keepTransfers(ids: readonly string[]): void {
    for (const [id, stop] of this.#transfers) if (!ids.includes(id)) stop.abort();
  }

  /** Moves data between this machine and the control plane, until it is done or not owed any more. */
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

  /** Measures what the machine and these attempts use: `sampled`. */
  async sample(ids: string[]): Promise<HostEvent> {
    const attempts: Record<string, RawUsage> = {};
    for (const driver of Object.values(this.#drivers)) {
      const own = ids.filter((id) => this.#owners.get(id) === driver);
      Object.assign(attempts, driver.usage(own));
    }
    return { type: "sampled", host: measureHost(), attempts };
  }

  /** Deletes the directories of a placement of which no attempt is left, or keeps its data. */
  clear(placement: string): Promise<HostEvent> {
    const { allocs, sticky } = this.#options;
    return this.#inOrder(runOf(placement), async () => {
      if (await sticky.keep(placement)) return { type: "kept", placement };
      await allocs.clear(allocs.rootOf(placement));
      return { type: "cleared", placement };
    });
  }

  /** Deletes what is kept of a placement: `cleared`. */
  drop(placement: string): Promise<HostEvent> {
    const { allocs } = this.#options;
    return this.#inOrder(runOf(placement), async () => {
      await allocs.clear(allocs.keptRootOf(placement));
      return { type: "cleared", placement };
    });
  }

  /** Makes the directory of a sticky placement: `begun`, or nothing of note if that was given up. */
  begin(placement: string, origin: Origin): Promise<HostEvent> {
    return this.#transfer(placement, runOf(placement), async (signal) => {
      const data = await this.#options.sticky.begin(placement, origin, signal);
      return { type: "begun", placement, from: origin.from, data };
    });
  }

  /** Stores the data of a sticky placement: `saved`, or nothing of note if that was given up. */
  save(placement: string, snapshots: Snapshots | undefined): Promise<HostEvent> {
    return this.#transfer(placement, runOf(placement), async (signal) => {
      const outcome = await this.#options.sticky.save(placement, snapshots, signal);
      return { type: "saved", placement, outcome };
    });
  }

  #recover(id: string, journal: AttemptJournal): { driver: Driver; main: Recovered } | undefined {
    for (const driver of Object.values(this.#drivers)) {
      const main = driver.recover(id, journal);
      if (main !== undefined) return { driver, main };
    }
    return undefined;
  }

  /** What nobody is known to have started may be of any driver. */
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

  #tellEnd(id: string, end: TaskEnd): void {
    this.streams.look(id);
    if ("startError" in end) this.#options.tell({ type: "launch_failed", id, startError: end.startError });
    else this.#options.tell({ type: "exited", id, exit: "exit" in end ? end.exit : null });
  }

  /** A step towards the start, which a kill can stop. */
  #begin(id: string, act: (stop: AbortSignal) => Promise<HostEvent>): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      const stop = new AbortController();
      this.#beginning.set(id, stop);
      try {
        return await act(stop.signal);
      } catch (error) {
        return { type: "launch_failed", id, startError: startErrorOf(error) };
      } finally {
        this.#beginning.delete(id);
      }
    });
  }

  /** One after the other for an attempt, and for all placements of a run. */
  #inOrder(id: string, act: () => Promise<HostEvent>): Promise<HostEvent> {
    const before = this.#last.get(id) ?? Promise.resolve();
    const done = before.then(act);
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(id) === settled) this.#last.delete(id);
      });
    this.#last.set(id, settled);
    return done;
  }
}

/** The run of a placement: no attempt has such an id. */
function runOf(placement: string): string {
  return placement.slice(0, placement.indexOf("/"));
}

function startErrorOf(error: unknown): StartError {
  if (error instanceof StartFault) return error.startError;
  if (errorCode(error) === "E2BIG") {
    const text =
      "The arguments and the environment together are larger than this machine can hand to a process.";
    return { code: "arguments_too_long", text };
  }
  if (isDiskFull(error)) return noSpace();
  if (isStarved(error)) return starved(error);
  return {
    code: "start_failed",
    text: `The command could not be started: ${errorText(error)}`.slice(0, 1_024),
  };
}
