import { DroverError } from "../core/errors.ts";
import type { Instant, Millis } from "../core/machine.ts";
import type { EdgeContext } from "./edge.ts";

/** Hosts that are remembered to be too fast. There are few; if there are many, all may speak again. */
const MAX_REMEMBERED = 1_000;
/** For how long one is not listened to at least: less is no relief. */
const LEAST_MS: Millis = 250;

const waitsUntil = new Map<string, Instant>();

/**
 * Passes a host's call on, unless its worker has said a moment ago that this host is too fast: then it is
 * refused before a byte of it is read. Only a verified call makes a worker say so. Throws `busy`.
 */
export async function atItsPace<T>(c: EdgeContext, worker: string, call: () => Promise<T>): Promise<T> {
  const { now } = c.env;
  const waitMs = (waitsUntil.get(worker) ?? 0) - now();
  if (waitMs > 0) throw new DroverError("busy", "this host speaks too fast", { retryAfterMs: waitMs });
  waitsUntil.delete(worker);
  try {
    return await call();
  } catch (error) {
    // Of an error that comes from an object only the properties are left.
    const { code, retryAfterMs = 0 } = error as Partial<DroverError>;
    if (code === "busy") remember(worker, now() + Math.max(LEAST_MS, retryAfterMs));
    throw error;
  }
}

function remember(worker: string, until: Instant): void {
  if (waitsUntil.size >= MAX_REMEMBERED) waitsUntil.clear();
  waitsUntil.set(worker, until);
}
