// Which wrapping key has sealed what, and what is owed to the newest one (secrets.md#rotation)?
import type { Envelope, Instant } from "../../../shared/machine.ts";
import type { ReadonlyRows, Rows } from "../../rows.ts";
import type { DataKeyRow } from "../secrets.ts";
import type { WebhookRow } from "../webhooks.ts";
import type { SigningKeyRow } from "./signing-keys.ts";

/** What a wrapping key seals directly. Everything else is sealed by data keys. */
export type SealedKind = "webhook" | "signing_key";

/** One sealed text: a secret of the endpoint, or the private half of the signing key, with this id. */
export interface SealedText {
  of: SealedKind;
  id: string;
  sealed: string;
}

/** A data key that must be wrapped by a newer wrapping key. The object does this, since it has the keys. */
export interface Rewrap extends Envelope {
  object: "vault";
  kind: "rewrap";
  body: { key: DataKeyRow; kek: number };
}

/** A text that must be sealed by a newer wrapping key. */
export interface Reseal extends Envelope {
  object: "vault";
  kind: "reseal";
  body: SealedText;
}

/** The text is sealed by the newest wrapping key. `sealed`: the text before. */
export type ResealedEvent = { type: "resealed"; resealed: string } & SealedText;

/** A wrapping key, as an operator sees it (secrets.md#rotation). */
export interface WrappingKey {
  number: number;
  /** `missing`: something needs it, and the Worker does not have it. `unused`: it can be deleted. */
  state: "in_use" | "unused" | "missing";
}

/** The parts of the registry's state that wrapping keys have sealed. */
export interface ReadonlySealed {
  dataKeys: ReadonlyRows<DataKeyRow>;
  keys: ReadonlyRows<SigningKeyRow>;
  webhooks: ReadonlyRows<WebhookRow>;
  /** The numbers of the configured wrapping keys, ascending. */
  keks: readonly number[];
}

/**
 * The data keys that are owed to the newest wrapping key. A data key whose own wrapping key is not configured
 * cannot be unwrapped, so it is not owed: the state of the wrapping keys shows it.
 */
export function rewrapsOwed(state: ReadonlySealed): Rewrap[] {
  const kek = state.keks.at(-1);
  if (kek === undefined) return [];
  return [...state.dataKeys.live()]
    .filter((key) => isOutdated(state, key.kek))
    .map((key) => ({
      object: "vault",
      to: key.id,
      kind: "rewrap",
      repeatedBy: "self",
      body: { key, kek },
    }));
}

/** The sealed texts that are owed to the newest wrapping key, under the same rule. */
export function resealsOwed(state: ReadonlySealed, now: Instant): Reseal[] {
  if (state.keks.length < 2) return [];
  return sealedTexts(state, now)
    .filter(({ sealed }) => isOutdated(state, keyOfSealed(sealed).number))
    .map((body) => ({
      object: "vault",
      to: body.id,
      about: keyOfSealed(body.sealed).iv,
      kind: "reseal",
      repeatedBy: "self",
      body,
    }));
}

/** Stores a text that is sealed anew. If the stored text is another one by now, nothing changes. */
export function foldResealed(
  { keys, webhooks }: { keys: Rows<SigningKeyRow>; webhooks: Rows<WebhookRow> },
  { of, id, sealed, resealed }: ResealedEvent,
  now: Instant,
): void {
  if (of === "signing_key") {
    const row = keys.get(id);
    if (row === undefined || textOfSealed(row) !== sealed) return;
    keys.set(id, { ...row, sealed: JSON.parse(resealed) }, now);
    return;
  }
  const row = webhooks.get(id);
  if (row === undefined || row.secrets.every((secret) => secret.sealed !== sealed)) return;
  const secrets = row.secrets.map((one) => (one.sealed === sealed ? { ...one, sealed: resealed } : one));
  webhooks.set(id, { ...row, secrets, revision: row.revision + 1, at: now }, now);
}

/**
 * The wrapping keys that are configured, or that something needs, by number. An endpoint that has not
 * confirmed its settings may still have a text that any of the keys has sealed.
 */
export function wrappingKeys(state: ReadonlySealed, now: Instant): WrappingKey[] {
  const { dataKeys, webhooks, keks } = state;
  const isSettled = [...webhooks.live()].every(({ accepted, revision }) => accepted >= revision);
  const needed = new Set([
    ...[...dataKeys.live()].map(({ kek }) => kek),
    ...sealedTexts(state, now).map(({ sealed }) => keyOfSealed(sealed).number),
    // What is new is sealed by the newest one.
    ...(isSettled ? keks.slice(-1) : keks),
  ]);
  return [...new Set([...keks, ...needed])]
    .sort((a, b) => a - b)
    .map((number) => {
      if (!keks.includes(number)) return { number, state: "missing" };
      return { number, state: needed.has(number) ? "in_use" : "unused" };
    });
}

function sealedTexts({ keys, webhooks }: ReadonlySealed, now: Instant): SealedText[] {
  const ofKeys = [...keys.live()].map(
    (row): SealedText => ({ of: "signing_key", id: row.kid, sealed: textOfSealed(row) }),
  );
  const ofWebhooks = [...webhooks.live()].flatMap(({ id, secrets }) =>
    secrets
      .filter(({ until }) => until === null || until > now)
      .map(({ sealed }): SealedText => ({ of: "webhook", id, sealed })),
  );
  return [...ofKeys, ...ofWebhooks];
}

function textOfSealed({ sealed }: SigningKeyRow): string {
  return JSON.stringify(sealed);
}

function isOutdated({ keks }: ReadonlySealed, number: number): boolean {
  return number !== keks.at(-1) && keks.includes(number);
}

/** The number of the wrapping key that has sealed a text, and the text's own IV, which no other text has. */
function keyOfSealed(sealed: string): { number: number; iv: string } {
  const { by, iv } = JSON.parse(sealed);
  return { number: Number(by.replace(/^DROVER_KEK_/, "")), iv };
}
