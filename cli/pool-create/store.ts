// How are the credentials and the pool stored, so that both are there or none is?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { PoolConfig } from "../../client/types.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { CliError } from "../errors.ts";
import { type Finding, missing, ok } from "../pool-check/finding.ts";
import { printable } from "../terminal/text.ts";

/** What is stored. No secret: the pool has no provider. */
export interface Storable {
  pool: string;
  config: object;
  secret: { name: string; value: string } | undefined;
}

/** The first status of answers that do not say whether the request took effect. */
const FIRST_FAULT_STATUS = 500;

/** Refuses a pool that exists. Throws a `CliError`. */
export async function refuseExisting(client: Client, pool: string): Promise<void> {
  try {
    await client.pools.get(pool);
  } catch (error) {
    if (error instanceof ApiError && error.code === "unknown_pool") return;
    throw error;
  }
  throw new CliError(`There is a pool ${printable(pool)} already.`, [
    `Change it: drover pools edit ${quoteArgv([pool])}`,
  ]);
}

/** Whether the name of the secret is free: another value would change the credentials of other pools. */
export async function secretFinding(client: Client, secret: string): Promise<Finding> {
  const { items } = await client.secrets.list();
  const found = items.find(({ name }) => name === secret);
  if (found === undefined) return ok("secret", `the credentials become the secret ${secret}`);
  const evidence = `there is a secret ${secret} already, changed at ${found.changedAt}`;
  const todo = `Name another one with --secret, or run: drover secrets rm ${quoteArgv([secret])}`;
  return missing("secret", evidence, todo);
}

/** Stores the credentials, and then the pool. If the pool is refused, the credentials are removed again. */
export async function store(client: Client, { pool, config, secret }: Storable): Promise<void> {
  if (secret !== undefined) {
    await client.secrets.set(secret.name, { value: secret.value, use: "provider" });
  }
  try {
    // The server validates the configuration, and names each wrong field.
    await client.pools.put(pool, config as PoolConfig);
  } catch (error) {
    const isRefused = error instanceof ApiError && error.status < FIRST_FAULT_STATUS;
    if (secret !== undefined && isRefused) await client.secrets.remove(secret.name);
    throw error;
  }
}
