import type { HttpConfig } from "../../src/schema/pool/provider-config.ts";
import type { PoolConfig, PutPoolConfig } from "../../src/schema/pool.ts";

/** The provider of a pool that uses an HTTP service. */
export function httpOf(config: PoolConfig): HttpConfig {
  if (config.provider.kind !== "http") throw new Error(`it is of kind ${config.provider.kind}`);
  return config.provider;
}

/** What a PUT can say about an HTTP service. */
export type PutHttp = Extract<PutPoolConfig["provider"], { kind: "http" }>;

/** A machine of which only the provider's id is known. */
export function machine(id: string) {
  return { worker: "", id, zone: null };
}
