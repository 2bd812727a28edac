import { DroverError } from "../core/errors.ts";
import { SIGNATURE_TOLERANCE_MS } from "../core/limits.ts";
import type { Signature, SignedCall } from "./rpc.ts";

const encoder = new TextEncoder();

/** What precedes the base64 of a webhook secret (Standard Webhooks 1.0). */
const SECRET_PREFIX = "whsec_";

/**
 * Verifies a signed call of a host (Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`, five minutes
 * of tolerance, any of several signatures). `secret`: null if no host has enrolled. Throws `bad_signature`.
 */
export async function verifyCall(call: SignedCall, secret: string | null, nowMs: number): Promise<void> {
  const signed = encoder.encode(`${call.id}.${call.timestamp}.${call.body}`);
  await verifySigned(call, signed, await hostKey(secret), nowMs);
}

/** What comes before the body in the bytes that are signed. */
export function signedPrefix({ id, timestamp }: Signature): Uint8Array {
  return encoder.encode(`${id}.${timestamp}.`);
}

/** The key that verifies what a host signs. Throws `bad_signature` if no host has enrolled. */
export function hostKey(secret: string | null): Promise<CryptoKey> {
  if (secret === null) throw new DroverError("bad_signature", "no host has enrolled for this worker");
  return hmacKey(Uint8Array.from(atob(secret.slice(SECRET_PREFIX.length)), (char) => char.charCodeAt(0)));
}

/** The same as `verifyCall` for bytes that begin with `signedPrefix`. */
export async function verifySigned(
  call: Signature,
  signed: Uint8Array,
  key: CryptoKey,
  nowMs: number,
): Promise<void> {
  const sentMs = Number(call.timestamp) * 1_000;
  if (!/^\d{1,12}$/.test(call.timestamp) || Math.abs(nowMs - sentMs) > SIGNATURE_TOLERANCE_MS) {
    const text =
      "the webhook-timestamp is more than 5 minutes off; correct the clock by this answer's Date header";
    throw new DroverError("bad_signature", text);
  }
  for (const one of call.signature.split(" ")) {
    const [version, text = ""] = one.split(",", 2);
    const signature = fromBase64(text);
    if (
      version === "v1" &&
      signature !== null &&
      (await crypto.subtle.verify("HMAC", key, signature, signed))
    )
      return;
  }
  throw new DroverError("bad_signature", "the webhook-signature does not verify with this worker's secret");
}

/** What every enrollment code begins with. */
const CODE_PREFIX = "drvc_";

/** A code with which the machine of one worker can enroll, until `expiresAt` (milliseconds). */
export async function enrollmentCode(worker: string, expiresAt: number, signingKey: string): Promise<string> {
  const claim = `${CODE_PREFIX}${worker}.${Math.ceil(expiresAt / 1_000)}`;
  const key = await hmacKey(encoder.encode(signingKey));
  const mac = await crypto.subtle.sign("HMAC", key, encoder.encode(claim));
  return `${claim}.${toBase64Url(new Uint8Array(mac))}`;
}

/**
 * Verifies a code for this worker. Throws `bad_signature` for a forged one, `enrollment_over` for an old one.
 */
export async function verifyCode(
  code: string,
  worker: string,
  signingKey: string,
  nowMs: number,
): Promise<void> {
  const claim = code.slice(0, code.lastIndexOf("."));
  const expires = Number(claim.slice(claim.lastIndexOf(".") + 1));
  const mac = fromBase64(
    code
      .slice(claim.length + 1)
      .replaceAll("-", "+")
      .replaceAll("_", "/"),
  );
  const key = await hmacKey(encoder.encode(signingKey));
  const ours = claim === `${CODE_PREFIX}${worker}.${expires}`;
  if (!ours || mac === null || !(await crypto.subtle.verify("HMAC", key, mac, encoder.encode(claim)))) {
    throw new DroverError("bad_signature", "this enrollment code is not known here");
  }
  if (nowMs > expires * 1_000) {
    throw new DroverError("enrollment_over", "this enrollment code has expired; boot the machine anew");
  }
}

function hmacKey(bytes: Uint8Array): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function fromBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
