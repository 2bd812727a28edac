// Which shim runs a command: one that has run others, or a new one (decisions/hosts.md#shims-that-serve)?
import { closeSync, openSync, writeSync } from "node:fs";
import type { Millis } from "../../../src/shared/machine.ts";
import { ServingShim, textOf } from "./serving-shim.ts";
import type { Shell } from "./shell.ts";
import { type ShimCommand, type Started, startAlone } from "./shim.ts";

/** So many shims may wait for a command. Once none has been released for so long, all of them end. */
const MAX_IDLE = 8;
const IDLE_MS: Millis = 30_000;
/** No identity begins with it. */
const RELEASED = "-";

/** The shims that serve one command after the other, and others for the commands that need one alone. */
export class Shims {
  readonly shell: Shell;
  readonly #env: Record<string, string>;
  readonly #isWatched: () => boolean;
  #idle: ServingShim[] = [];
  readonly #isUnused: NodeJS.Timeout;

  /**
   * `env`: what all commands have in their environments. `isWatched`: whether another process may be ending
   * the commands of this host, and so knows their shims.
   */
  constructor(shell: Shell, env: Record<string, string>, isWatched = () => false) {
    this.shell = shell;
    this.#env = env;
    this.#isWatched = isWatched;
    this.#isUnused = setTimeout(() => this.#endIdle(), IDLE_MS).unref();
  }

  /**
   * Starts a command. Rejects with the system's error, or with the reason of `stop`, and then nothing runs.
   */
  async start(command: ShimCommand, stop?: AbortSignal): Promise<Started> {
    const text = this.shell.canServe ? textOf(command) : undefined;
    if (text === undefined) return startAlone(command);
    const shim = this.#idle.pop() ?? this.#newShim();
    const started = await shim.start(text, command);
    if (started === undefined) {
      // What a shim cannot begin, the system refuses with a reason.
      shim.end();
      // It may have hung for long.
      stop?.throwIfAborted();
      return startAlone(command);
    }
    return { ...started, release: (isClean) => this.#release(shim, command, isClean) };
  }

  #newShim(): ServingShim {
    return new ServingShim(this.#env, (gone) => {
      this.#idle = this.#idle.filter((one) => one !== gone);
    });
  }

  /**
   * Once a command is proven to be gone, its file names the shim no more: a later command of the same shim
   * would be taken for a part of it. A process that ends commands beside this agent takes its lock, and reads
   * the name afterwards. Here the name goes, and the lock is looked at afterwards. So either that process
   * finds no name, or this agent finds the lock.
   */
  #release(shim: ServingShim, { files }: ShimCommand, isClean: boolean): void {
    const isUnnamed = isClean && disown(files.exit);
    const mayServe = isUnnamed && !shim.isGone && this.#idle.length < MAX_IDLE;
    if (mayServe && shim.isUnchanged && !this.#isWatched()) this.#idle.push(shim);
    else shim.end();
    this.#isUnused.refresh();
  }

  #endIdle(): void {
    for (const shim of this.#idle.splice(0)) shim.end();
  }
}

/**
 * Makes the identity at the start of a shim's file unreadable, in one write. False: it is still there. It is
 * to be called once nothing is left of a command: another process may get the number of its shim later.
 */
export function disown(exit: string): boolean {
  try {
    const file = openSync(exit, "r+");
    try {
      return writeSync(file, RELEASED, 0) === RELEASED.length;
    } finally {
      closeSync(file);
    }
  } catch {
    return false; // the task has deleted it, or the disk fails
  }
}
