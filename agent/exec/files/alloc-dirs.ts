// Where do the directories of a placement lie, and when are they deleted?
import { chmodSync, chownSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../../../posix/errors.ts";
import { makePrivateDir } from "../../../posix/files.ts";
import { placementOf } from "../../core/attempts/placements.ts";
import type { Account } from "../account.ts";
import { StartFault } from "../start-fault.ts";
import { isPlacementGroup, pickGroup } from "./placement-group.ts";
import { removeTree } from "./tree.ts";

/** The name of a placement's folder: anything else in there is none of ours. */
const KEY = /^[a-z0-9-]+_\d+$/;
/** What is being deleted has this in front of its name. */
const GOING = ".going-";

/** In the directory of a placement. No task can have this name. */
export const UNOWNED = ".unowned";

/** Folders that all tasks of a placement share (tasks.md#placement-2, `DROVER_ALLOC_DIR`). */
const SHARED = ["logs", "tmp", "data"] as const;
const TASK_FOLDERS = ["local", "secrets", "private", "tmp"] as const;

/** Anyone can enter what lies below by name, and nobody can list it. */
const PASSABLE = 0o711;
const PASSABLE_BY_GROUP = 0o710;
/** Tasks of one group may run as different users. */
const SHARED_BY_USERS = 0o1777;

/** Where the files of one task lie: all attempts of one placement share them. */
export interface TaskDirs {
  /** Shared by the tasks of the placement: `logs`, `tmp` and `data`. */
  alloc: string;
  /** The task's own directory: where it runs, and where its artifacts go. */
  local: string;
  secrets: string;
  tmp: string;
  /** The agent's own notes about the task, and what it is fetching for it. */
  private: string;
}

/**
 * The directories of placements: `allocs/<run>_<epoch>/alloc/…` and `allocs/<run>_<epoch>/<task>/…`. A task
 * that is started again finds what it has left; all of it goes when no attempt of the placement is left.
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

  /** The directory of a placement, and where what is kept of one lies when it is over (`StickyData`). */
  rootOf(placement: string): string {
    return join(this.#allocs, keyOf(placement));
  }

  keptRootOf(placement: string): string {
    return join(this.#kept, keyOf(placement));
  }

  /**
   * A file that is there while the shared data of a placement, which came from a snapshot, are nobody's yet.
   */
  unownedOf(id: string): string {
    return join(this.rootOf(placementOf(id)), UNOWNED);
  }

  /** The directories of the task that this is an attempt of. */
  of(id: string): TaskDirs {
    const root = this.rootOf(placementOf(id));
    const at = (name: (typeof TASK_FOLDERS)[number]) => join(root, taskOf(id), name);
    return {
      alloc: join(root, "alloc"),
      local: at("local"),
      secrets: at("secrets"),
      tmp: at("tmp"),
      private: at("private"),
    };
  }

  /** Makes what is not there yet. Nobody but the agent's own user can look into it. */
  make(id: string): TaskDirs {
    const dirs = this.of(id);
    for (const name of SHARED) makePrivateDir(join(dirs.alloc, name));
    for (const name of TASK_FOLDERS) makePrivateDir(dirs[name]);
    return dirs;
  }

  /**
   * Hands the directories of a task to the user that it runs as, and returns the group of the placement,
   * which it must have. Whoever has not gets to nothing below the placement's directory, whatever name is
   * known; who has passes through what leads to the task's own, and can neither list nor read it. Throws a
   * `StartFault`.
   */
  giveTo(id: string, { uid, gid }: Account): number {
    const { alloc, local, secrets, tmp } = this.of(id);
    const root = this.rootOf(placementOf(id));
    const group = this.#groupOf(root);
    chmodSync(root, PASSABLE_BY_GROUP);
    for (const folder of [this.#stateDir, this.#allocs, join(root, taskOf(id)), alloc]) {
      chmodSync(folder, PASSABLE);
    }
    for (const name of SHARED) chmodSync(join(alloc, name), SHARED_BY_USERS);
    for (const folder of [local, secrets, tmp]) chownSync(folder, uid, gid);
    return group;
  }

  /** The group of a placement's directory, which is its own from the first time that it is asked for. */
  #groupOf(root: string): number {
    const { uid, gid } = statSync(root);
    if (isPlacementGroup(gid)) return gid;
    const roots = [this.#allocs, this.#kept].flatMap((at) => readdirSync(at).map((name) => join(at, name)));
    const taken = roots.map((one) => statSync(one, { throwIfNoEntry: false })?.gid ?? 0);
    const group = pickGroup(readFileSync("/proc/self/gid_map", "utf8"), new Set(taken));
    if (group === undefined) {
      const text = "This machine has no group left that would keep other users out of the run's directories";
      throw new StartFault("start_failed", `${text}: see \`/proc/self/gid_map\`. Leave \`user\` out.`);
    }
    chownSync(root, uid, group);
    return group;
  }

  /** Placements of which there are directories. */
  found(): string[] {
    return placementsIn(this.#allocs);
  }

  /** Placements of which something is kept. */
  foundKept(): string[] {
    return placementsIn(this.#kept);
  }

  /** Deletes one of these directories. It is out of the way at once, also if that is interrupted. */
  async clear(root: string): Promise<void> {
    const going = join(this.#allocs, GOING + basename(root));
    await removeTree(going);
    try {
      renameSync(root, going);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return;
      throw error;
    }
    await removeTree(going);
  }

  /** Goes on with what an earlier start of the agent was deleting. */
  async prune(): Promise<void> {
    for (const name of readdirSync(this.#allocs).filter((name) => name.startsWith(GOING))) {
      await removeTree(join(this.#allocs, name));
    }
  }
}

/** `/` becomes `_`, which no part of an id can have. */
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
