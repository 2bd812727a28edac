// Where are the directories of a placement, who may use them, and how are they deleted?
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../../../posix/errors.ts";
import { makePrivateDir, PRIVATE_DIR } from "../../../posix/files.ts";
import { placementOf } from "../../core/attempts/placements.ts";
import type { Account } from "../account.ts";
import { StartFault } from "../start-fault.ts";
import { ignoringErrors, pathOf, succeeds, withDir } from "./descriptors.ts";
import { isPlacementGroup, pickGroup } from "./placement-group.ts";
import { removeTree } from "./tree.ts";

/** The name of a placement's folder. Other folders are not Drover's. */
const KEY = /^[a-z0-9-]+_\d+$/;
/** Prefix of folders that are being deleted. */
const DELETING_PREFIX = ".going-";

/** A file in the directory of a placement (`unownedOf`). No task can have this name. */
export const UNOWNED = ".unowned";

/** Folders that all tasks of a placement share (tasks.md#placement-2, `DROVER_ALLOC_DIR`). */
const SHARED = ["logs", "tmp", "data"] as const;
const TASK_FOLDERS = ["local", "secrets", "private", "tmp"] as const;

/** Other users can pass through to a name that they know, but cannot list the directory. */
const PASSABLE = 0o711;
const PASSABLE_BY_GROUP = 0o710;
/** Tasks of one group may run as different users. */
const SHARED_BY_USERS = 0o1777;

/** The directories of one task, shared by its attempts of one placement. */
export interface TaskDirs {
  /** Shared by the tasks of the placement: `logs`, `tmp` and `data`. */
  alloc: string;
  /** The task's own directory. The task runs in it, and its artifacts are in it. */
  local: string;
  secrets: string;
  tmp: string;
  /** The agent's notes about the task, and its downloads. */
  private: string;
}

/**
 * The directories of placements: `allocs/<run>_<epoch>/alloc/…` and `allocs/<run>_<epoch>/<task>/…`. A
 * restarted task finds its files again; all directories are deleted when no attempt of the placement is left.
 */
export class AllocDirs {
  readonly #stateDir: string;
  readonly #allocs: string;
  readonly #kept: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
    this.#allocs = join(stateDir, "allocs");
    this.#kept = join(stateDir, "kept");
    makePrivateDir(this.#allocs);
    makePrivateDir(this.#kept);
  }

  /** The directory of a placement. */
  rootOf(placement: string): string {
    return join(this.#allocs, keyOf(placement));
  }

  /** The directory of a placement's kept data (`StickyData`). */
  keptRootOf(placement: string): string {
    return join(this.#kept, keyOf(placement));
  }

  /**
   * If the shared data of a placement came from a snapshot, this file exists until the data have an owner.
   */
  unownedOf(id: string): string {
    return join(this.rootOf(placementOf(id)), UNOWNED);
  }

  /** The directories of an attempt's task. */
  of(id: string): TaskDirs {
    const root = this.rootOf(placementOf(id));
    const task = `${root}/${taskOf(id)}`;
    return {
      alloc: `${root}/alloc`,
      local: `${task}/local`,
      secrets: `${task}/secrets`,
      tmp: `${task}/tmp`,
      private: `${task}/private`,
    };
  }

  /** Creates missing directories, closed to other users. */
  make(id: string): TaskDirs {
    const dirs = this.of(id);
    // Parents first: a missing parent is an error, and takes another look.
    for (const dir of [dirname(dirs.alloc), dirs.alloc]) makePrivateDir(dir);
    for (const name of SHARED) makeShared(`${dirs.alloc}/${name}`);
    makePrivateDir(dirname(dirs.local));
    for (const name of TASK_FOLDERS) makePrivateDir(dirs[name]);
    return dirs;
  }

  /**
   * Gives the directories of a task to its user, and returns the placement's group. The task must be a member
   * of that group: only members can pass through the placement's directory, and they can neither list nor
   * read the directories on the path to the task's own. Throws a `StartFault`.
   */
  giveTo(id: string, { uid, gid }: Account): number {
    const { alloc, local, secrets, tmp } = this.of(id);
    const root = this.rootOf(placementOf(id));
    const group = this.#groupOf(root);
    chmodSync(root, PASSABLE_BY_GROUP);
    for (const folder of [this.#stateDir, this.#allocs, join(root, taskOf(id)), alloc]) {
      chmodSync(folder, PASSABLE);
    }
    // Root in a container can put a link in their place, which must not lead anywhere.
    for (const name of SHARED) withDir(join(alloc, name), (dir) => chmodSync(pathOf(dir), SHARED_BY_USERS));
    for (const folder of [local, secrets, tmp]) chownSync(folder, uid, gid);
    return group;
  }

  /** The group of a placement's directory. The first call picks one. */
  #groupOf(root: string): number {
    const { uid, gid } = statSync(root);
    if (isPlacementGroup(gid)) return gid;
    const roots = [this.#allocs, this.#kept].flatMap((at) => readdirSync(at).map((name) => join(at, name)));
    const usedIds = roots.map((one) => statSync(one, { throwIfNoEntry: false })?.gid ?? 0);
    const group = pickGroup(readFileSync("/proc/self/gid_map", "utf8"), new Set(usedIds));
    if (group === undefined) {
      const text = "This machine has no free group id to keep other users out of the run's directories";
      throw new StartFault("start_failed", `${text}: see \`/proc/self/gid_map\`. Leave \`user\` out.`);
    }
    chownSync(root, uid, group);
    return group;
  }

  /** Placements with directories. */
  found(): string[] {
    return placementsIn(this.#allocs);
  }

  /** Placements with kept data. */
  foundKept(): string[] {
    return placementsIn(this.#kept);
  }

  /**
   * Deletes a placement's directory. The directory is renamed first, so that an agent that ends meanwhile
   * leaves no half-deleted placement.
   */
  async clear(root: string): Promise<void> {
    const deleting = join(this.#allocs, DELETING_PREFIX + basename(root));
    try {
      renameSync(root, deleting);
    } catch (error) {
      await removeTree(deleting);
      if (errorCode(error) === "ENOENT") return;
      // An earlier agent has ended while it deleted the same placement.
      renameSync(root, deleting);
    }
    await removeTree(deleting);
  }

  /** Finishes deletions that were interrupted by the end of an earlier agent. */
  async prune(): Promise<void> {
    for (const name of readdirSync(this.#allocs).filter((name) => name.startsWith(DELETING_PREFIX))) {
      await removeTree(join(this.#allocs, name));
    }
  }
}

/** Makes a directory in one that root in a container can change: what is no directory there goes. */
function makeShared(path: string): void {
  if (succeeds(() => mkdirSync(path, { mode: PRIVATE_DIR }))) return;
  const isDir = withDir(path, () => true);
  if (isDir === undefined) ignoringErrors(["ENOENT"], () => unlinkSync(path));
  makePrivateDir(path);
}

/** `/` becomes `_`, which no part of an id can contain. */
function keyOf(placement: string): string {
  return placement.replace("/", "_");
}

function placementsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => KEY.test(name))
    .map((name) => name.replace("_", "/"));
}

function taskOf(id: string): string {
  return id.split("/")[1] ?? "";
}
