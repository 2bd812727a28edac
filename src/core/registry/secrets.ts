// Which secrets exist, and in which sealed form are they stored (secrets.md#stored)?
import type { Secret } from "../../schema/access/secret.ts";
import { type SecretPurpose, usersOf } from "../../shared/access/secret-use.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_SECRETS, MAX_SECRETS_BYTES } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { formatSize } from "../../shared/size.ts";
import { iso } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import { isFull, keyOf, type Named, partOf, tooManyOf } from "./projects.ts";

/**
 * The data key that encrypts the values of a project that are set while this wrapping key is the newest one.
 * So no older wrapping key has ever wrapped it (secrets.md#rotation).
 */
export function dataKeyOf(project: string, kek: number): string {
  return keyOf({ project, name: String(kek) });
}

/** What AES-256-GCM made, in base64. */
export interface Ciphertext {
  iv: string;
  ct: string;
}

/** A data key, wrapped by the wrapping key with the number `kek`. */
export interface DataKeyRow extends Ciphertext {
  id: string;
  kek: number;
  createdAt: Instant;
  /** When another wrapping key has wrapped it again; null: never. */
  rewrappedAt: Instant | null;
}

/** A stored secret. Its value is sealed with the data key, and bound to name and version. */
export interface SecretRow {
  name: string;
  project: string;
  /** Who can name it. It stays for as long as the secret exists (secrets.md#uses). */
  use: SecretPurpose;
  /** Counts the values that were set, from 1. */
  version: number;
  /** The length of the value, which decides what a task can have (secrets.md#limits). */
  bytes: number;
  sealed: Ciphertext & { key: string };
  createdAt: Instant;
  createdBy: string;
  changedAt: Instant;
  changedBy: string;
  /** The day on which the latest host was given it, as `YYYY-MM-DD`: one written row a day at most. */
  handedOn: string | null;
}

export type SecretEvent =
  | {
      type: "secret_set";
      secret: Named;
      use: SecretPurpose;
      /** The version for which the value was sealed. The event changes nothing if it is not the next one. */
      version: number;
      bytes: number;
      sealed: SecretRow["sealed"];
      by: string;
    }
  | { type: "secret_removed"; secret: Named; by: string }
  /** The values are on their way to a host, whose worker notes that in the audit log (secrets.md#handed). */
  | { type: "secret_handed"; project: string; names: string[] }
  | { type: "data_key_made"; id: string; kek: number; wrapped: Ciphertext }
  /** `from`: the number of the wrapping key that had wrapped it. */
  | { type: "data_key_rewrapped"; id: string; from: number; kek: number; wrapped: Ciphertext };

/** The part of the registry's state that is about secrets. */
export interface SecretsState {
  secrets: Rows<SecretRow>;
  dataKeys: Rows<DataKeyRow>;
  /** The numbers of the configured wrapping keys, ascending. A memo: they are bindings of the Worker. */
  keks: readonly number[];
}

/** The state of secrets as readers see it. */
export interface ReadonlySecrets {
  secrets: ReadonlyRows<SecretRow>;
  dataKeys: ReadonlyRows<DataKeyRow>;
  keks: readonly number[];
}

/** Every row is needed at any time. */
export function isLiveRow(): boolean {
  return true;
}

/** Applies an event of secrets or of their data key (secrets.md#stored). */
export function foldSecret(
  { secrets, dataKeys, keks }: SecretsState,
  event: SecretEvent,
  now: Instant,
): void {
  switch (event.type) {
    case "secret_set": {
      const { secret, use, version, bytes, sealed, by } = event;
      const { project, name } = secret;
      const before = secrets.get(keyOf(secret));
      if (version !== nextVersion({ secrets }, secret)) return;
      const made = { createdAt: before?.createdAt ?? now, createdBy: before?.createdBy ?? by };
      const changed = { changedAt: now, changedBy: by, handedOn: before?.handedOn ?? null };
      const row = { name, project, use, version, bytes, sealed, ...made, ...changed };
      secrets.set(keyOf(secret), row, now);
      dropDataKeys({ secrets, dataKeys, keks });
      return;
    }
    case "secret_removed":
      if (secrets.get(keyOf(event.secret)) !== undefined) secrets.delete(keyOf(event.secret));
      dropDataKeys({ secrets, dataKeys, keks });
      return;
    case "secret_handed": {
      const handedOn = iso(now).slice(0, "YYYY-MM-DD".length);
      for (const name of event.names) {
        const key = keyOf({ project: event.project, name });
        const row = secrets.get(key);
        if (row !== undefined && row.handedOn !== handedOn) secrets.set(key, { ...row, handedOn }, now);
      }
      return;
    }
    case "data_key_made": {
      const { id, kek, wrapped } = event;
      if (dataKeys.get(id) !== undefined) return;
      dataKeys.set(id, { id, kek, ...wrapped, createdAt: now, rewrappedAt: null }, now);
      return;
    }
    case "data_key_rewrapped": {
      const { id, from, kek, wrapped } = event;
      const row = dataKeys.get(id);
      if (row === undefined || row.kek !== from) return;
      dataKeys.set(id, { ...row, kek, ...wrapped, rewrappedAt: now }, now);
    }
  }
}

