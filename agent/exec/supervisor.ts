import { closeSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Instant, Millis } from "../../src/core/machine.ts";
import type { StartError, StreamName } from "../../src/schema/host.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run.ts";
import type { HostEvent } from "../core/types.ts";
import { errorCode, errorText } from "../files.ts";
import type { AttemptDirs, AttemptStore } from "./dirs.ts";
import { markersOf, taskEnvironment } from "./environment.ts";
import type { Found } from "./found.ts";
import { killTree, sendSignal } from "./kill.ts";
import { childrenOf, lives, type Proc, readProc } from "./processes.ts";
import { resolveCommand } from "./resolve.ts";
import { readShimEnd, spawnShim } from "./shim.ts";

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
  now: () => Instant;
  /** Hears of what happens to attempts by itself: output and exits. */
  tell: (event: HostEvent) => void;
  /** Marks every process of this host (`DROVER_INSTANCE`). */
  instance: string | undefined;
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
  readonly #running = new Map<string, Running>();
  /** Attempts whose streams may grow, with the sizes told last. */
  readonly #sizes = new Map<string, Record<StreamName, number>>();
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /**
   * Takes on an attempt of an earlier start of the agent (`host-protocol.md`, Survives). Its streams are read
   * from their files; the end of its main process, if it lives, is told as for any other.
   */
  adopt({ attempt: { id, main }, shim }: Found): void {
    if (main.kind === "rebooted") return;
    this.#sizes.set(id, { stdout: 0, stderr: 0 });
    if (shim === undefined) return;
    const ended = main.kind === "running" ? this.#watch(id, shim) : Promise.resolve();
    this.#running.set(id, { shim, ended });
  }

  /** Starts an attempt, once: `launched`, `launch_failed` or `refused`. */
  start(id: string, task: TaskSpec): Promise<HostEvent> {
    return this.#inOrder(id, () => this.#start(id, task));
  }

  /** Signals the main process: `signaled`, also when there is none any more. */
  signal(id: string, signal: SignalName): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      const pid = await this.#mainPid(id);
      if (pid !== undefined) sendSignal(pid, signal);
      return { type: "signaled", id };
    });
  }

  /** Ends all that lives of an attempt, and its ever being started: `tree_gone` or `kill_failed`. */
  killTree(id: string, waitMs: Millis): Promise<HostEvent> {
    return this.#inOrder(id, () => this.#killTree(id, waitMs));
  }

  /** Deletes the data of an attempt whose tree is gone: `forgotten`. */
  forget(id: string): Promise<HostEvent> {
    return this.#inOrder(id, async () => {
      await this.#options.store.forget(id);
      return { type: "forgotten", id };
    });
  }

  /** Tells how far the streams of all live attempts have grown. */
  lookForOutput(): void {
    for (const id of this.#sizes.keys()) this.#tellSizes(id);
  }

  /** Up to `bytes` of a stream, from offset `from` on. Empty if its file is gone. */
  readLog(id: string, stream: StreamName, from: number, bytes: number): Buffer {
    try {
      const file = openSync(this.#options.store.dirsOf(id)[stream], "r");
      try {
        const buffer = Buffer.allocUnsafe(bytes);
        return buffer.subarray(0, readSync(file, buffer, 0, bytes, from));
      } finally {
        closeSync(file);
      }
    } catch (error) {
      if (errorCode(error) === "ENOENT") return Buffer.alloc(0);
      throw error;
    }
  }

  async #start(id: string, task: TaskSpec): Promise<HostEvent> {
    const { store } = this.#options;
    if (!store.claim(id)) return { type: "refused", id };
    const dirs = store.dirsOf(id);
    try {
      const startError = await this.#launch(id, task, dirs);
      return startError === undefined ? { type: "launched", id } : { type: "launch_failed", id, startError };
    } catch (error) {
      return { type: "launch_failed", id, startError: startErrorOf(error) };
    }
  }

  async #launch(id: string, task: TaskSpec, dirs: AttemptDirs): Promise<StartError | undefined> {
    const env = taskEnvironment(id, task, dirs, this.#options.instance);
    const dir = resolve(dirs.work, task.dir ?? ".");
    const [name = "", ...args] = task.argv;
    const resolved = resolveCommand(name, env.PATH ?? "", dir);
    if (!resolved.ok) return resolved.startError;
    // `exec` would take a name that begins with a dash for an option of its own.
    const argv = [name.startsWith("-") ? resolved.file : name, ...args];
    const child = await spawnShim(argv, dir, env, dirs);
    const shim = readProc(child.pid ?? 0);
    this.#sizes.set(id, { stdout: 0, stderr: 0 });
    const ended = new Promise<void>((settle) => {
      child.once("exit", () => {
        this.#tellEnd(id, dirs);
        settle();
      });
    });
    if (shim !== undefined) this.#running.set(id, { shim, ended });
    return undefined;
  }

  async #watch(id: string, shim: Proc): Promise<void> {
    while (lives(shim)) await sleep(ADOPTED_LOOK_MS);
    this.#tellEnd(id, this.#options.store.dirsOf(id));
  }

  #tellEnd(id: string, dirs: AttemptDirs): void {
    const end = readShimEnd(dirs, this.#options.shellTells);
    this.#tellSizes(id);
    if ("startError" in end) this.#options.tell({ type: "launch_failed", id, startError: end.startError });
    else this.#options.tell({ type: "exited", id, exit: "exit" in end ? end.exit : null });
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
    const { store, now } = this.#options;
    store.ban(id);
    const running = this.#running.get(id);
    const query = { markers: markersOf(id, store.dirsOf(id)), shim: running?.shim };
    const { killed, left } = await killTree(query, waitMs, now);
    if (left.length > 0) {
      const pids = left.map(({ pid }) => pid).join(", ");
      return { type: "kill_failed", id, error: `SIGKILL has not ended these processes: ${pids}` };
    }
    if (running !== undefined) await endShim(running);
    this.#tellSizes(id);
    this.#sizes.delete(id);
    this.#running.delete(id);
    return { type: "tree_gone", id, killed };
  }

  #tellSizes(id: string): void {
    const told = this.#sizes.get(id);
    if (told === undefined) return;
    const dirs = this.#options.store.dirsOf(id);
    for (const stream of ["stdout", "stderr"] as const) {
      const size = statSync(dirs[stream], { throwIfNoEntry: false })?.size ?? 0;
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

function startErrorOf(error: unknown): StartError {
  if (errorCode(error) === "E2BIG") {
    const text =
      "The arguments and the environment together are larger than this machine can hand to a process.";
    return { code: "arguments_too_long", text };
  }
  return {
    code: "start_failed",
    text: `The command could not be started: ${errorText(error)}`.slice(0, 1_024),
  };
}
