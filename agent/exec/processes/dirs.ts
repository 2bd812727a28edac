import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorCode, isDiskFull } from "../../../posix/errors.ts";
import { makePrivateDir, readIfThere } from "../../../posix/files.ts";

/**
 * How long a deleted attempt is remembered, so that it is never started again (host-protocol.md#orders).
 */
const REMEMBER_MS = 30 * 86_400_000;

/** The name of an attempt's folder: anything else in there is none of ours. */
const KEY = /^[a-z0-9-]+_[a-z0-9-]+_\d+\.\d+$/;

/** Where the agent's files of one attempt lie; those of its task are in `AllocDirs`. */
export interface AttemptDirs {
  root: string;
  stdout: string;
  stderr: string;
  /** What the shim says of the end. */
  exit: string;
}

/**
 * The memory of which attempts were ever started here: `attempts/` has a folder for each that has data,
 * `forgotten/` an empty file for each that has none any more. `/` of the id becomes `_`, which no part of
 * an id can have.
 */
export class AttemptStore {
  readonly #attempts: string;
  readonly #forgotten: string;
  readonly #retracted: string;
  /** Ids that a full disk could not take: this start of the agent knows them. */
  readonly #unwritten = new Set<string>();

  constructor(stateDir: string) {
    this.#attempts = join(stateDir, "attempts");
    this.#forgotten = join(stateDir, "forgotten");
    this.#retracted = join(stateDir, "retracted");
    makePrivateDir(this.#attempts);
    makePrivateDir(this.#retracted);
    makePrivateDir(this.#forgotten);
  }

  dirsOf(id: string): AttemptDirs {
    const root = join(this.#attempts, keyOf(id));
    const at = (name: string) => join(root, name);
    return {
      root,
      stdout: at("stdout"),
      stderr: at("stderr"),
      exit: at("exit"),
    };
  }

  /** Ids of which an earlier start of the agent has left data that were not about to be deleted. */
  found(): string[] {
    return readdirSync(this.#attempts)
      .filter((name) => KEY.test(name) && !existsSync(join(this.#forgotten, name)))
      .map(idOf);
  }

  /**
   * Makes the folder of a new attempt. False if this id was ever claimed or forgotten here: it must not
   * start.
   */
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
   * Takes back a claim of which the agent died before the command began. True if it never began, and never
   * will: the shim says who it is before it looks whether its folder is in its place, and does not go on
   * without. Then nothing is left of the claim, and the id may be claimed as if it never had been.
   */
  retract(id: string): boolean {
    const { root, exit } = this.dirsOf(id);
    const away = join(this.#retracted, keyOf(id));
    rmSync(away, { recursive: true, force: true });
    renameSync(root, away);
    const named = (readIfThere(join(away, basename(exit))) ?? "") !== "";
    if (named) renameSync(away, root);
    else rmSync(away, { recursive: true, force: true });
    return !named;
  }

  /**
   * Remembers an id as one that must not be started, whether or not it ever was. On a full disk only as long
   * as this agent lives: what has no folder was never started, and a machine must get rid of it all the same.
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
   * Deletes the data and keeps the id. A crash in between must not forget that it was started: so its folder,
   * which says so too, goes last, when its contents have made room for the note.
   */
  async forget(id: string): Promise<void> {
    const { root } = this.dirsOf(id);
    const deleting = { recursive: true, force: true, maxRetries: 3 };
    const contents = existsSync(root) ? readdirSync(root) : [];
    for (const name of contents) await rm(join(root, name), deleting);
    if (existsSync(root)) writeFileSync(join(this.#forgotten, keyOf(id)), "");
    else this.ban(id);
    await rm(root, deleting);
  }

  /** Drops the memory of ids that were forgotten 30 days ago, and data whose deletion was interrupted. */
  prune(): void {
    for (const name of readdirSync(this.#retracted)) {
      rmSync(join(this.#retracted, name), { recursive: true, force: true });
    }
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

/** The name under which the files of an attempt lie. */
export function keyOf(id: string): string {
  return id.replaceAll("/", "_");
}

/** The id of the attempt whose files lie under this name. */
export function idOf(key: string): string {
  return key.replaceAll("_", "/");
}
