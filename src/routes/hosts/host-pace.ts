import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { EdgeContext } from "../edge.ts";

/** Hosts that are remembered to be too fast. There are few; if there are many, all may speak again. */
const MAX_REMEMBERED = 1_000;
/** For how long one is not listened to at least: less is no relief. */
const LEAST_MS: Millis = 250;
/** For how long a refusal is held at most, and how many of one host: the others are answered at once. */
const HELD_MS: Millis = 1_000;
const MAX_HELD = 16;

/** A host that is too fast: until when, and how many of its calls wait for their refusal. */
interface TooFast {
  until: Instant;
  held: number;
}
const tooFast = new Map<string, TooFast>();

/**
 * Passes a host's call on, unless its worker has said a moment ago that this host is too fast: then it is
 * refused before a byte of it is read, and not at once, so that whoever comes again without a pause comes
 * seldom. Only a verified call makes a worker say so. Throws `busy`.
 */
export async function atItsPace<T>(c: EdgeContext, worker: string, call: () => Promise<T>): Promise<T> {
  const { now } = c.env;
  const known = tooFast.get(worker);
  if (known !== undefined && known.until > now()) {
    await hold(known, known.until - now());
    const retryAfterMs = Math.max(0, known.until - now());
    throw new DroverError("busy", "this host speaks too fast: it is not listened to", { retryAfterMs });
  }
  tooFast.delete(worker);
  try {
    return await call();
  } catch (error) {
    // Of an error that comes from an object only the properties are left.
    const { code, retryAfterMs = 0 } = error as Partial<DroverError>;
    if (code === "busy") remember(worker, now() + Math.max(LEAST_MS, retryAfterMs));
    throw error;
  }
}

async function hold(known: TooFast, waitMs: Millis): Promise<void> {
  if (known.held >= MAX_HELD) return;
  known.held += 1;
  await new Promise((resolve) => setTimeout(resolve, Math.min(HELD_MS, waitMs)));
  known.held -= 1;
}

function remember(worker: string, until: Instant): void {
  if (tooFast.size >= MAX_REMEMBERED) tooFast.clear();
  const held = tooFast.get(worker)?.held ?? 0;
  tooFast.set(worker, { until, held });
}
