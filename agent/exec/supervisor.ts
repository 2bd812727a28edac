import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Instant, Millis } from "../../src/core/machine.ts";
import type { StartError, StreamName } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run.ts";
import type { HostEvent, NumberedSignal } from "../core/types.ts";
import { errorCode, errorText, isDiskFull } from "../files.ts";
import type { AllocDirs } from "./alloc-dirs.ts";
import type { AttemptDirs, AttemptStore } from "./dirs.ts";
import { readEnd } from "./end.ts";
import { markersOf } from "./environment.ts";
import { FakeDriver } from "./fake.ts";
import type { Found } from "./found.ts";
import { entrancesOf } from "./group.ts";
import type { Groups } from "./groups.ts";
import { killTree } from "./kill.ts";
import type { Prestart } from "./prestart.ts";
import { childrenOf, lives, type Proc, readProc } from "./processes.ts";
import { noSpace, spawnShim } from "./shim.ts";
import { sendSignal } from "./signal.ts";
import { StartFault } from "./start-fault.ts";
import { measure, measureHost } from "./usage.ts";

/** How long a shim that has nothing left to wait for may take to write the status and end. */
const SHIM_END_MS: Millis = 2_000;
/** How long after its start a shim may not have its main process yet. */
const MAIN_APPEARS_MS: Millis = 1_000;
const LOOK_MS: Millis = 5;

/** How often a shim that another start of the agent has started is looked at: only its own child tells. */
const ADOPTED_LOOK_MS: Millis = 50;

/** One attempt whose shim was started by this agent, or by an earlier start of it. */
interface Running {
  shim: Proc;
  /** Settles when the shim has ended and, if it lived when we began, that has been told. */
  ended: Promise<void>;
}

export interface SupervisorOptions {
  store: AttemptStore;
  allocs: AllocDirs;
  prestart: Prestart;
  groups: Groups;
  now: () => Instant;
  /** Hears of what happens to attempts by itself: output and exits. */
  tell: (event: HostEvent) => void;
  /** See `readShimEnd`. */
  shellTells: boolean;
}

