// How is an event signed that Drover sends to a receiver (webhooks.md#signature)? By Standard Webhooks 1.0.
import { type Key, keyOf, mac, textOfKey } from "./mac.ts";

const SECRET_PREFIX = "whsec_";
/** How many random bytes a secret has. */
export const WEBHOOK_SECRET_BYTES = 32;

/** A secret as people copy it. */
export function webhookSecret(random: Key): string {
  return `${SECRET_PREFIX}${textOfKey(random)}`;
}

/**
 * The headers that sign a body, with one signature for each secret. `id`: the same for all attempts. `at`:
 * the time of the attempt in milliseconds.
 */
export function webhookHeaders(
  { id, at, body }: { id: string; at: number; body: string },
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000));
  const signatures = secrets.map((secret) => {
    return `v1,${mac(keyOf(secret.slice(SECRET_PREFIX.length)), `${id}.${timestamp}.${body}`)}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}
