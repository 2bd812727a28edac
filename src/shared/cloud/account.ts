// At which account does a provider make machines, and where are the credentials for it?
import type { ProviderKind } from "./kinds.ts";

/** A provider, as far as it says which account it uses. */
export type AccountOf =
  | { kind: "http"; url: string }
  | { kind: "none" }
  | { kind: "hetzner"; endpoint?: string | undefined }
  | { kind: "ec2"; region: string; endpoint?: string | undefined }
  | { kind: "fly"; app: string; endpoint?: string | undefined }
  | { kind: "gce"; project: string; endpoint?: string | undefined };

/**
 * Names the place of a provider's machines for people. Two providers with different names have no machine in
 * common. The credentials may decide further (clouds.md#accounts).
 */
export function accountName(provider: AccountOf): string {
  if (provider.kind === "http") return provider.url;
  if (provider.kind === "none") return "no provider";
  const at = provider.endpoint === undefined ? "" : ` at ${provider.endpoint}`;
  if (provider.kind === "hetzner") return `Hetzner Cloud${at}`;
  if (provider.kind === "fly") return `the app ${provider.app} of Fly${at}`;
  if (provider.kind === "gce") return `the project ${provider.project} of Google${at}`;
  return `Amazon EC2 in ${provider.region}${at}`;
}

/** A provider, as far as it says where its credentials are: `secret` for `http`, `credentials` for clouds. */
type HolderOf<Secret, Credentials> =
  | { kind: "http"; secret?: Secret }
  | { kind: "none" }
  | { kind: Exclude<ProviderKind, "http" | "none">; credentials: Credentials };

/** Where the credentials of a provider are, and the field that says so. Undefined: it has none. */
export function credentialsOf<Secret, Credentials>(
  provider: HolderOf<Secret, Credentials>,
): { pointer: string; value: Secret | Credentials } | undefined {
  if (provider.kind === "none") return undefined;
  if (provider.kind !== "http") return { pointer: "/provider/credentials", value: provider.credentials };
  const { secret } = provider;
  return secret === undefined ? undefined : { pointer: "/provider/secret", value: secret };
}