/**
 * Starts, signals and kills attempts. It decides nothing: what it does for one attempt it does in the order
 * in which it was asked, so that a kill never overtakes the start before it. Each call resolves with what
 * came of it.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #fakes: FakeDriver;
  readonly #running = new Map<string, Running>();
  /** Attempts whose streams may grow, with the sizes told last. */
  readonly #sizes = new Map<string, Record<StreamName, number>>();
  readonly #last = new Map<string, Promise<unknown>>();
  /** Attempts that are being prepared. */
  readonly #preparing = new Map<string, AbortController>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#fakes = new FakeDriver({ ...options, looks: (id) => this.#watchSizes(id) });
  }

  /**
   * Takes on an attempt of an earlier start of the agent (`host-protocol.md`, Survives). Its streams are read
   * from their files; the end of its main process, if it lives, is told as for any other.
   */
  adopt({ attempt: { id, main }, shim }: Found): void {
    if (main.kind === "rebooted") return;
    this.#watchSizes(id);
    this.#fakes.adopt(id);
    if (shim === undefined) return;
    const ended = main.kind === "running" ? this.#watch(id, shim) : Promise.resolve();
    this.#running.set(id, { shim, ended });
  }

  /** Does what may take long before a start: `prepared`, `launch_failed`, or `refused` if it was stopped. */
  prepare(id: string, task: TaskSpec): Promise<HostEvent> {
    return this.#inOrder(id, () => this.#prepare(id, task));
  }

  /** Starts an attempt, once: `launched`, `launch_failed` or `refused`. */
  start(id: string, task: TaskSpec): Promise<HostEvent> {
    const { fake } = task;
    if (fake !== undefined) return this.#inOrder(id, () => this.#fakes.start(id, fake));
    return this.#inOrder(id, () => this.#start(id, task));
  }

  /** Signals the main process: `signaled`, also when there is none any more. */
  signal(id: string, signal: SignalName): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      await this.#sendSignal(id, signal);
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
      await this.#sendSignal(id, signal, () => this.#options.tell(event));
      return event;
    });
  }

  /** Ends all that lives of an attempt, and its ever being started: `tree_gone` or `kill_failed`. */
  killTree(id: string, waitMs: Millis): Promise<HostEvent> {
    this.#fakes.unblock(id);
    this.#preparing.get(id)?.abort();
    return this.#inOrder(id, async () => this.#fakes.killTree(id) ?? this.#killTree(id, waitMs));
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
    const { groups } = this.#options;
    const measured = ids.map(
      (id) => [id, { group: groups.of(id), shim: this.#running.get(id)?.shim }] as const,
    );
    return { type: "sampled", host: measureHost(), attempts: measure(new Map(measured)) };
  }

  /** Deletes the directories of a placement of which no attempt is left: `cleared`. */
  async clear(placement: string): Promise<HostEvent> {
    await this.#options.allocs.clear(placement);
    return { type: "cleared", placement };
  }

  /** Tells how far the streams of all live attempts have grown. */
  lookForOutput(): void {
    for (const id of this.#sizes.keys()) this.#tellSizes(id);
  }

  /** The file that a stream of an attempt is written to. */
  logFile(id: string, stream: StreamName): string {
    return this.#options.store.dirsOf(id)[stream];
  }

  /**
   * Up to `bytes` of a stream, from offset `from` on. Empty if its file cannot be read: the command can
   * delete or replace it, and what it does to its own log must keep nothing else from being reported.
   */
  readLog(id: string, stream: StreamName, from: number, bytes: number): Buffer {
    try {
      const file = openSync(this.logFile(id, stream), "r");
      try {
        const buffer = Buffer.allocUnsafe(bytes);
        return buffer.subarray(0, readSync(file, buffer, 0, bytes, from));
      } finally {
        closeSync(file);
      }
    } catch {
      return Buffer.alloc(0);
    }
  }

  async #prepare(id: string, task: TaskSpec): Promise<HostEvent> {
    const stop = new AbortController();
    this.#preparing.set(id, stop);
    try {
      await this.#options.prestart.prepare(id, task, stop.signal);
      return { type: "prepared", id };
    } catch (error) {
      if (stop.signal.aborted) return { type: "refused", id };
      return { type: "launch_failed", id, startError: startErrorOf(error) };
    } finally {
      this.#preparing.delete(id);
    }
  }

  async #start(id: string, task: TaskSpec): Promise<HostEvent> {
    const { store } = this.#options;
    const dirs = store.dirsOf(id);
    try {
      if (!store.claim(id)) return { type: "refused", id };
      await this.#launch(id, task, dirs);
      return { type: "launched", id, by: this.#options.groups.means.kill };
    } catch (error) {
      return { type: "launch_failed", id, startError: startErrorOf(error) };
    }
  }

  async #launch(id: string, task: TaskSpec, dirs: AttemptDirs): Promise<void> {
    const { argv, dir, env } = await this.#options.prestart.ready(id, task);
    const group = this.#options.groups.make(id, task.resources);
    const child = await spawnShim(argv, group === undefined ? [] : entrancesOf(group), dir, env, dirs);
    const shim = readProc(child.pid ?? 0);
    this.#watchSizes(id);
    const ended = new Promise<void>((settle) => {
      child.once("exit", (code) => {
        this.#tellEnd(id, dirs, code);
        settle();
      });
    });
    if (shim !== undefined) this.#running.set(id, { shim, ended });
  }

  async #watch(id: string, shim: Proc): Promise<void> {
    while (lives(shim)) await sleep(ADOPTED_LOOK_MS);
    this.#tellEnd(id, this.#options.store.dirsOf(id), null);
  }

  #tellEnd(id: string, dirs: AttemptDirs, code: number | null): void {
    const { groups, shellTells, tell } = this.#options;
    const end = readEnd(dirs, groups.of(id), shellTells, code);
    this.#tellSizes(id);
    if ("startError" in end) tell({ type: "launch_failed", id, startError: end.startError });
    else tell({ type: "exited", id, exit: "exit" in end ? end.exit : null });
  }

  async #sendSignal(id: string, signal: SignalName, before = () => {}): Promise<void> {
    const fake = this.#fakes.has(id);
    const pid = fake ? undefined : await this.#mainPid(id);
    before();
    if (fake) this.#fakes.signal(id, signal);
    else if (pid !== undefined) sendSignal(pid, signal);
  }

  async #mainPid(id: string): Promise<number | undefined> {
    const { now } = this.#options;
    const running = this.#running.get(id);
    for (
      const until = now() + MAIN_APPEARS_MS;
      running !== undefined && now() < until;
      await sleep(LOOK_MS)
    ) {
      if (!lives(running.shim)) return undefined;
      const main = childrenOf(running.shim.pid).at(0);
      if (main !== undefined) return main.pid;
    }
    return undefined;
  }

  async #killTree(id: string, waitMs: Millis): Promise<HostEvent> {
    const { store, allocs, groups, now } = this.#options;
    store.ban(id);
    const running = this.#running.get(id);
    const query = { markers: markersOf(id, store.taskDirOf(id) ?? allocs.of(id).local), shim: running?.shim };
    const { empty, killed, left } = await killTree(query, groups.of(id), waitMs, now);
    if (!empty) return { type: "kill_failed", id, error: errorOf(left) };
    groups.forget(id);
    if (running !== undefined) await endShim(running);
    this.#tellSizes(id);
    this.#sizes.delete(id);
    this.#running.delete(id);
    return { type: "tree_gone", id, killed };
  }

  #watchSizes(id: string): void {
    this.#sizes.set(id, { stdout: 0, stderr: 0 });
  }

  #tellSizes(id: string): void {
    const told = this.#sizes.get(id);
    if (told === undefined) return;
    const dirs = this.#options.store.dirsOf(id);
    for (const stream of ["stdout", "stderr"] as const) {
      const size = sizeOf(dirs[stream]);
      if (size === told[stream]) continue;
      told[stream] = size;
      this.#options.tell({ type: "output", id, stream, size });
    }
  }

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

