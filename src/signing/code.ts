import { type Key, keyOf, keyOfText, mac } from "./mac.ts";

/** `drvc_<worker>.<expires at, seconds>.<HMAC, base64url>`: what lets a machine join as a worker. */
const CODE = /^drvc_((?:[a-z0-9][a-z0-9-]{0,62})\.\d{1,12})\.([A-Za-z0-9_-]{43})$/;
const CLAIM = /^([a-z0-9][a-z0-9-]{0,62})\.(\d{1,12})$/;

/** What a code says in the clear, and the key that it carries. */
export interface Code {
  /** `<worker>.<expires at, seconds>`: what its host calls itself until it has enrolled. */
  claim: string;
  key: Key;
}

/** A code with which the machine of one worker can enroll, until `expiresAt` (milliseconds). */
export function enrollmentCode(worker: string, expiresAt: number, signingKey: string): string {
  const claim = `${worker}.${Math.ceil(expiresAt / 1_000)}`;
  return `drvc_${claim}.${base64Url(codeMac(claim, signingKey))}`;
}

/** Reads a code; undefined if it is none. Only its control plane can tell whether it is a true one. */
export function readCode(code: string): Code | undefined {
  const [, claim, text] = CODE.exec(code) ?? [];
  if (claim === undefined || text === undefined) return undefined;
  return { claim, key: keyOf(`${text.replaceAll("-", "+").replaceAll("_", "/")}=`) };
}

/** The key that the true code of a claim carries. */
export function codeKey(claim: string, signingKey: string): Key {
  return keyOf(codeMac(claim, signingKey));
}

/** The worker that a claim names, and until when it holds (milliseconds); undefined if it is no claim. */
export function readClaim(claim: string): { worker: string; expiresAt: number } | undefined {
  const [, worker, expires] = CLAIM.exec(claim) ?? [];
  return worker === undefined ? undefined : { worker, expiresAt: Number(expires) * 1_000 };
}

/**
 * The secret of a host, in base64: of the key that its code carries and of a salt that the host has made.
 * Both
 * sides compute it, and neither it nor the code ever travels.
 */
export function hostSecret(code: Key, salt: string): string {
  return mac(code, "drover-host-secret\n", salt);
}

function codeMac(claim: string, signingKey: string): string {
  return mac(keyOfText(signingKey), "drvc_", claim);
}

function base64Url(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
