// With which key does Drover sign the tokens of its runs, and which keys does it publish (oidc.md#rotation)?
import { earliest, type Instant, type Millis } from "../../../shared/machine.ts";
import type { ReadonlyRows, Rows } from "../../rows.ts";

/** How long a key signs. */
export const KEY_SIGNS_MS: Millis = 30 * 24 * 3_600_000;
/** How long a key is published before it signs: those who verify may remember the keys for hours. */
export const KEY_LEAD_MS: Millis = 24 * 3_600_000;
/** How long a key is published after its last signature: longer than any token of a run is valid. */
export const KEY_KEPT_MS: Millis = 2 * 3_600_000;

/** A key pair of Drover. */
export interface SigningKeyRow {
  /** Its name in tokens and key sets. */
  kid: string;
  /** The public key of RS256: modulus and exponent, in base64url. */
  n: string;
  e: string;
  /** The private key (PKCS #8), sealed with a key of the Worker (`signing/envelope.ts`). */
  sealed: { by: string; iv: string; text: string };
  createdAt: Instant;
  /** Until a later key signs, this one does. */
  signsFrom: Instant;
}

/** A key pair that was just made. When it signs is decided when it is stored. */
export type NewSigningKey = Omit<SigningKeyRow, "createdAt" | "signsFrom">;

export type KeyEvent =
  | { type: "key_made"; key: NewSigningKey; replaces: string | null }
  | { type: "keys_replaced"; key: NewSigningKey; by: string };

/** Every key is in memory: a key that is no longer published is deleted. */
export function isLiveKey(): boolean {
  return true;
}

/** The keys, the one that signs last first. */
function byTime(keys: ReadonlyRows<SigningKeyRow>): SigningKeyRow[] {
  return [...keys.live()].sort((one, other) => other.signsFrom - one.signsFrom);
}

/** The names of all keys, that of the one that signs last first. */
export function kidsOf(keys: ReadonlyRows<SigningKeyRow>): string[] {
  return byTime(keys).map(({ kid }) => kid);
}

/** The latest key, if it must be followed by another one now (oidc.md#rotation); "none": there is no key. */
export function keyOwed(keys: ReadonlyRows<SigningKeyRow>, now: Instant): string | "none" | undefined {
  const [latest] = byTime(keys);
  if (latest === undefined) return "none";
  return latest.signsFrom + KEY_SIGNS_MS - KEY_LEAD_MS <= now ? latest.kid : undefined;
}

/**
 * Stores a new key. `replaces`: the latest key when it was made; if there is a later one by now, two requests
 * have made keys at the same time, and this one is dropped. A key that replaces all others at once signs from
 * now on, and the others are deleted (oidc.md#replacement).
 */
export function foldKey(keys: Rows<SigningKeyRow>, event: KeyEvent, now: Instant): void {
  const { key } = event;
  if (event.type === "keys_replaced") {
    for (const kid of kidsOf(keys)) keys.delete(kid);
    keys.set(key.kid, { ...key, createdAt: now, signsFrom: now }, now);
    return;
  }
  const [latest] = byTime(keys);
  if ((latest?.kid ?? null) !== event.replaces) return;
  const signsFrom = latest === undefined ? now : Math.max(latest.signsFrom + KEY_SIGNS_MS, now + KEY_LEAD_MS);
  keys.set(key.kid, { ...key, createdAt: now, signsFrom }, now);
}

/** Deletes the keys whose tokens have all ended (oidc.md#rotation). */
export function foldKeyTime(keys: Rows<SigningKeyRow>, now: Instant): void {
  for (const [kid, until] of ends(keys)) if (until <= now) keys.delete(kid);
}

/** When the next key is deleted. */
export function keyDeletedAt(keys: ReadonlyRows<SigningKeyRow>): Instant | undefined {
  return earliest(...ends(keys).map(([, until]) => until));
}

/** The keys that a later one follows, and until when each is published. */
function ends(keys: ReadonlyRows<SigningKeyRow>): [string, Instant][] {
  return byTime(keys).flatMap(({ kid }, index, all) => {
    const next = all[index - 1];
    return next === undefined ? [] : [[kid, next.signsFrom + KEY_KEPT_MS]];
  });
}

/** What the edge must know of the keys: which one signs now and until when, and which are published. */
export interface SigningKeys {
  signer: Pick<SigningKeyRow, "kid" | "sealed">;
  published: Pick<SigningKeyRow, "kid" | "n" | "e">[];
}

/** The keys as the edge needs them; null: there is none yet. */
export function signingKeysAt(keys: ReadonlyRows<SigningKeyRow>, now: Instant): SigningKeys | null {
  const all = byTime(keys);
  const signer = all.find(({ signsFrom }) => signsFrom <= now);
  if (signer === undefined) return null;
  return {
    signer: { kid: signer.kid, sealed: signer.sealed },
    published: all.map(({ kid, n, e }) => ({ kid, n, e })),
  };
}
