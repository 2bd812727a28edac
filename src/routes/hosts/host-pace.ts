// How does the edge slow down a host that sends too much, without asking its worker each time?
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { EdgeContext } from "../edge.ts";

/**
 * The most hosts that are remembered as too fast; normally there are few. If there are more, all are
 * forgotten.
 */
const MAX_REMEMBERED = 1_000;
/** The shortest time for which a host is refused: a shorter time would bring no relief. */
const LEAST_MS: Millis = 250;
/** The longest delay of a refusal. */
const MAX_DELAY_MS: Millis = 1_000;
/** How many refusals of one host are delayed at the same time. Further refusals are sent at once. */
const MAX_DELAYED = 16;

/** Until when a host that is too fast is refused, and how many of its refusals are being delayed. */
interface TooFast {
  until: Instant;
  delayed: number;
}
const tooFast = new Map<string, TooFast>();

/**
 * Passes on a host's call. If the worker has recently said `busy`, refuses the call before its body is read,
 * and delays the refusal to slow down a host that retries without a pause. A worker says `busy` only to
 * verified calls. Throws `busy`.
 */
export async function unlessTooFast<T>(c: EdgeContext, worker: string, call: () => Promise<T>): Promise<T> {
  const { now } = c.env;
  const known = tooFast.get(worker);
  if (known !== undefined && known.until > now()) {
    await delay(known, known.until - now());
    const retryAfterMs = Math.max(0, known.until - now());
    throw new DroverError("busy", "this host sends too many requests; slow down", { retryAfterMs });
  }
  tooFast.delete(worker);
  try {
    return await call();
  } catch (error) {
    // An error that an object throws arrives here with its properties, but without its class.
    const { code, retryAfterMs = 0 } = error as Partial<DroverError>;
    if (code === "busy") remember(worker, now() + Math.max(LEAST_MS, retryAfterMs));
    throw error;
  }
}

async function delay(known: TooFast, waitMs: Millis): Promise<void> {
  if (known.delayed >= MAX_DELAYED) return;
  known.delayed += 1;
  await new Promise((resolve) => setTimeout(resolve, Math.min(MAX_DELAY_MS, waitMs)));
  known.delayed -= 1;
}

function remember(worker: string, until: Instant): void {
  if (tooFast.size >= MAX_REMEMBERED) tooFast.clear();
  const delayed = tooFast.get(worker)?.delayed ?? 0;
  tooFast.set(worker, { until, delayed });
}