/**
 * With its task gone the shim writes the status and ends; one that does not is ended, and the status is
 * lost.
 */
async function endShim({ shim, ended }: Running): Promise<void> {
  const late = setTimeout(() => {
    if (lives(shim)) sendSignal(shim.pid, "SIGKILL");
  }, SHIM_END_MS);
  await ended;
  clearTimeout(late);
}

/** At most a few pids: a fork bomb would make a text of pages. */
function errorOf(left: number[]): string {
  if (left.length === 0)
    return "The kernel does not let go of its cgroup, although no process is seen in it.";
  const named = left.slice(0, 20).join(", ");
  const more = left.length > 20 ? ` and ${left.length - 20} more` : "";
  return `SIGKILL has not ended these processes: ${named}${more}`;
}

function startErrorOf(error: unknown): StartError {
  if (error instanceof StartFault) return error.startError;
  if (errorCode(error) === "E2BIG") {
    const text =
      "The arguments and the environment together are larger than this machine can hand to a process.";
    return { code: "arguments_too_long", text };
  }
  if (isDiskFull(error)) return noSpace();
  return {
    code: "start_failed",
    text: `The command could not be started: ${errorText(error)}`.slice(0, 1_024),
  };
}

/** The bytes of a log; none if there is no file any more, or something else in its place. */
function sizeOf(file: string): number {
  try {
    const stat = statSync(file);
    return stat.isFile() ? stat.size : 0;
  } catch {
    return 0;
  }
}
