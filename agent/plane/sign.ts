import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";

/** A new secret of a host: 32 random bytes (`host-protocol.md`, Joining). */
export function makeSecret(): string {
  return PREFIX + randomBytes(32).toString("base64");
}

/**
 * The headers that sign a body by Standard Webhooks 1.0. `atMs`: the sender's time, in milliseconds since
 * 1970.
 */
export function signedHeaders(
  secret: string,
  id: string,
  atMs: number,
  body: string,
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const key = Buffer.from(secret.slice(PREFIX.length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
