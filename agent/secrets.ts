// Which secret values does this agent know of an attempt, and how does it know them again after a restart?
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makePrivateDir, readIfThere, writeAtomically } from "../posix/files.ts";
import type { HostSecrets } from "../src/schema/access/secret.ts";
import { errorText } from "../src/shared/words.ts";
import { contextOfHanded } from "../src/signing/contexts.ts";
import { type HostKey, makeHostKey, unseal } from "../src/signing/seal.ts";
import { idOf, keyOf } from "./exec/processes/dirs.ts";
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
 * start of the agent masks exactly what this one masks (redaction.md#secrets).
 */
export class AttemptSecrets {
  readonly #dir: string;
  readonly #key: HostKey;
  readonly #values = new Map<string, Values>();

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
      secrets.#values.set(id, await secrets.#read(id));
    }
    return secrets;
  }

  /** The public key of this host. */
  get publicKey(): string {
    return this.#key.publicKey;
  }

  /**
   * What must not leave this machine in the output of an attempt. Answers from memory. `lost`: the attempt
   * has secrets that cannot be opened, so nothing of its output may leave (redaction.md#secrets).
   */
  readonly secretsOf = (id: string): readonly Uint8Array[] | "lost" => {
    const values = this.#values.get(id);
    return values === undefined || values === "lost" ? (values ?? NONE) : [...values.values()];
  };

  /** The values of an attempt by the names of its task; undefined if they are not known. */
  valuesOf(id: string): ReadonlyMap<string, Uint8Array> | undefined {
    const values = this.#values.get(id);
    return values === "lost" ? undefined : values;
  }

  /** Opens sealed values, and stores them sealed. From then on they are masked. */
  async keep(id: string, worker: string, sealed: HostSecrets): Promise<void> {
    const file = { worker, items: sealed.items };
    const values = await this.#open(id, file);
    writeAtomically(this.#fileOf(id), JSON.stringify(file));
    this.#values.set(id, values);
  }

  /** Deletes what is known of an attempt that is deleted. */
  forget(id: string): void {
    rmSync(this.#fileOf(id), { force: true });
    this.#values.delete(id);
  }

  /** Deletes what is known of all attempts that are not in `ids`. */
  prune(ids: readonly string[]): void {
    const kept = new Set(ids);
    for (const id of this.#found()) if (!kept.has(id)) this.forget(id);
  }

  #found(): string[] {
    const names = readdirSync(this.#dir).filter((name) => name.endsWith(SUFFIX));
    return names.map((name) => idOf(name.slice(0, -SUFFIX.length)));
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

const NONE: readonly Uint8Array[] = [];
