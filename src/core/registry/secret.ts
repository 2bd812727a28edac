// Which credentials does a new configuration of a pool get?

import type { Binding, StoredSecret } from "../../schema/pool/providers/credentials.ts";
import type { PoolConfig, PutPoolConfig } from "../../schema/pool.ts";
import { howToSet } from "../../shared/access/secret-use.ts";
import { credentialsOf } from "../../shared/cloud/account.ts";
import { DroverError } from "../../shared/errors.ts";
import { isOtherProvider } from "../pool/config-diff.ts";
import { missingSecrets, type ReadonlySecrets } from "./secrets.ts";

/**
 * The configuration with its own credentials, or else with the pool's present secret, if the provider makes
 * machines at the same place. Undefined: there is no secret. `project`: whose secret a name in it means
 * (secrets.md#providers).
 */
export function withSecret(
  config: PutPoolConfig,
  known: PoolConfig | undefined,
  project: string,
): PoolConfig | undefined {
  const { provider } = config;
  const isSame = known !== undefined && !isOtherProvider(known.provider, provider);
  const present = isSame ? credentialsOf(known.provider)?.value : undefined;
  if (provider.kind === "none") return { ...config, provider };
  if (provider.kind !== "http") {
    const { credentials } = provider;
    const stored = "secret" in credentials ? storedName(credentials, present, project) : credentials;
    return { ...config, provider: { ...provider, credentials: stored } };
  }
  const { secret } = provider;
  const stored = typeof secret === "object" ? storedName(secret, present, project) : (secret ?? present);
  if (stored === undefined || (typeof stored === "object" && "binding" in stored)) return undefined;
  return { ...config, provider: { ...provider, secret: stored } };
}

/**
 * A name that the same provider has already stays as it is, whoever repeats it: it may be of another project.
 * At another place it is the caller's own, so that nobody sends a secret of another project elsewhere.
 */
function storedName(
  { secret }: { secret: string },
  present: string | Binding | StoredSecret | undefined,
  project: string,
): StoredSecret {
  const isPresent = typeof present === "object" && "secret" in present && present.secret === secret;
  return isPresent ? present : { secret, project };
}

/**
 * Why a configuration cannot name its secret; null: it can. A secret that the PUT does not name is not
 * judged: it may have been removed, and the pool can be changed all the same.
 */
export function refusalOfSecretName(
  state: Pick<ReadonlySecrets, "secrets">,
  { provider }: PoolConfig,
  sent: PutPoolConfig,
): DroverError | null {
  const found = credentialsOf(provider);
  if (found === undefined || credentialsOf(sent.provider) === undefined) return null;
  const { pointer, value } = found;
  if (typeof value === "string" || !("secret" in value)) return null;
  const wanted = { project: value.project, use: "provider" } as const;
  if (missingSecrets(state, wanted, [value.secret]).length === 0) return null;
  const how = howToSet(value.secret, "provider");
  const detail = `names the secret "${value.secret}", and no secret for providers has this name: ${how}`;
  return new DroverError("unknown_secret", `${pointer} ${detail}`, { fields: [{ pointer, detail }] });
}
