// How are retries of many objects spread out?
import type { Millis } from "../shared/machine.ts";

/**
 * A delay in [d, 1.25 d) that depends only on the id, so that many objects do not retry at the same time.
 * `part`: by which part of it the delay is at most longer, 0.25 if absent.
 */
export function jittered(delayMs: Millis, id: string, part = 0.25): Millis {
  return delayMs + Math.floor(delayMs * part * fraction(id));
}

/**
 * The FNV-1a hash of a text, scaled to [0, 1). The hash is mixed a second time, so that ids that differ only
 * in the last digit get values that are far apart.
 */
export function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
