// How does a task get its secrets: from the control plane, then as files and variables (secrets.md#tasks)?
import type { Container } from "../../src/schema/run/container.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { REGISTRY_SECRET } from "../../src/shared/containers/registry-secret.ts";
import type { RegistryAuth } from "../engine/types.ts";
import { NoSecrets, type SecretSource } from "../plane/secrets.ts";
import type { AttemptSecrets } from "../secrets.ts";
import type { Owner, SecretFiles } from "./files/secret-files.ts";
import { StartFault } from "./start-fault.ts";

/** What is needed to give a task its secrets. */
export interface TaskSecretsOptions {
  secrets: AttemptSecrets;
  files: SecretFiles;
  /** Undefined before the host has joined, or if it has enrolled without a key. */
  source: () => SecretSource | undefined;
}

/** Gives tasks their secrets. Errors name secrets, and never a value. */
export class TaskSecrets {
  readonly #options: TaskSecretsOptions;

  constructor(options: TaskSecretsOptions) {
    this.#options = options;
  }

  /**
   * Fetches the secrets of an attempt. From then on they are masked. Returns whether their files will be on a
   * disk. Rejects with a `StartFault`, or with the reason of the signal.
   */
  async fetch(id: string, uses: NonNullable<TaskSpec["secrets"]>, signal: AbortSignal): Promise<boolean> {
    const { secrets, files, source } = this.#options;
    const from = source();
    if (from === undefined) {
      throw fault("This host has enrolled without a key, so no secret can be sealed for it", false);
    }
    try {
      const sealed = await from.sealedFor({ attempt: id, publicKey: secrets.publicKey }, signal);
      await secrets.keep(id, from.worker, sealed);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoSecrets) throw fault(error.message, error.recoverable);
      // WebCrypto does not say why it fails. There is one reason: another key than the one that is meant.
      if (error instanceof DOMException) throw fault("They are not sealed for the key of this host", false);
      throw error;
    }
    const values = secrets.valuesOf(id);
    const missing = Object.keys(uses).find((name) => values?.has(name) !== true);
    if (missing !== undefined) throw fault(`The control plane has sent none for ${missing}`, false);
    return wantsFiles(uses) && files.make(id).onDisk;
  }

  /** The directory of an attempt's secrets; undefined if the task has none as files. */
  dirOf(id: string, { secrets: uses }: TaskSpec): string | undefined {
    return uses === undefined || !wantsFiles(uses) ? undefined : this.#options.files.make(id).dir;
  }

  /** Writes the files of an attempt, and returns its variables. Throws a `StartFault`. */
  give(id: string, { secrets: uses }: TaskSpec, owner: Owner | undefined): Record<string, string> {
    if (uses === undefined) return {};
    const { [REGISTRY_SECRET]: _, ...given } = uses;
    const values = this.#options.secrets.valuesOf(id);
    const files = new Map<string, Uint8Array>();
    const env: Record<string, string> = {};
    for (const [name, { as }] of Object.entries(given)) {
      const value = values?.get(name);
      if (value === undefined) throw fault(`The value of ${name} is not known any more`, true);
      if (as === "file") files.set(name, value);
      else env[name] = variable(name, value);
    }
    if (files.size > 0) this.#options.files.write(id, files, owner);
    return env;
  }

  /**
   * The credentials with which the image of a task is pulled; undefined: it needs none. The command never
   * sees them (containers.md#registry). Throws a `StartFault`.
   */
  registryAuth(id: string, { auth }: Container): RegistryAuth | undefined {
    if (auth === undefined) return undefined;
    const value = this.#options.secrets.valuesOf(id)?.get(REGISTRY_SECRET);
    if (value === undefined) throw fault("The credentials of the registry are not known any more", true);
    const [, username, password] = /^([^:\n]+):(.+?)\n?$/s.exec(new TextDecoder().decode(value)) ?? [];
    if (username !== undefined && password !== undefined) return { username, password };
    const rule = "must be a name and a password or a token with a colon between them";
    throw fault(`The credentials of the registry (the secret in \`container.auth\`) ${rule}`, false);
  }

  /** No process of the attempt is left. */
  ended(id: string): Promise<void> {
    return this.#options.files.remove(id);
  }

  /** Drops the values of all runs but these. */
  keepRuns(runs: ReadonlySet<string>): void {
    this.#options.secrets.keepRuns(runs);
  }

  /** The attempt's data are deleted. */
  async forget(id: string): Promise<void> {
    await this.ended(id);
    this.#options.secrets.forget(id);
  }
}

function wantsFiles(uses: NonNullable<TaskSpec["secrets"]>): boolean {
  return Object.entries(uses).some(([name, { as }]) => as === "file" && name !== REGISTRY_SECRET);
}

/** A value as a text. Bytes that are no text cannot be a variable. */
function variable(name: string, value: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
    if (!text.includes("\0")) return text;
  } catch {
    // not UTF-8: refused below
  }
  const why = `The secret for ${name} cannot be a variable, since it has bytes that are not text`;
  throw fault(`${why}. Use it as a file`, false);
}

function fault(why: string, recoverable: boolean): StartFault {
  const text = `The secrets of the task are not available: ${why}.`;
  return new StartFault("secrets_failed", text, recoverable ? { recoverable } : {});
}