/** Deletes the data keys that no value needs any more, except those for new values. */
function dropDataKeys({ secrets, dataKeys, keks }: SecretsState): void {
  const needed = new Set([...secrets.live()].map(({ sealed }) => sealed.key));
  for (const { id } of [...dataKeys.live()]) {
    const isForNew = id.split("/").at(-1) === String(keks.at(-1));
    if (!needed.has(id) && !isForNew) dataKeys.delete(id);
  }
}

/** The version of the next value of a secret. */
export function nextVersion({ secrets }: Pick<ReadonlySecrets, "secrets">, secret: Named): number {
  return (secrets.get(keyOf(secret))?.version ?? 0) + 1;
}

/** How a secret is to be set. `use` undefined: as before, or for runs. */
export interface WantedSecret {
  secret: Named;
  use: SecretPurpose | undefined;
  bytes: number;
}

/** The use of a secret that is set (secrets.md#uses). */
export function useOf(
  { secrets }: Pick<ReadonlySecrets, "secrets">,
  { secret, use }: WantedSecret,
): SecretPurpose {
  return use ?? secrets.get(keyOf(secret))?.use ?? "run";
}

/** Why a secret cannot be set so; null: it can (secrets.md#uses, secrets.md#limits). */
export function refusalOfSecret(
  { secrets }: Pick<ReadonlySecrets, "secrets">,
  { secret, use, bytes }: WantedSecret,
): DroverError | null {
  const { project, name } = secret;
  const present = secrets.get(keyOf(secret));
  if (present !== undefined && use !== undefined && use !== present.use) {
    const text = `the secret "${name}" is for ${usersOf(present.use)}`;
    return new DroverError("secret_exists", `${text}; choose another name, or remove it first`);
  }
  const others = [...secrets.live()].filter((row) => keyOf(row) !== keyOf(secret));
  const advice = "remove those that are not used any more";
  if (present === undefined && isFull(others, MAX_SECRETS, project))
    return tooManyOf(["secrets", advice], MAX_SECRETS, project);
  const bounds = [
    { whose: "all secrets", rows: others, most: MAX_SECRETS_BYTES },
    {
      whose: `the secrets of project "${project}"`,
      rows: others.filter((row) => row.project === project),
      most: partOf(MAX_SECRETS_BYTES, project),
    },
  ];
  const full = bounds.find(({ rows, most }) => rows.reduce((sum, row) => sum + row.bytes, bytes) > most);
  if (full === undefined) return null;
  const limit = formatSize(full.most);
  return new DroverError("busy", `${full.whose} would have more than ${limit} together; ${advice}`);
}

/** The names among these for which the project has no secret of this use (secrets.md#uses). */
export function missingSecrets(
  { secrets }: Pick<ReadonlySecrets, "secrets">,
  { project, use }: { project: string; use: SecretPurpose },
  names: readonly string[],
): string[] {
  return names.filter((name) => secrets.get(keyOf({ project, name }))?.use !== use);
}

/** A secret as its owner sees it: everything but the value (secrets.md#api). */
export function secretView(row: SecretRow): Secret {
  const { name, project, use, version, createdAt, createdBy, changedAt, changedBy, handedOn } = row;
  return {
    name,
    project,
    use,
    version,
    createdAt: iso(createdAt),
    createdBy,
    changedAt: iso(changedAt),
    changedBy,
    lastHandedOn: handedOn,
  };
}

/** The secrets of a project (null: of all), by name. */
export function secretViews({ secrets }: ReadonlySecrets, project: string | null): Secret[] {
  const rows = [...secrets.live()].filter((row) => project === null || row.project === project);
  return rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).map(secretView);
}

/** What a sealed value is bound to, so that no row can stand in for another one (secrets.md#envelope). */
export function contextOfValue(secret: Named, version: number): string {
  return `drover-secret\n${keyOf(secret)}\n${version}`;
}

/** What a wrapped data key is bound to. */
export function contextOfDataKey(id: string): string {
  return `drover-data-key\n${id}`;
}
