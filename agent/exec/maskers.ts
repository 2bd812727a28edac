// What masks the output of each attempt on this machine?
import { runOf } from "../core/attempts/placements.ts";
import { joined, MASKS_ALL, type Masker, maskerOf } from "../core/redaction/mask.ts";
import { maskedText } from "../core/redaction/texts.ts";

/**
 * The secret values that the agent knows of a run's attempts. Most runs have none. `lost`: one of them has
 * secrets that the agent does not know any more (redaction.md#secrets).
 */
export type SecretsOf = (run: string) => readonly Uint8Array[] | "lost";

/**
 * A masker is built again with more values rather than beside another one if that one has at most so many
 * bytes: this takes some milliseconds.
 */
const SOON_BUILT_BYTES = 4_096;

/** A masker of some of a run's values. */
interface Layer {
  values: readonly Uint8Array[];
  bytes: number;
  masker: Masker | undefined;
}

/** What is built for a run. `for`: the values that it was last asked for. */
interface Built {
  for: readonly Uint8Array[];
  layers: readonly Layer[];
  masker: Masker | undefined;
}

/**
 * The maskers of runs with secrets: all attempts of a run share one, since a task may print what another task
 * has written for it. A masker is kept until its run is over here. A value that its run does not name any
 * more is masked until less than half of its layer is named (redaction.md#secrets).
 */
export class Maskers {
  readonly #secretsOf: SecretsOf;
  readonly #built = new Map<string, Built>();

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
    const before = this.#built.get(run);
    if (before === undefined && secrets.length === 0) return undefined;
    if (before !== undefined && areSame(before.for, secrets)) return before.masker;
    const layers = withValues(before?.layers ?? [], secrets);
    const masker = joined(layers.flatMap((layer) => layer.masker ?? []));
    this.#built.set(run, { for: [...secrets], layers, masker });
    return masker;
  }

  /** A text about an attempt or a placement, with the secrets of its run masked (redaction.md#texts). */
  maskText(id: string, text: string): string {
    const masker = this.of(id);
    return masker === undefined ? text : maskedText(masker, text);
  }

  /** How many bytes the values have that the masker of a run is built for. */
  builtBytes(run: string): number {
    return (this.#built.get(run)?.layers ?? []).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Drops the maskers of all runs but these. */
  keepRuns(runs: ReadonlySet<string>): void {
    for (const run of this.#built.keys()) if (!runs.has(run)) this.#built.delete(run);
  }
}

/**
 * Layers with all of these values. A layer of which less than half is named any more is dropped, and what is
 * named of it is built again: so a run that lives for years has at most twice the bytes of its values here.
 * Values that no layer has make a new one, which takes in the one before it unless that one is much larger.
 * So a value is built again only a few times, however many others come and go.
 */
function withValues(layers: readonly Layer[], secrets: readonly Uint8Array[]): readonly Layer[] {
  const namedOf = ({ values }: Layer) => values.filter((value) => isAmong(secrets, value));
  const left = layers.filter((layer) => 2 * bytesOf(namedOf(layer)) >= layer.bytes);
  const known = left.flatMap(({ values }) => values);
  let fresh = secrets.filter((secret) => !isAmong(known, secret));
  if (fresh.length === 0) return left;
  for (let last = left.at(-1); last !== undefined; last = left.at(-1)) {
    if (last.bytes > Math.max(SOON_BUILT_BYTES, 2 * bytesOf(fresh))) break;
    fresh = [...namedOf(last), ...fresh];
    left.pop();
  }
  return [...left, { values: fresh, bytes: bytesOf(fresh), masker: maskerOf(fresh) }];
}

function isAmong(values: readonly Uint8Array[], value: Uint8Array): boolean {
  return values.some((one) => isSame(one, value));
}

function bytesOf(values: readonly Uint8Array[]): number {
  return values.reduce((sum, { length }) => sum + length, 0);
}

function areSame(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return some.length === others.length && some.every((one, index) => isSame(one, others[index]));
}

function isSame(one: Uint8Array, other: Uint8Array | undefined): boolean {
  return one === other || (one.length === other?.length && Buffer.compare(one, other) === 0);
}
