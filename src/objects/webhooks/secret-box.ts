// How are the secrets of webhooks stored (webhooks.md#secrets)?
import type { SealedSecret } from "../../core/webhook/messages.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { contextOfSealed } from "../../signing/contexts.ts";
import { NoWrappingKey, open, seal, wrappingKeysIn } from "../../signing/envelope.ts";
import type { Env } from "../env.ts";

/** Seals a secret of this endpoint with the newest wrapping key of this Worker. Code: `no_wrapping_key`. */
export async function sealSecret(env: Env, id: string, secret: string): Promise<string> {
  const [context, bytes] = [contextOfSealed("webhook", id), new TextEncoder().encode(secret)];
  return JSON.stringify(await explained(() => seal(wrappingKeysIn(env), context, bytes)));
}

/**
 * Opens the secrets of this endpoint that sign now, the present one first. An older one that does not open
 * is left out, so that a rotation mends an endpoint at once. `problem`: the present one does not open; why,
 * and what to do.
 */
export async function signingSecrets(
  env: object,
  id: string,
  secrets: readonly SealedSecret[],
  now: Instant,
): Promise<{ secrets: string[] } | { problem: string }> {
  const valid = secrets.filter(({ until }) => until === null || until > now);
  const [present, ...older] = await Promise.allSettled(
    valid.map(({ sealed }) => openSecret(env, id, sealed)),
  );
  if (present === undefined) return { problem: problemOf("there is none") };
  if (present.status === "rejected") return { problem: problemOf(reasonOf(present.reason)) };
  const opened = older.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  return { secrets: [present.value, ...opened] };
}

async function openSecret(env: object, id: string, sealed: string): Promise<string> {
  const bytes = await open(wrappingKeysIn(env), contextOfSealed("webhook", id), JSON.parse(sealed));
  return new TextDecoder().decode(bytes);
}

function reasonOf(error: unknown): string {
  if (error instanceof NoWrappingKey) return error.message;
  return "the wrapping key of its name is another one than that which sealed it; set the former one again";
}

function problemOf(reason: string): string {
  const so = "events cannot be signed, since the secret of the endpoint cannot be opened";
  return `${so}: ${reason}, or give the endpoint another secret (drover webhooks rotate)`;
}

async function explained<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoWrappingKey) throw new DroverError("no_wrapping_key", error.message);
    throw error;
  }
}
