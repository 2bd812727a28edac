// Which secret does a new configuration of a pool get?
import type { PoolConfig, PutPoolConfig } from "../../schema/pool.ts";

/**
 * The configuration with its own secret, or else with the pool's present secret, if the provider's address is
 * the same. Undefined: there is no secret.
 */
export function withSecret(config: PutPoolConfig, known: PoolConfig | undefined): PoolConfig | undefined {
  const { provider } = config;
  const stored = known?.provider.url === provider.url ? known.provider.secret : undefined;
  const secret = provider.secret ?? stored;
  return secret === undefined ? undefined : { ...config, provider: { ...provider, secret } };
}
