// How the data of a sticky placement is moved, saved and restored on disk.
import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { resultOf } from "../../../archive/result.ts";
import { makePrivateDir, readIfThere, replaceFile } from "../../../posix/files.ts";
import type { OutputsOutcome } from "../../../src/schema/host.ts";
import { errorText } from "../../../src/shared/words.ts";
import type { FoundSticky } from "../../core/journal.ts";
import type { Beginning } from "../../core/types.ts";
import type { Snapshots } from "../../plane/snapshots.ts";
import { say } from "../../say.ts";
import { type AllocDirs, UNOWNED } from "./alloc-dirs.ts";
import { storeData } from "./collect.ts";
import { fetchVerified, unpackFetched } from "./fetched.ts";
import { removeTree } from "./tree.ts";

/** In the directory of a sticky placement: how it began. No task can have this name. */
const NOTE = ".sticky";
/** What the snapshot of a placement's data has: what the next placement on this host would find. */
const STORED = ["alloc/data/**", "*/local/**"];
/**
 * What the next placement finds (tasks.md#sticky-data): the data of all, and each task's own directory. What
 * the agent has noted of a task stays with that: which artifacts are there, and whose the files are.
 */
const OF_ALLOC = ["data"];
const OF_TASK = ["local", "private"];
const STORED_OF_TASK = ["local"];

/** Where the data of a placement may come from. */
export interface Origin {
  /** The placement whose data this host may have kept. */
  from?: string | undefined;
  /** The newest data that are stored, and where. */
  snapshot?: { id: string; snapshots: Snapshots | undefined } | undefined;
}

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
   * Makes the directory of a sticky placement, once: out of the data of `from` if they are here, else out of
   * a snapshot. Data that cannot be had keep nothing from starting: it begins with nothing then, and says so.
   * Rejects with the reason of the signal.
   */
  async begin(placement: string, { from, snapshot }: Origin, signal: AbortSignal): Promise<Beginning> {
    const known = this.#beginningOf(placement);
    if (known !== undefined) return known;
    const root = this.#allocs.rootOf(placement);
    if (from !== undefined && (await this.#moved(from, root))) return "moved";
    const fetched = snapshot !== undefined && (await this.#fetched(snapshot, root, signal));
    const beginning = fetched ? "fetched" : from === undefined && snapshot === undefined ? "first" : "empty";
    makePrivateDir(root);
    replaceFile(join(root, NOTE), beginning);
    return beginning;
  }

  /**
   * Stores the data of a placement of which nothing lives any more. Rejects with the reason of the signal.
   */
  save(placement: string, snapshots: Snapshots | undefined, signal: AbortSignal): Promise<OutputsOutcome> {
    return storeData(this.#allocs.rootOf(placement), STORED, { snapshots, signal });
  }

  async #fetched({ id, snapshots }: Required<Origin>["snapshot"], root: string, signal: AbortSignal) {
    try {
      if (snapshots === undefined) throw new Error("the control plane has no bucket");
      await this.#allocs.clear(root);
      makePrivateDir(root);
      const [source, part] = [snapshots.sourceOf(id), join(root, ".data.part")];
      await fetchVerified({ source, sha256: id.slice(id.indexOf(":") + 1) }, part, { signal });
      // Another host made the archive: it brings data, and nothing that this agent believes.
      await unpackFetched(part, root, source, signal, resultOf(STORED));
      await strippedOf(root, STORED_OF_TASK);
      replaceFile(join(root, UNOWNED), "");
      return true;
    } catch (error) {
      signal.throwIfAborted();
      say(`cannot fetch the data of ${id}: ${errorText(error)}`);
      await this.#allocs.clear(root);
      return false;
    }
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
    await strippedOf(root, OF_TASK);
    replaceFile(join(root, NOTE), "kept");
    renameSync(root, this.#allocs.keptRootOf(placement));
    return true;
  }

  #beginningOf(placement: string): Beginning | undefined {
    const note = readIfThere(join(this.#allocs.rootOf(placement), NOTE));
    if (note === undefined) return undefined;
    return note === "first" || note === "moved" || note === "fetched" ? note : "empty";
  }
}

/** Deletes all of a placement's directory but its note, the data of all, and these entries of each task. */
async function strippedOf(root: string, ofTask: readonly string[]): Promise<void> {
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    const path = join(root, entry.name);
    if (entry.isDirectory()) await strip(path, entry.name === "alloc" ? OF_ALLOC : ofTask);
    else if (entry.name !== NOTE) await removeTree(path);
  }
}

/** Deletes all of a folder but these directories, which may have come from elsewhere as something else. */
async function strip(folder: string, kept: readonly string[]): Promise<void> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || !kept.includes(entry.name)) await removeTree(join(folder, entry.name));
  }
}
