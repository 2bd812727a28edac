// Which secret does a new configuration of a pool get?

import type { ProviderConfig } from "../../schema/pool/provider-config.ts";
import type { PoolConfig, PutPoolConfig } from "../../schema/pool.ts";
import { howToSet } from "../../shared/access/secret-use.ts";
import { DroverError } from "../../shared/errors.ts";
import { missingSecrets, type ReadonlySecrets } from "./secrets.ts";

/**
 * The configuration with its own secret, or else with the pool's present secret, if the provider's address is
 * the same. Undefined: there is no secret. `project`: whose secret a name in it means (secrets.md#providers).
 */
export function withSecret(
  config: PutPoolConfig,
  known: PoolConfig | undefined,
  project: string,
): PoolConfig | undefined {
  const { provider } = config;
  const present = known?.provider.url === provider.url ? known.provider.secret : undefined;
  const secret = storedForm(provider.secret, present, project);
  return secret === undefined ? undefined : { ...config, provider: { ...provider, secret } };
}

type Secret = ProviderConfig["secret"];

/** A name that is there already stays as it is, whoever repeats it: it may be of another project. */
function storedForm(
  wanted: PutPoolConfig["provider"]["secret"],
  present: Secret | undefined,
  project: string,
): Secret | undefined {
  if (wanted === undefined) return present;
  if (typeof wanted === "string") return wanted;
  const isPresent = typeof present === "object" && present.secret === wanted.secret;
  return isPresent ? present : { secret: wanted.secret, project };
}

/**
 * Why a configuration cannot name its secret; null: it can. A secret that the PUT does not name is not
 * judged: it may have been removed, and the pool can be changed all the same.
 */
export function refusalOfSecretName(
  state: Pick<ReadonlySecrets, "secrets">,
  { provider: { secret } }: PoolConfig,
  sent: PutPoolConfig,
): DroverError | null {
  if (typeof secret === "string" || sent.provider.secret === undefined) return null;
  const wanted = { project: secret.project, use: "provider" } as const;
  if (missingSecrets(state, wanted, [secret.secret]).length === 0) return null;
  const pointer = "/provider/secret";
  const how = howToSet(secret.secret, "provider");
  const detail = `names the secret "${secret.secret}", and no secret for providers has this name: ${how}`;
  return new DroverError("unknown_secret", `${pointer} ${detail}`, { fields: [{ pointer, detail }] });
}
