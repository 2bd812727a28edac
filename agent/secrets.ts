// Which secret values does this agent know of an attempt, and how does it know them again after a restart?
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeAtomically } from "../disk/atomic.ts";
import { makePrivateDir, readIfThere } from "../posix/files.ts";
import type { HostSecrets } from "../src/schema/access/secret.ts";
import { MAX_RUN_SECRET_BYTES } from "../src/shared/limits.ts";
import { formatSize } from "../src/shared/size.ts";
import { errorText } from "../src/shared/words.ts";
import { contextOfHanded } from "../src/signing/contexts.ts";
import { type HostKey, makeHostKey, unseal } from "../src/signing/seal.ts";
import { runOf } from "./core/attempts/placements.ts";
import { idOf, keyOf } from "./exec/processes/dirs.ts";
import { NoSecrets } from "./plane/secrets.ts";
import { say } from "./say.ts";

/** File of the host's key pair (secrets.md#host-keys). */
const KEY_FILE = "host-key.json";
/** Folder of the sealed values, a file for each attempt. */
const SEALED_DIR = "sealed";
const SUFFIX = ".json";

/** The values of an attempt, by the names that its task has for them; `lost`: it has some, but not here. */
type Values = ReadonlyMap<string, Uint8Array> | "lost";

/** What a file has: the sealed values, and the worker that they are bound to. */
interface SealedFile extends HostSecrets {
  worker: string;
}

/**
 * The key pair of this host. It is made before the host enrolls, and never again: the control plane seals
 * secrets only for the key of the enrollment (secrets.md#host-keys).
 */
export async function hostKeyIn(stateDir: string): Promise<HostKey> {
  const file = join(stateDir, KEY_FILE);
  const stored = readIfThere(file);
  if (stored !== undefined) return JSON.parse(stored) as HostKey; // the file is the agent's own
  const made = await makeHostKey();
  writeAtomically(file, `${JSON.stringify(made)}\n`);
  return made;
}

/**
 * The secret values of attempts. They are in memory only; the sealed values are in files, so that the next
 * start of the agent masks exactly what this one masks (redaction.md#secrets). The values of a forgotten
 * attempt stay known while this host has something of its run: it may have shared them.
 */
export class AttemptSecrets {
  readonly #dir: string;
  readonly #key: HostKey;
  /** By run and attempt. */
  readonly #runs = new Map<string, Map<string, Values>>();
  /** What `secretsOf` answers, by run, until that changes. */
  readonly #known = new Map<string, readonly Uint8Array[] | "lost">();
  /** Attempts that are forgotten, and whose values are known for the sake of others. */
  readonly #retired = new Set<string>();

