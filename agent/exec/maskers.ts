// What masks the output of each attempt on this machine?
import { runOf } from "../core/attempts/placements.ts";
import { MASKS_ALL, type Masker, maskerOf } from "../core/redaction/mask.ts";
import { maskedText } from "../core/redaction/texts.ts";

/**
 * The secret values that the agent knows of a run's attempts. Most runs have none. `lost`: one of them has
 * secrets that the agent does not know any more (redaction.md#secrets).
 */
export type SecretsOf = (run: string) => readonly Uint8Array[] | "lost";

/**
 * The maskers of runs with secrets: all attempts of a run share one, since a task may print what another task
 * has written for it. A masker is kept until its run is over here or its secrets change.
 */
export class Maskers {
  readonly #secretsOf: SecretsOf;
  readonly #built = new Map<string, { secrets: readonly Uint8Array[]; masker: Masker | undefined }>();

  constructor(secretsOf: SecretsOf) {
    this.#secretsOf = secretsOf;
  }

  /**
   * The masker of an attempt or of a placement, with all values that are known now; undefined if nothing is
   * to be masked.
   */
  of(id: string): Masker | undefined {
    const run = runOf(id);
    const secrets = this.#secretsOf(run);
    if (secrets === "lost") return MASKS_ALL;
    if (secrets.length === 0) return undefined;
    const built = this.#built.get(run);
    if (built !== undefined && areSame(built.secrets, secrets)) return built.masker;
    const masker = maskerOf(secrets);
    this.#built.set(run, { secrets: [...secrets], masker });
    return masker;
  }

  /** A text about an attempt or a placement, with the secrets of its run masked (redaction.md#texts). */
  maskText(id: string, text: string): string {
    const masker = this.of(id);
    return masker === undefined ? text : maskedText(masker, text);
  }

  /** Drops the maskers of all runs but these. */
  keepRuns(runs: ReadonlySet<string>): void {
    for (const run of this.#built.keys()) if (!runs.has(run)) this.#built.delete(run);
  }
}

function areSame(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return some.length === others.length && some.every((one, index) => isSame(one, others[index]));
}

function isSame(one: Uint8Array, other: Uint8Array | undefined): boolean {
  return one === other || (other !== undefined && Buffer.compare(one, other) === 0);
}
