import type { PoolConfig, PutPoolConfig } from "../../schema/pool.ts";

/**
 * A configuration that was put, with the secret of its provider: its own, or, if it has none, the one that
 * the pool has already. That goes to no other address than before. Undefined: there is none.
 */
export function withSecret(config: PutPoolConfig, known: PoolConfig | undefined): PoolConfig | undefined {
  const { provider } = config;
  const stored = known?.provider.url === provider.url ? known.provider.secret : undefined;
  const secret = provider.secret ?? stored;
  return secret === undefined ? undefined : { ...config, provider: { ...provider, secret } };
}
