// Where are the files of an attempt's secrets, and when are they removed (secrets.md#files)?
import {
  chmodSync,
  closeSync,
  constants,
  fchownSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../../../posix/errors.ts";
import { findMemoryDir, MEMORY_ROOTS, openMemoryDir } from "../../../posix/memory-dir.ts";
import { keyOf } from "../processes/dirs.ts";
import { removeTree } from "./tree.ts";

/** Name of the link to the files in the state directory. `watchdog.sh` and the loopback cloud know it. */
export const SECRETS_LINK = "secrets";

/** Only the owner may enter and read. */
const PRIVATE_DIR = 0o700;
const READ_ONLY = 0o400;
/** Others may pass through to a name that they know. */
const PASSABLE = 0o711;
/** A file that is new, and never one to which a link leads. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Members of the placement's group may pass through. */
const PASSABLE_BY_GROUP = 0o710;

/** The owner of an attempt's files, if it is not the agent's user, and the group of its placement. */
export interface Owner {
  uid: number;
  gid: number;
  group: number;
}

/**
 * The directory of an attempt's secrets, `DROVER_SECRETS_DIR`: in memory where the machine has a file system
 * there, else in the state directory. It is removed when no process of the attempt is left.
 */
export class SecretFiles {
  readonly #link: string;
  readonly #roots: readonly string[];

  constructor(stateDir: string, roots = MEMORY_ROOTS) {
    this.#link = join(stateDir, SECRETS_LINK);
    this.#roots = roots;
  }

  /** Creates the directory of an attempt. `onDisk`: this machine has no memory for it. */
  make(id: string): { dir: string; onDisk: boolean } {
    const { path, onDisk } = openMemoryDir(this.#link, this.#roots);
    const dir = join(path, keyOf(id), "files");
    mkdirSync(dir, { recursive: true, mode: PRIVATE_DIR });
    return { dir, onDisk };
  }

  /**
   * Writes the files of an attempt, which nobody but their owner can read. Files that are there stay, since
   * commands may be using them. `owner`: the user of the task, if it is another one than the agent's. Other
   * runs of this user are not in the group, so they cannot pass.
   *
   * The files are made in a directory that is the agent's alone, which then gets its name. The user never has
   * power over a directory in which the agent, which may be root, still makes or changes anything.
   */
  write(id: string, values: ReadonlyMap<string, Uint8Array>, owner: Owner | undefined): void {
    const { dir } = this.make(id);
    const folder = join(dir, "..");
    if (readdirSync(dir).length === 0) {
      const fresh = join(folder, "fresh");
      rmSync(fresh, { recursive: true, force: true });
      mkdirSync(fresh, { mode: PRIVATE_DIR });
      for (const [name, value] of values) writeNew(fresh, name, value, owner);
      putInPlace(fresh, dir);
    }
    if (owner === undefined) return;
    chmodSync(join(folder, ".."), PASSABLE);
    lchownSync(folder, process.geteuid?.() ?? 0, owner.group);
    chmodSync(folder, PASSABLE_BY_GROUP);
    // Its name cannot be given to anything else: the folder around it is the agent's.
    lchownSync(dir, owner.uid, owner.gid);
  }

  /** Removes the directory of an attempt, if there is one, and the link if it was the last. */
  async remove(id: string): Promise<void> {
    const found = findMemoryDir(this.#link);
    if (found === undefined) return;
    await removeTree(join(found.path, keyOf(id)));
    this.#removeEmpty(found.path);
  }

  /** Removes the directories of all attempts that are not in `ids`. */
  async prune(ids: readonly string[]): Promise<void> {
    const found = findMemoryDir(this.#link);
    if (found === undefined) return;
    const kept = new Set(ids.map(keyOf));
    for (const name of readdirSync(found.path)) {
      if (!kept.has(name)) await removeTree(join(found.path, name));
    }
    this.#removeEmpty(found.path);
  }

  #removeEmpty(path: string): void {
    if (readdirSync(path).length > 0) return;
    rmdirSync(path);
    rmSync(this.#link, { force: true });
  }
}

function writeNew(dir: string, name: string, value: Uint8Array, owner: Owner | undefined): void {
  if (basename(name) !== name) throw new Error(`"${name}" is not the name of a file`);
  const file = openSync(join(dir, name), NEW_FILE, READ_ONLY);
  try {
    writeFileSync(file, value);
    if (owner !== undefined) fchownSync(file, owner.uid, owner.gid);
  } finally {
    closeSync(file);
  }
}

/** Puts a directory in the place of an empty one. One that is not empty any more stays. */
function putInPlace(fresh: string, dir: string): void {
  try {
    renameSync(fresh, dir);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "")) throw error;
    rmSync(fresh, { recursive: true });
  }
}
