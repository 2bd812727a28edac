// What does the registry answer to calls about secrets (secrets.md)? `core/registry` decides.

import { wrappingKeys } from "../../core/registry/keys/wrapping-keys.ts";
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import { hasProject, keyOf, type Named, unknownProject } from "../../core/registry/projects.ts";
import {
  type DataKeyRow,
  missingSecrets,
  nextVersion,
  refusalOfSecret,
  type SecretRow,
  type SecretsState,
  secretView,
  secretViews,
  useOf,
  type WantedSecret,
} from "../../core/registry/secrets.ts";
import type { HostSecrets, SecretList, StoredSecret } from "../../schema/access/secret.ts";
import { projectOfRun } from "../../shared/access/project.ts";
import { type SecretPurpose, usersOf } from "../../shared/access/secret-use.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_TASK_SECRET_BYTES, SHORTEST_MASKED_BYTES } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { formatSize } from "../../shared/size.ts";
import { contextOfHanded } from "../../signing/contexts.ts";
import { seal } from "../../signing/seal.ts";
import type { NewSecret, SecretsFor } from "../registry/api.ts";
import type { Vault } from "./vault.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): SecretsState & Pick<RegistryState, "keys" | "webhooks" | "projects">;
  now(): Instant;
}

/** The calls of `RegistryApi` about secrets. Values are encrypted before an event has them. */
export class SecretCalls {
  readonly #registry: Entered;
  readonly #vault: Vault;

  constructor(registry: Entered, vault: Vault) {
    this.#registry = registry;
    this.#vault = vault;
  }

  /**
   * Stores a value. If another call stores one meanwhile, the value of the later call stays. Throws
   * `secret_exists`, `busy`, `unknown_project` and `no_wrapping_key`.
   */
  async set({ value, use, ...secret }: NewSecret, by: string): Promise<StoredSecret> {
    const wanted = { secret, use, bytes: value.byteLength };
    for (;;) {
      const dataKey = await this.#dataKey(secret.project);
      const version = nextVersion(this.#accepting(wanted), secret);
      const sealed = await this.#vault.encrypt(value, secret, version, dataKey);
      // Other calls may have changed anything meanwhile.
      const present = this.#accepting(wanted);
      if (nextVersion(present, secret) !== version || present.dataKeys.get(sealed.key) === undefined)
        continue;
      if (!hasProject(present.projects, secret.project)) throw unknownProject(secret.project);
      const set = { ...wanted, use: useOf(present, wanted), version, sealed, by };
      this.#registry.enter({ type: "secret_set", ...set });
      return { ...secretView(this.#row(secret)), warnings: warningsOf(value) };
    }
  }

  /** The state, in which the secret can be set so. */
  #accepting(wanted: WantedSecret): ReturnType<Entered["enter"]> {
    const state = this.#registry.enter();
    const refusal = refusalOfSecret(state, wanted);
    if (refusal !== null) throw refusal;
    return state;
  }

  remove(secret: Named, by: string): void {
    this.#row(secret);
    this.#registry.enter({ type: "secret_removed", secret, by });
  }

  list(project: string | null): Omit<SecretList, "next"> {
    const state = this.#registry.enter();
    return { items: secretViews(state, project), wrappingKeys: wrappingKeys(state, this.#registry.now()) };
  }

  /** The names among these for which the project has no secret for runs. */
  missing(project: string, names: string[]): string[] {
    return missingSecrets(this.#registry.enter(), { project, use: "run" }, names);
  }

  /**
   * Seals secrets for a host (secrets.md#handed). Throws `unknown_secret` if one is gone, `secrets_too_large`
   * if they are too large together, and `no_wrapping_key`. Nothing of a value is stored.
   */
  async hand({ secrets, attempt, run, worker, publicKey }: SecretsFor): Promise<HostSecrets> {
    const project = projectOfRun(run);
    const names = [...new Set(Object.values(secrets))];
    const missing = this.missing(project, names);
    if (missing.length > 0) throw unknownSecret(missing[0] ?? "", "run");
    const rows = new Map(names.map((name) => [name, this.#row({ project, name })]));
    refuseTooLarge(Object.values(secrets).map((name) => rows.get(name)?.bytes ?? 0));
    // All data keys are taken at once: one that no value needs any more may be deleted meanwhile.
    const sealedRows = [...rows].map(([name, row]) => ({ name, row, key: this.#keyOf(row) }));
    const values = new Map<string, Uint8Array>();
    for (const { name, row, key } of sealedRows) values.set(name, await this.#vault.decrypt(row, key));
    const items = await Promise.all(
      Object.entries(secrets).map(async ([as, name]) => {
        const sealed = await seal(
          values.get(name) ?? new Uint8Array(),
          publicKey,
          contextOfHanded(worker, attempt, as),
        );
        return { name: as, ...sealed };
      }),
    );
    this.#registry.enter({ type: "secret_handed", project, names });
    return { items };
  }

  /**
   * The value of a secret that a pool's provider gets (secrets.md#providers). Throws `unknown_secret` and
   * `no_wrapping_key`.
   */
  async ofProvider(secret: Named): Promise<string> {
    const row = this.#row(secret);
    if (row.use !== "provider") throw unknownSecret(secret.name, "provider");
    const bytes = await this.#vault.decrypt(row, this.#keyOf(row));
    this.#registry.enter({ type: "secret_handed", project: secret.project, names: [secret.name] });
    return new TextDecoder().decode(bytes);
  }

  /** The data key of a project. Its first secret makes it. */
  async #dataKey(project: string): Promise<DataKeyRow> {
    const id = this.#vault.dataKeyOf(project);
    const known = this.#registry.enter().dataKeys.get(id);
    if (known !== undefined) return known;
    const made = await this.#vault.makeDataKey(id);
    // If another call has made one meanwhile, the event changes nothing.
    const row = this.#registry.enter(made).dataKeys.get(id);
    if (row === undefined) throw new Error("the data key that was just stored is missing");
    return row;
  }

  #keyOf({ sealed }: SecretRow): DataKeyRow {
    const row = this.#registry.enter().dataKeys.get(sealed.key);
    if (row !== undefined) return row;
    throw new Error(`the data key ${sealed.key} is missing`);
  }

  #row(secret: Named): SecretRow {
    const row = this.#registry.enter().secrets.get(keyOf(secret));
    if (row !== undefined) return row;
    throw unknownSecret(secret.name);
  }
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

function unknownSecret(name: string, use?: SecretPurpose): DroverError {
  const whose = use === undefined ? "" : ` for ${usersOf(use)}`;
  const advice = "`drover secrets list` shows all";
  return new DroverError("unknown_secret", `there is no secret "${name}"${whose}; ${advice}`);
}

function refuseTooLarge(sizes: readonly number[]): void {
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= MAX_TASK_SECRET_BYTES) return;
  const [has, limit] = [formatSize(bytes), formatSize(MAX_TASK_SECRET_BYTES)];
  throw new DroverError(
    "secrets_too_large",
    `the secrets of this task have ${has} together; the limit is ${limit}`,
  );
}

/** A command that reads a value drops its final line ends, and these are what output is searched for. */
function warningsOf(value: Uint8Array): string[] {
  const ended = value.findLastIndex((byte) => byte !== LINE_FEED && byte !== CARRIAGE_RETURN) + 1;
  if (ended >= SHORTEST_MASKED_BYTES) return [];
  const limit = `it has less than ${SHORTEST_MASKED_BYTES} bytes`;
  return [`this value is too short to be masked in output: ${limit}, and would mask ordinary words`];
}
