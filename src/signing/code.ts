// What does an enrollment code contain, and which secret do host and control plane derive from it?
import { base64Url, type Key, keyOf, keyOfText, mac } from "./mac.ts";

/** `drvc_<worker>.<expires at, seconds>.<HMAC, base64url>`: lets a machine join as a worker. */
const CODE = /^drvc_((?:[a-z0-9][a-z0-9-]{0,62})\.\d{1,12})\.([A-Za-z0-9_-]{43})$/;
const CLAIM = /^([a-z0-9][a-z0-9-]{0,62})\.(\d{1,12})$/;

/** The readable part of a code, and its secret key. */
export interface Code {
  /** `<worker>.<expires at, seconds>`: the host's key id until it has enrolled. */
  claim: string;
  key: Key;
}

/** Makes the code with which one worker's machine can enroll until `expiresAt` (milliseconds). */
export function enrollmentCode(worker: string, expiresAt: number, signingKey: string): string {
  const claim = `${worker}.${Math.ceil(expiresAt / 1_000)}`;
  return `drvc_${claim}.${base64Url(codeMac(claim, signingKey))}`;
}

/** Parses a code; undefined if malformed. Only the control plane that made the code can verify it. */
export function readCode(code: string): Code | undefined {
  const [, claim, text] = CODE.exec(code) ?? [];
  if (claim === undefined || text === undefined) return undefined;
  return { claim, key: keyOf(`${text.replaceAll("-", "+").replaceAll("_", "/")}=`) };
}

/** The key that a genuine code with this claim contains. */
export function codeKey(claim: string, signingKey: string): Key {
  return keyOf(codeMac(claim, signingKey));
}

/** The worker that a claim names and its expiry (milliseconds); undefined if malformed. */
export function readClaim(claim: string): { worker: string; expiresAt: number } | undefined {
  const [, worker, expires] = CLAIM.exec(claim) ?? [];
  return worker === undefined ? undefined : { worker, expiresAt: Number(expires) * 1_000 };
}

/**
 * The secret of a host, in base64, derived from its code's key and a salt that the host chose. Both sides
 * compute the secret; neither the secret nor the code is ever sent.
 */
export function hostSecret(code: Key, salt: string): string {
  return mac(code, "drover-host-secret\n", salt);
}

function codeMac(claim: string, signingKey: string): string {
  return mac(keyOfText(signingKey), "drvc_", claim);
}
