// Which images has this host pulled, and which may go when the disk gets full (containers.md#clean-up)?
import { join } from "node:path";
import { replaceFile } from "../../disk/atomic.ts";
import { tryReadJson } from "../../posix/files.ts";
import type { Millis } from "../../src/shared/machine.ts";

/** An image that was used within this time may be about to be used again. */
const RECENT_MS: Millis = 3 * 60_000;
/** Images are removed while more than this part of the engine's disk is in use. */
const FULL = 0.8;

/** The latest use of each image that this host has pulled, by the image's id, in milliseconds since 1970. */
export type ImageUses = Readonly<Record<string, number>>;

/**
 * The image to remove now: the one whose latest use is longest ago. Undefined: the disk has room, or each has
 * been used a moment ago. Images that Drover has not pulled are somebody else's.
 */
export function imageToRemove(uses: ImageUses, usedPart: number, nowMs: number): string | undefined {
  if (usedPart <= FULL) return undefined;
  const [oldest] = Object.entries(uses).sort(([, a], [, b]) => a - b);
  return oldest !== undefined && nowMs - oldest[1] >= RECENT_MS ? oldest[0] : undefined;
}

/** Keeps these uses in a file, so that the next start of the agent goes on with them. */
export class ImageUse {
  readonly #file: string;
  #uses: Record<string, number>;

  constructor(stateDir: string) {
    this.#file = join(stateDir, "images.json");
    this.#uses = usesIn(tryReadJson(this.#file));
  }

  get uses(): ImageUses {
    return this.#uses;
  }

  /** This host has pulled the image. */
  pulled(id: string, nowMs: number): void {
    this.#keep({ ...this.#uses, [id]: nowMs });
  }

  /** A container is made of the image. */
  used(id: string, nowMs: number): void {
    if (this.#uses[id] !== undefined) this.pulled(id, nowMs);
  }

  /** The image was removed, or cannot be. */
  forget(id: string): void {
    const { [id]: _, ...others } = this.#uses;
    this.#keep(others);
  }

  #keep(uses: Record<string, number>): void {
    this.#uses = uses;
    try {
      replaceFile(this.#file, JSON.stringify(uses));
    } catch {
      // The disk may be full, which the removal of an image may change. The next use writes all of them.
    }
  }
}

function usesIn(value: unknown): Record<string, number> {
  return Object.fromEntries(
    Object.entries(Object(value)).flatMap(([id, at]) => (typeof at === "number" ? [[id, at]] : [])),
  );
}
