import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePrivateDir, readIfThere, replaceFile } from "../posix/files.ts";
import type { Millis } from "../src/shared/machine.ts";
import { errorText } from "../src/shared/words.ts";
import { type AttemptJournal, journalOf, leaseOf } from "./core/journal.ts";
import type { LeaseJournal } from "./core/lease.ts";
import type { AttemptState, HostState } from "./core/types.ts";
import { idOf, keyOf } from "./exec/processes/dirs.ts";
import { say } from "./say.ts";

/** A lease that grew by less than this is not written again: the one in the file is only shorter. */
const LEASE_NOTICED_MS: Millis = 1_000;

/** So that a lease that is written over another one leaves nothing of it. */
const LEASE_FILE_CHARS = 256;

/** Of the file of an attempt: one that is not whole yet has another. */
const SUFFIX = ".json";

/** What is written, and of which boot it speaks. */
interface Stamped<Content> {
  boot: string;
  content: Content;
}

/**
 * What outlives the agent, as files that are whole at any moment: `journal/<attempt>.json` and `lease.json`.
 * They need not survive the machine: what they say is of one boot, and of another one it is not read.
 */
export class Journal {
  readonly #boot: string;
  readonly #dir: string;
  readonly #leaseFile: string;
  /** What the files of attempts say, and of which states that is. */
  readonly #saved = new Map<string, { attempt: AttemptState; text: string }>();
  #lease: LeaseJournal | undefined;
  #failing = false;

  /** `boot` names this boot of the machine. */
  constructor(stateDir: string, boot: string) {
    this.#boot = boot;
    this.#dir = join(stateDir, "journal");
    this.#leaseFile = join(stateDir, "lease.json");
    makePrivateDir(this.#dir);
  }

  /** What an earlier start has left of this attempt; undefined if there is nothing that can be read. */
  read(id: string): AttemptJournal | "other boot" | undefined {
    return this.#read<AttemptJournal>(this.#fileOf(id));
  }

  /**
   * Attempts that have begun in this boot. A task can delete the folder that the agent has of it, and must
   * not be started again for that.
   */
  begun(): string[] {
    const names = readdirSync(this.#dir).filter((name) => name.endsWith(SUFFIX));
    const ids = names.map((name) => idOf(name.slice(0, -SUFFIX.length)));
    return ids.filter((id) => {
      const kept = this.read(id);
      return kept !== undefined && kept !== "other boot" && kept.startedAt !== undefined;
    });
  }

  /** The lease that was granted to this host, if it was in this boot. */
  readLease(): LeaseJournal | undefined {
    const lease = this.#read<LeaseJournal>(this.#leaseFile);
    return lease === "other boot" ? undefined : lease;
  }

  /** Deletes what is of none of these attempts. */
  prune(ids: string[]): void {
    const kept = new Set(ids.map((id) => keyOf(id) + SUFFIX));
    for (const name of readdirSync(this.#dir)) if (!kept.has(name)) rmSync(join(this.#dir, name));
  }

  /**
   * Writes what its files do not say yet, before anything is done or told that follows from it. A disk that
   * takes nothing must not end the tasks: what is on it stays true, and a lease is only shorter there. What
   * it did not take is written with the next event after which it does. Returns whether its files say all.
   */
  keep(after: HostState): boolean {
    try {
      this.#keepAttempts(after.attempts);
      this.#keepLease(leaseOf(after));
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) say(`cannot write its journal, and goes on: ${errorText(error)}`);
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
      // A full disk has no room for a second file. The watchdog must not act on a lease that was extended.
      writeFileSync(this.#leaseFile, text, { flag: "r+" });
    }
    this.#lease = lease;
  }

  #read<Content extends object>(file: string): Content | "other boot" | undefined {
    try {
      const text = readIfThere(file);
      if (text === undefined) return undefined;
      // The file is the agent's own, and is written whole: what parses is what was written.
      const { boot, content } = JSON.parse(text) as Stamped<Content>;
      return boot === this.#boot ? content : "other boot";
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
