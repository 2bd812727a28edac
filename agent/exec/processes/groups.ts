// Where are the cgroups of this host's attempts?
import { readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../../disk/atomic.ts";
import { type Group, killGroup, removeGroup } from "../../../posix/cgroup.ts";
import { makePrivateDir, readIfThere } from "../../../posix/files.ts";
import type { Resources } from "../../../src/schema/common.ts";
import type { Means } from "../../../src/schema/host.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import { errorText } from "../../../src/shared/words.ts";
import { say } from "../../say.ts";
import { hostMark, keyOf } from "./dirs.ts";
import { makeGroup } from "./group.ts";
import { findHierarchies, type Hierarchy } from "./hierarchies.ts";

/**
 * The most processes and threads of one attempt: far more than a build needs, far fewer than Linux allows.
 */
export const MAX_ATTEMPT_PIDS = 4_096;

/** An empty cgroup of another host that is older than this belonged to a machine that was destroyed. */
const ABANDONED_MS: Millis = 3_600_000;
/** How long to wait before a cgroup is noted again. */
const NOTE_AGAIN_MS: Millis = 1_000;
const NAME = /^drover-[0-9a-f]{12}-.+_\d+\.\d+$/;

/**
 * The cgroups of this host's attempts. Their paths are written to files outside the attempts' own folders
 * before a process enters them, so that a later start of the agent finds them even if it runs in another
 * cgroup.
 */
export class Groups {
  readonly #dir: string;
  readonly #prefix: string;
  readonly #hierarchies: Hierarchy[];
  readonly #pids: number;
  /** What the files say, as far as it was read or written. */
  readonly #known = new Map<string, Group>();

  constructor(stateDir: string, hierarchies = findHierarchies(), pids = MAX_ATTEMPT_PIDS) {
    this.#dir = join(stateDir, "groups");
    // Several hosts may share one machine, as in the loopback cloud.
    this.#prefix = `drover-${hostMark(stateDir)}-`;
    this.#hierarchies = hierarchies;
    this.#pids = pids;
    makePrivateDir(this.#dir);
  }

  /** What this machine supports. Without cgroups, a kill may miss processes. */
  get means(): Omit<Means, "protocol"> {
    const limits = new Set(this.#hierarchies.flatMap(({ limits }) => limits));
    return { kill: this.#hierarchies.length > 0 ? "cgroup" : "processes", limits: [...limits].sort() };
  }

  /** Creates the cgroup of a new attempt; undefined if there are no cgroups. Throws the kernel's error. */
  make(id: string, { memoryBytes, vcpus }: Pick<Resources, "memoryBytes" | "vcpus">): Group | undefined {
    if (this.#hierarchies.length === 0) return undefined;
    const name = this.#prefix + keyOf(id);
    const folders = this.#hierarchies.map(({ parent, version }) => ({ path: join(parent, name), version }));
    replaceFile(this.#fileOf(id), JSON.stringify({ folders } satisfies Group));
    this.#known.set(id, { folders });
    return makeGroup(this.#hierarchies, name, { memoryBytes, vcpus, pids: this.#pids });
  }

  /** The cgroup of an attempt, even if an earlier start of the agent has created it. */
  of(id: string): Group | undefined {
    const known = this.#known.get(id);
    const text = known === undefined ? readIfThere(this.#fileOf(id)) : undefined;
    if (text === undefined) return known;
    // The file is the agent's own and is written atomically, so its content has the right type.
    const group = JSON.parse(text) as Group;
    this.#known.set(id, group);
    return group;
  }

  /**
   * Notes the cgroup that a container engine has made for an attempt. If the disk is full it is noted later:
   * that says nothing of the container.
   */
  note(id: string, group: Group): void {
    this.#known.set(id, group);
    this.#write(id, group);
  }

  #write(id: string, group: Group): void {
    if (this.#known.get(id) !== group) return;
    try {
      replaceFile(this.#fileOf(id), JSON.stringify(group));
    } catch {
      setTimeout(() => this.#write(id, group), NOTE_AGAIN_MS).unref();
    }
  }

  /** Forgets a cgroup that was removed. */
  forget(id: string): void {
    this.#known.delete(id);
    rmSync(this.#fileOf(id), { force: true });
  }

  /**
   * Kills the processes of this host's attempts whose ids are not in `ids`, removes their cgroups, and also
   * removes empty cgroups that other hosts have left long ago: a destroyed machine does not clean up.
   */
  prune(ids: string[]): void {
    const files = new Set(ids.map((id) => `${keyOf(id)}.json`));
    for (const name of readdirSync(this.#dir)) if (!files.has(name)) rmSync(join(this.#dir, name));
    const ours = new Set(ids.map((id) => this.#prefix + keyOf(id)));
    for (const { parent, version } of this.#hierarchies) {
      for (const name of readdirSync(parent).filter((name) => NAME.test(name) && !ours.has(name))) {
        const path = join(parent, name);
        try {
          if (name.startsWith(this.#prefix)) endGroup({ folders: [{ path, version }] });
          else if (Date.now() - statSync(path).mtimeMs > ABANDONED_MS) rmdirSync(path);
        } catch (error) {
          say(`cannot remove the cgroup ${path}: ${errorText(error)}`);
        }
      }
    }
  }

  #fileOf(id: string): string {
    return join(this.#dir, `${keyOf(id)}.json`);
  }
}

/** Kills and removes a group. A group that is not gone at once is left to the next start of the agent. */
function endGroup(group: Group): void {
  if (!removeGroup(group)) killGroup(group);
  removeGroup(group);
}
