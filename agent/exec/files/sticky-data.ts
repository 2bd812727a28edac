// How are the data of a sticky placement kept, moved, stored and restored?
import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { resultOf } from "../../../archive/result.ts";
import { replaceFile } from "../../../disk/atomic.ts";
import { makePrivateDir, readIfThere } from "../../../posix/files.ts";
import type { OutputsOutcome } from "../../../src/schema/host.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import { errorText } from "../../../src/shared/words.ts";
import type { MessageOf } from "../../core/messages.ts";
import type { Beginning, StickyState } from "../../core/types.ts";
import type { Snapshots } from "../../plane/snapshots.ts";
import { say } from "../../say.ts";
import { type AllocDirs, UNOWNED } from "./alloc-dirs.ts";
import { storeData } from "./collect.ts";
import { fetchVerified, unpackFetched } from "./fetch.ts";
import { removeTree } from "./tree.ts";

/** A file in the directory of a sticky placement: how the placement began. No task can have this name. */
const NOTE = ".sticky";
/** What a snapshot of a placement's data contains: the data that a next placement on this host would find. */
const STORED = ["alloc/data/**", "*/local/**"];
/**
 * The next placement finds the shared data and each task's own directory (tasks.md#sticky-data), with the
 * agent's notes about the task: which artifacts are there, and who owns the files.
 */
const KEPT_OF_ALLOC = ["data"];
const KEPT_OF_TASK = ["local", "private"];
const STORED_OF_TASK = ["local"];

/**
 * The data of sticky runs on the disk. When a placement is over, its directory in `allocs/` is reduced to its
 * data and moved to `kept/`. From there it becomes the directory of the run's next placement. Each move is
 * one rename, so the data are always in one place, and an interrupted step can be repeated.
 */
export class StickyData {
  readonly #allocs: AllocDirs;

  constructor(allocs: AllocDirs) {
    this.#allocs = allocs;
  }

  /** The data that earlier starts of the agent have left. */
  found(now: Instant): StickyState {
    const begun: StickyState["begun"] = {};
    for (const placement of this.#allocs.found()) {
      const beginning = this.#beginningOf(placement);
      if (beginning !== undefined) begun[placement] = beginning;
    }
    const kept: StickyState["kept"] = {};
    for (const placement of this.#allocs.foundKept()) {
      const note = statSync(join(this.#allocs.keptRootOf(placement), NOTE), { throwIfNoEntry: false });
      kept[placement] = { since: now - Math.max(0, Date.now() - (note?.mtimeMs ?? 0)) };
    }
    return { begun, kept };
  }

  /**
   * Creates the directory of a sticky placement, once. Its data are the kept data of the placement `from`, or
   * else those of a snapshot. If neither is available, the placement begins empty and reports that. Rejects
   * with the reason of the signal.
   */
  async begin(
    { placement, from, snapshot }: MessageOf<"begin">,
    snapshots: Snapshots | undefined,
    signal: AbortSignal,
  ): Promise<Beginning> {
    const known = this.#beginningOf(placement);
    if (known !== undefined) return known;
    const root = this.#allocs.rootOf(placement);
    if (from !== undefined && (await this.#move(from, root))) return "moved";
    const fetched = snapshot !== undefined && (await this.#fetch(snapshot, snapshots, root, signal));
    const beginning = fetched ? "fetched" : from === undefined && snapshot === undefined ? "first" : "empty";
    makePrivateDir(root);
    replaceFile(join(root, NOTE), beginning);
    return beginning;
  }

  /** Stores the data of a placement without living processes. Rejects with the reason of the signal. */
  save(placement: string, snapshots: Snapshots | undefined, signal: AbortSignal): Promise<OutputsOutcome> {
    return storeData(this.#allocs.rootOf(placement), STORED, { snapshots, signal });
  }

  async #fetch(id: string, snapshots: Snapshots | undefined, root: string, signal: AbortSignal) {
    try {
      if (snapshots === undefined) throw new Error("the control plane has no bucket");
      await this.#allocs.clear(root);
      makePrivateDir(root);
      const [source, part] = [snapshots.sourceOf(id), join(root, ".data.part")];
      await fetchVerified(source, part, { signal });
      // The archive is from another host, which is not trusted: only the archive's data are unpacked, not its
      // notes.
      await unpackFetched(part, root, source, signal, resultOf(STORED));
      await stripPlacement(root, STORED_OF_TASK);
      replaceFile(join(root, UNOWNED), "");
      return true;
    } catch (error) {
      signal.throwIfAborted();
      say(`cannot fetch the data of ${id}: ${errorText(error)}`);
      await this.#allocs.clear(root);
      return false;
    }
  }

  async #move(from: string, root: string): Promise<boolean> {
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

  /** Keeps the data of a sticky placement that is over, and deletes the rest. False if there are no data. */
  async keep(placement: string): Promise<boolean> {
    const root = this.#allocs.rootOf(placement);
    if (this.#beginningOf(placement) === undefined) return false;
    await stripPlacement(root, KEPT_OF_TASK);
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

/** Deletes everything of a placement except its note, the shared data, and these directories of each task. */
async function stripPlacement(root: string, keptOfTask: readonly string[]): Promise<void> {
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    const path = join(root, entry.name);
    if (entry.isDirectory()) await strip(path, entry.name === "alloc" ? KEPT_OF_ALLOC : keptOfTask);
    else if (entry.name !== NOTE) await removeTree(path);
  }
}

/** Deletes everything in a folder except directories (not files or links) with these names. */
async function strip(folder: string, kept: readonly string[]): Promise<void> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || !kept.includes(entry.name)) await removeTree(join(folder, entry.name));
  }
}
