import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { FoundSticky } from "../core/journal.ts";
import type { Beginning } from "../core/types.ts";
import { errorText, makePrivateDir, readIfThere, replaceFile } from "../files.ts";
import { say } from "../say.ts";
import type { AllocDirs } from "./alloc-dirs.ts";

/** In the directory of a sticky placement: how it began. No task can have this name. */
const NOTE = ".sticky";
/**
 * What the next placement finds (`nomad.md` §5.4): the data of all, and each task's own directory. What the
 * agent has noted of a task stays with that: which artifacts are there, and whose the files are.
 */
const OF_ALLOC = ["data"];
const OF_TASK = ["local", "private"];

/**
 * The data of sticky runs on the disk. A placement that is over is stripped in `allocs/`, and then lies in
 * `kept/`; the next one of its run begins by becoming its directory. Each of the two is one rename, so at
 * any moment the data are in one place, and whatever is interrupted can be done again.
 */
export class StickyData {
  readonly #allocs: AllocDirs;

  constructor(allocs: AllocDirs) {
    this.#allocs = allocs;
  }

  /** What earlier starts of the agent have left. */
  found(): FoundSticky {
    const begun: FoundSticky["begun"] = {};
    for (const placement of this.#allocs.found()) {
      const beginning = this.#beginningOf(placement);
      if (beginning !== undefined) begun[placement] = beginning;
    }
    const keptForMs = this.#allocs.foundKept().map((placement) => {
      const note = statSync(join(this.#allocs.keptRootOf(placement), NOTE), { throwIfNoEntry: false });
      return [placement, Math.max(0, Date.now() - (note?.mtimeMs ?? 0))];
    });
    return { begun, keptForMs: Object.fromEntries(keptForMs) };
  }

  /**
   * Makes the directory of a sticky placement, once: out of the data of `from`, if they are here. That they
   * cannot be had keeps nothing from starting: it begins with nothing then, and says so.
   */
  async begin(placement: string, from: string | undefined): Promise<Beginning> {
    const known = this.#beginningOf(placement);
    if (known !== undefined) return known;
    const root = this.#allocs.rootOf(placement);
    if (from !== undefined && (await this.#moved(from, root))) return "moved";
    const beginning = from === undefined ? "first" : "empty";
    makePrivateDir(root);
    replaceFile(join(root, NOTE), beginning);
    return beginning;
  }

  async #moved(from: string, root: string): Promise<boolean> {
    try {
      await this.keep(from);
      const kept = this.#allocs.keptRootOf(from);
      if (!existsSync(kept)) return false;
      replaceFile(join(kept, NOTE), "moved");
      renameSync(kept, root);
      return true;
    } catch (error) {
      say(`cannot move the data of ${from}: ${errorText(error)}`);
      return false;
    }
  }

  /** Strips a sticky placement that is over, and keeps the rest. False if it is none, or not here. */
  async keep(placement: string): Promise<boolean> {
    const root = this.#allocs.rootOf(placement);
    if (this.#beginningOf(placement) === undefined) return false;
    for (const entry of readdirSync(root, { withFileTypes: true })) {
      const path = join(root, entry.name);
      if (entry.isDirectory()) await strip(path, entry.name === "alloc" ? OF_ALLOC : OF_TASK);
      else if (entry.name !== NOTE) await rm(path, { force: true });
    }
    replaceFile(join(root, NOTE), "kept");
    renameSync(root, this.#allocs.keptRootOf(placement));
    return true;
  }

  #beginningOf(placement: string): Beginning | undefined {
    const note = readIfThere(join(this.#allocs.rootOf(placement), NOTE));
    if (note === undefined) return undefined;
    return note === "first" || note === "moved" ? note : "empty";
  }
}

/** Deletes all of a folder but these entries. */
async function strip(folder: string, kept: string[]): Promise<void> {
  for (const name of readdirSync(folder).filter((name) => !kept.includes(name))) {
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 });
  }
}
