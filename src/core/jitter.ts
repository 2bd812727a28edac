// How are retries of many objects spread out?
import type { Millis } from "../shared/machine.ts";

/** A delay in [d, 1.25 d), constant for an id, so that many objects do not retry in step. */
export function jittered(delayMs: Millis, id: string): Millis {
  return delayMs + Math.floor(delayMs * 0.25 * fraction(id));
}

/** FNV-1a in [0, 1), mixed once more so that ids that differ only in the last digit lie far apart. */
function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
