import { createHmac, type Hmac, randomBytes } from "node:crypto";

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
  const signing = begin(secret, id, atMs);
  signing.hmac.update(body);
  return headersOf(signing);
}

/** The same for a body that comes in parts, of which one is in memory at a time. */
export async function signedStreamHeaders(
  secret: string,
  id: string,
  atMs: number,
  parts: AsyncIterable<Buffer>,
): Promise<Record<string, string>> {
  const signing = begin(secret, id, atMs);
  for await (const part of parts) signing.hmac.update(part);
  return headersOf(signing);
}

interface Signing {
  id: string;
  timestamp: string;
  hmac: Hmac;
}

function begin(secret: string, id: string, atMs: number): Signing {
  const timestamp = String(Math.floor(atMs / 1_000));
  const key = Buffer.from(secret.slice(PREFIX.length), "base64");
  return { id, timestamp, hmac: createHmac("sha256", key).update(`${id}.${timestamp}.`) };
}

function headersOf({ id, timestamp, hmac }: Signing): Record<string, string> {
  const signature = `v1,${hmac.digest("base64")}`;
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
}
