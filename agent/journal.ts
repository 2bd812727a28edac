// How does the agent store its journal and its lease?
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../disk/atomic.ts";
import { makePrivateDir, readIfThere } from "../posix/files.ts";
import type { Millis } from "../src/shared/machine.ts";
import { errorText } from "../src/shared/words.ts";
import { type AttemptJournal, journalOf, leaseOf } from "./core/journal.ts";
import type { LeaseJournal } from "./core/lease.ts";
import type { AttemptState, HostState } from "./core/types.ts";
import { idOf, keyOf } from "./exec/processes/dirs.ts";
import { say } from "./say.ts";

/**
 * A lease that has grown by less than this is not written: the lease in the file is only a little shorter.
 */
const LEASE_NOTICED_MS: Millis = 1_000;

/**
 * The fixed length of the lease file. A lease that is written in place thus overwrites the whole old lease.
 */
const LEASE_FILE_CHARS = 256;

/** Suffix of an attempt's file. The temporary file from which it is renamed has another suffix. */
const SUFFIX = ".json";

/** The content of a file, with the boot in which it was written. */
interface Stamped<Content> {
  boot: string;
  content: Content;
}

/**
 * The state that outlives the agent, in files that are replaced atomically: `journal/<attempt>.json` and
 * `lease.json`. They need not survive a crash of the machine, because another boot does not use them.
 */
export class Journal {
  readonly #boot: string;
  readonly #dir: string;
  readonly #leaseFile: string;
  /** The text of each attempt's file, and the state it was written for. */
  readonly #saved = new Map<string, { attempt: AttemptState; text: string }>();
  #lease: LeaseJournal | undefined;
  #failing = false;

  /** `boot`: the id of this boot of the machine. */
  constructor(stateDir: string, boot: string) {
    this.#boot = boot;
    this.#dir = join(stateDir, "journal");
    this.#leaseFile = join(stateDir, "lease.json");
    makePrivateDir(this.#dir);
  }

  /** The journal of an attempt from an earlier start; undefined if there is no readable journal. */
  read(id: string): AttemptJournal | "other boot" | undefined {
    return this.#read<AttemptJournal>(this.#fileOf(id));
  }

  /**
   * Attempts that have started in this boot. They include those whose folder a task has deleted: such an
   * attempt must not start again.
   */
  begun(): string[] {
    const names = readdirSync(this.#dir).filter((name) => name.endsWith(SUFFIX));
    const ids = names.map((name) => idOf(name.slice(0, -SUFFIX.length)));
    return ids.filter((id) => {
      const kept = this.read(id);
      return kept !== undefined && kept !== "other boot" && kept.startedAt !== undefined;
    });
  }

  /** Whether the journal of an attempt, from any boot, says that the attempt has secrets. */
  hasSecrets(id: string): boolean {
    return this.#stampedIn<AttemptJournal>(this.#fileOf(id))?.content.hasSecrets === true;
  }

  /** The lease of this host, if it was written in this boot. */
  readLease(): LeaseJournal | undefined {
    const lease = this.#read<LeaseJournal>(this.#leaseFile);
    return lease === "other boot" ? undefined : lease;
  }

  /** Deletes the files of all attempts that are not in `ids`. */
  prune(ids: string[]): void {
    const kept = new Set(ids.map((id) => keyOf(id) + SUFFIX));
    for (const name of readdirSync(this.#dir)) if (!kept.has(name)) rmSync(join(this.#dir, name));
  }

  /**
   * Writes what has changed, before anything that depends on it is done or reported. A full disk must not end
   * the tasks: the old files stay valid, with a shorter lease, and the next event tries again. Returns
   * whether the files are complete.
   */
  keep(after: HostState): boolean {
    try {
      this.#keepAttempts(after.attempts);
      this.#keepLease(leaseOf(after));
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) say(`cannot write its journal, and continues: ${errorText(error)}`);
      this.#failing = true;
    }
    return !this.#failing;
  }

  #keepAttempts(attempts: HostState["attempts"]): void {
    for (const [id, attempt] of Object.entries(attempts)) {
      if (attempt !== this.#saved.get(id)?.attempt) this.#keepAttempt(id, attempt);
    }
    for (const id of this.#saved.keys()) {
      if (attempts[id] !== undefined) continue;
      rmSync(this.#fileOf(id), { force: true });
      this.#saved.delete(id);
    }
  }

  #keepAttempt(id: string, attempt: AttemptState): void {
    const text = this.#stamped(journalOf(attempt));
    if (this.#saved.get(id)?.text !== text) replaceFile(this.#fileOf(id), text);
    this.#saved.set(id, { attempt, text });
  }

  #keepLease(lease: LeaseJournal | undefined): void {
    const before = this.#lease;
    const grownMs = (lease?.until ?? 0) - (before?.until ?? Number.NEGATIVE_INFINITY);
    if (lease === undefined || (lease.ms === before?.ms && grownMs < LEASE_NOTICED_MS)) return;
    const text = this.#stamped(lease).padEnd(LEASE_FILE_CHARS);
    try {
      replaceFile(this.#leaseFile, text);
    } catch {
      // A full disk has no room for a temporary file. The watchdog must not act on an old lease, so the lease
      // is overwritten in place.
      writeFileSync(this.#leaseFile, text, { flag: "r+" });
    }
    this.#lease = lease;
  }

  #read<Content extends object>(file: string): Content | "other boot" | undefined {
    const stamped = this.#stampedIn<Content>(file);
    return stamped === undefined || stamped.boot === this.#boot ? stamped?.content : "other boot";
  }

  #stampedIn<Content>(file: string): Stamped<Content> | undefined {
    try {
      const text = readIfThere(file);
      // The file is the agent's own and is written atomically, so its content has the right type.
      return text === undefined ? undefined : (JSON.parse(text) as Stamped<Content>);
    } catch (error) {
      say(`cannot read ${file}: ${errorText(error)}`);
      return undefined;
    }
  }

  #stamped<Content>(content: Content): string {
    return JSON.stringify({ boot: this.#boot, content } satisfies Stamped<Content>);
  }

  #fileOf(id: string): string {
    return join(this.#dir, keyOf(id) + SUFFIX);
  }
}
