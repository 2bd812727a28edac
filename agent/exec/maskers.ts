// What masks the output of each attempt on this machine?
import { MASKS_ALL, type Masker, maskerOf } from "../core/redaction/mask.ts";
import { maskedText } from "../core/redaction/texts.ts";

/**
 * The secret values that the agent knows of an attempt. Most attempts have none. `lost`: the attempt has
 * secrets that the agent does not know any more (redaction.md#secrets).
 */
export type SecretsOf = (attemptId: string) => readonly Uint8Array[] | "lost";

/**
 * The maskers of attempts with secrets. A masker is kept until its attempt is forgotten or its secrets
 * change.
 */
export class Maskers {
  readonly #secretsOf: SecretsOf;
  readonly #built = new Map<string, { secrets: readonly Uint8Array[]; masker: Masker | undefined }>();

  constructor(secretsOf: SecretsOf) {
    this.#secretsOf = secretsOf;
  }

  /** The masker of an attempt with all values that are known now; undefined if nothing is to be masked. */
  of(id: string): Masker | undefined {
    const secrets = this.#secretsOf(id);
    if (secrets === "lost") return MASKS_ALL;
    if (secrets.length === 0) return undefined;
    const built = this.#built.get(id);
    if (built !== undefined && areSame(built.secrets, secrets)) return built.masker;
    const masker = maskerOf(secrets);
    this.#built.set(id, { secrets: [...secrets], masker });
    return masker;
  }

  /** A text about an attempt, with the attempt's secrets masked (redaction.md#texts). */
  maskText(id: string, text: string): string {
    const masker = this.of(id);
    return masker === undefined ? text : maskedText(masker, text);
  }

  /** Drops the masker and the secrets of an attempt that is deleted. */
  forget(id: string): void {
    this.#built.delete(id);
  }
}

function areSame(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return some.length === others.length && some.every((one, index) => isSame(one, others[index]));
}

function isSame(one: Uint8Array, other: Uint8Array | undefined): boolean {
  return one === other || (other !== undefined && Buffer.compare(one, other) === 0);
}