  private constructor(stateDir: string, key: HostKey) {
    this.#dir = join(stateDir, SEALED_DIR);
    this.#key = key;
    makePrivateDir(this.#dir);
  }

  /**
   * Opens the sealed values of all attempts, before any output of theirs is read. `expected`: attempts that
   * have secrets, as their journals say. If a file of theirs is gone, its values are lost
   * (secrets.md#handed).
   */
  static async open(stateDir: string, key: HostKey, expected: readonly string[]): Promise<AttemptSecrets> {
    const secrets = new AttemptSecrets(stateDir, key);
    for (const id of new Set([...secrets.#found(), ...expected])) {
      secrets.#note(id, await secrets.#read(id));
    }
    return secrets;
  }

  /** The public key of this host. */
  get publicKey(): string {
    return this.#key.publicKey;
  }

  /**
   * What must not leave this machine in the output of a run's attempts. Answers from memory, with the same
   * array until that changes. `lost`: an attempt of the run has secrets that cannot be opened, so nothing of
   * the run's output may leave (redaction.md#secrets).
   */
  secretsOf(run: string): readonly Uint8Array[] | "lost" {
    const of = this.#runs.get(run);
    if (of === undefined) return NONE;
    const known = this.#known.get(run) ?? together(of.values());
    this.#known.set(run, known);
    return known;
  }

  /** The values of an attempt by the names of its task; undefined if they are not known. */
  valuesOf(id: string): ReadonlyMap<string, Uint8Array> | undefined {
    const values = this.#runs.get(runOf(id))?.get(id);
    return values === "lost" ? undefined : values;
  }

  /**
   * Opens sealed values, and stores them sealed. From then on they are masked. Throws `NoSecrets` if the run
   * has too many on this host now (secrets.md#limits).
   */
  async keep(id: string, worker: string, sealed: HostSecrets): Promise<void> {
    const file = { worker, items: sealed.items };
    const values = await this.#open(id, file);
    this.#makeRoom(id, values);
    writeAtomically(this.#fileOf(id), JSON.stringify(file));
    this.#retired.delete(id);
    this.#note(id, values);
    this.#deleteRepeated(runOf(id));
  }

  /** The attempt is deleted. Its values stay known as long as its run needs them. */
  forget(id: string): void {
    if (this.#runs.get(runOf(id))?.has(id) !== true) return;
    this.#retired.add(id);
    this.#deleteRepeated(runOf(id));
  }

  /** Deletes what is known of all runs but these. */
  keepRuns(runs: ReadonlySet<string>): void {
    for (const [run, of] of this.#runs) if (!runs.has(run)) for (const id of of.keys()) this.#delete(id);
  }

  /**
   * What an earlier start has left: attempts that are not in `ids` are forgotten. `placements`: those that
   * have directories or kept data here.
   */
  prune(ids: readonly string[], placements: readonly string[]): void {
    this.keepRuns(new Set([...ids, ...placements].map(runOf)));
    const left = new Set(ids);
    for (const of of [...this.#runs.values()]) {
      for (const id of of.keys()) if (!left.has(id)) this.forget(id);
    }
  }

  /**
   * Deletes what is known of forgotten attempts of a run, the oldest first, until the run has room for these
   * values of another one. Otherwise a service that restarts for years would collect each value that its
   * secret ever had.
   */
  #makeRoom(id: string, values: ReadonlyMap<string, Uint8Array>): void {
    const others = () => [...(this.#runs.get(runOf(id)) ?? [])].filter(([other]) => other !== id);
    for (;;) {
      const bytes = bytesOf(together([...others().map(([, of]) => of), values]));
      if (bytes <= MAX_RUN_SECRET_BYTES) return;
      const [oldest] = others().find(([other]) => this.#retired.has(other)) ?? [];
      if (oldest === undefined) {
        const limit = formatSize(MAX_RUN_SECRET_BYTES);
        const has = `the secrets of this run have ${formatSize(bytes)} together on this host`;
        const advice = "Use fewer or smaller secrets, or split the run";
        // After a rotation tasks with the old value and tasks with the new one may run for a while.
        throw new NoSecrets(`${has}, and the limit is ${limit}. ${advice}`, true);
      }
      this.#delete(oldest);
    }
  }

  /** Deletes the forgotten attempts of a run whose values other attempts of it have, too. */
  #deleteRepeated(run: string): void {
    const of = this.#runs.get(run) ?? new Map<string, Values>();
    for (const id of [...of.keys()].filter((one) => this.#retired.has(one))) {
      const others = [...of].filter(([other]) => other !== id).map(([, values]) => values);
      if (isIn(of.get(id), others)) this.#delete(id);
    }
  }

  #note(id: string, values: Values): void {
    const run = runOf(id);
    this.#runs.set(run, (this.#runs.get(run) ?? new Map<string, Values>()).set(id, values));
    this.#known.delete(run);
  }

  #delete(id: string): void {
    const run = runOf(id);
    const of = this.#runs.get(run);
    of?.delete(id);
    if (of?.size === 0) this.#runs.delete(run);
    this.#known.delete(run);
    this.#retired.delete(id);
    try {
      rmSync(this.#fileOf(id), { force: true });
    } catch (error) {
      say(
        `cannot delete the sealed secrets of ${id}, and leaves that to its next start: ${errorText(error)}`,
      );
    }
  }

  /** The attempts with a file, in the order in which they got their values: the oldest give way first. */
  #found(): string[] {
    const names = readdirSync(this.#dir).filter((name) => name.endsWith(SUFFIX));
    const dated = names.map((name) => ({ name, at: statSync(join(this.#dir, name)).mtimeMs }));
    return dated.sort((a, b) => a.at - b.at).map(({ name }) => idOf(name.slice(0, -SUFFIX.length)));
  }

  async #read(id: string): Promise<Values> {
    try {
      const text = readIfThere(this.#fileOf(id));
      if (text === undefined) throw new Error("the file of its sealed values is gone");
      return await this.#open(id, JSON.parse(text) as SealedFile); // the file is the agent's own
    } catch (error) {
      say(`cannot open the secrets of ${id}, and masks all of its output: ${errorText(error)}`);
      return "lost";
    }
  }

  async #open(id: string, { worker, items }: SealedFile): Promise<ReadonlyMap<string, Uint8Array>> {
    const values = new Map<string, Uint8Array>();
    for (const { name, ...sealed } of items) {
      values.set(name, await unseal(sealed, this.#key, contextOfHanded(worker, id, name)));
    }
    return values;
  }

  #fileOf(id: string): string {
    return join(this.#dir, keyOf(id) + SUFFIX);
  }
}

/** All values, each once. */
function together(attempts: Iterable<Values>): readonly Uint8Array[] | "lost" {
  const different = new Map<string, Uint8Array>();
  for (const values of attempts) {
    if (values === "lost") return values;
    for (const value of values.values()) different.set(textOf(value), value);
  }
  return [...different.values()];
}

/** The bytes of these values. What is lost needs no masker. */
function bytesOf(values: readonly Uint8Array[] | "lost"): number {
  return values === "lost" ? 0 : values.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Whether others have each of these values. What is lost cannot be compared. */
function isIn(values: Values | undefined, others: readonly Values[]): boolean {
  if (values === undefined || values === "lost") return false;
  const theirs = others.flatMap((one) => (one === "lost" ? [] : [...one.values()])).map(textOf);
  return [...values.values()].every((value) => theirs.includes(textOf(value)));
}

function textOf(value: Uint8Array): string {
  return Buffer.from(value).toString("latin1");
}

const NONE: readonly Uint8Array[] = [];
