// Which attempts were ever started here, and where does the agent keep its files for each of them?
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode, isDiskFull } from "../../../posix/errors.ts";
import { makePrivateDir } from "../../../posix/files.ts";
import { putBack, retractStart } from "../shims/retract.ts";

/** How long a deleted attempt is remembered, so that it is never started again (host-protocol.md#orders). */
const REMEMBER_MS = 30 * 86_400_000;

/** The name of an attempt's folder. Other folders are not Drover's. */
const KEY = /^[a-z0-9-]+_[a-z0-9-]+_\d+\.\d+$/;

/** The agent's files of one attempt. The task's files are in `AllocDirs`. */
export interface AttemptDirs {
  root: string;
  stdout: string;
  stderr: string;
  /** Written by the shim: its identity, and the exit status. */
  exit: string;
  /** When which bytes of the two streams arrived (`Arrivals`). */
  stamps: string;
  /** Exists from before the attempt's container was made; absent: it has none. */
  container: string;
}

/**
 * Remembers which attempts were ever started here. `attempts/` has a folder for each attempt with data, and
 * `forgotten/` an empty file for each attempt whose data are deleted. `/` of the id becomes `_`, which no
 * part of an id can contain.
 */
export class AttemptStore {
  readonly #attempts: string;
  readonly #forgotten: string;
  readonly #retracted: string;
  /** Bans that could not be written because the disk was full: a restart of the agent loses them. */
  readonly #unwritten = new Set<string>();

  constructor(stateDir: string) {
    this.#attempts = join(stateDir, "attempts");
    this.#forgotten = join(stateDir, "forgotten");
    this.#retracted = join(stateDir, "retracted");
    makePrivateDir(this.#attempts);
    makePrivateDir(this.#retracted);
    makePrivateDir(this.#forgotten);
    this.#finishRetractions();
  }

  dirsOf(id: string): AttemptDirs {
    const root = `${this.#attempts}/${keyOf(id)}`;
    return {
      root,
      stdout: `${root}/stdout`,
      stderr: `${root}/stderr`,
      exit: `${root}/exit`,
      stamps: `${root}/stamps`,
      container: `${root}/container`,
    };
  }

  /**
   * The ids of attempts with data from earlier starts of the agent, except attempts whose deletion has begun.
   */
  found(): string[] {
    return readdirSync(this.#attempts)
      .filter((name) => KEY.test(name) && !existsSync(join(this.#forgotten, name)))
      .map(idOf);
  }

  /** Creates the folder of a new attempt. False if this id was ever claimed or banned: it must not start. */
  claim(id: string): boolean {
    const { root } = this.dirsOf(id);
    if (existsSync(join(this.#forgotten, keyOf(id))) || this.#unwritten.has(id)) return false;
    try {
      mkdirSync(root);
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    }
    return true;
  }

  /**
   * Takes back the claim of a start during which the agent died, if its command never began. True: it never
   * will, nothing of the claim is left, and the id may be claimed again.
   */
  retract(id: string): boolean {
    const { root, exit } = this.dirsOf(id);
    return retractStart(root, basename(exit), join(this.#retracted, keyOf(id)));
  }

  /**
   * Bans an id: its attempt must not be started from now on. If the disk is full, the ban lasts only as long
   * as this agent, but the call does not fail: an attempt without a folder was never started, and the host
   * must be able to report that attempt as gone.
   */
  ban(id: string): void {
    if (existsSync(this.dirsOf(id).root)) return;
    try {
      writeFileSync(join(this.#forgotten, keyOf(id)), "");
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      this.#unwritten.add(id);
    }
  }

  /**
   * Deletes the data and remembers the id, even across a crash. The folder also proves that the attempt was
   * started, so the folder is deleted last. Its contents are deleted first, to make room for the file in
   * `forgotten/`.
   */
  async forget(id: string): Promise<void> {
    const { root } = this.dirsOf(id);
    const isThere = existsSync(root);
    for (const name of isThere ? readdirSync(root) : []) await remove(join(root, name), unlinkSync);
    if (isThere) writeFileSync(join(this.#forgotten, keyOf(id)), "");
    else this.ban(id);
    await remove(root, rmdirSync);
  }

  /** An agent may have died as it took back a start: a command that has begun is found nevertheless. */
  #finishRetractions(): void {
    for (const name of readdirSync(this.#retracted).filter((one) => KEY.test(one))) {
      const { root, exit } = this.dirsOf(idOf(name));
      putBack(root, basename(exit), join(this.#retracted, name));
    }
  }

  /** Deletes notes that are older than `REMEMBER_MS`, and data whose deletion was interrupted. */
  prune(): void {
    for (const name of readdirSync(this.#attempts)) {
      if (!existsSync(join(this.#forgotten, name))) continue;
      rmSync(join(this.#attempts, name), { recursive: true, force: true });
    }
    for (const name of readdirSync(this.#forgotten)) {
      const file = join(this.#forgotten, name);
      if (Date.now() - statSync(file).mtimeMs > REMEMBER_MS) rmSync(file);
    }
  }
}

/**
 * Deletes a file or a folder in one step, which takes no thread. What cannot be deleted so, because a task
 * has put something else there, is deleted whatever it is.
 */
async function remove(path: string, step: (path: string) => void): Promise<void> {
  try {
    step(path);
  } catch {
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Tells hosts that share a machine or an engine apart: a part of the names that they make there. */
export function hostMark(stateDir: string): string {
  return createHash("sha256").update(stateDir).digest("hex").slice(0, 12);
}

/** The name of an attempt's folder and files. */
export function keyOf(id: string): string {
  return id.replaceAll("/", "_");
}

/** The id of the attempt whose folder or file has this name. */
export function idOf(key: string): string {
  return key.replaceAll("_", "/");
}
