import { ApiError, UnreachableError } from "../errors.ts";

/** How long a client tries again before it gives an error up to its caller. Zero: one try. */
export interface Patience {
  /** While nothing answers. */
  unreachableMs: number;
  /** While the answer is "not now" (429, 503). */
  busyMs: number;
}

/** Enough for a restart of a local control plane, short enough for a person who mistyped the address. */
export const DEFAULT_PATIENCE: Patience = { unreachableMs: 3_000, busyMs: 60_000 };

/**
 * The usual patience, with what is said of another one. Throws a `TypeError` for what is none: a comparison
 * with that would be false, and the first lost connection would end a wait.
 */
export function patienceOf(usual: Patience, said: Partial<Patience> | undefined): Patience {
  if (said === undefined) return usual;
  const isObject = typeof said === "object" && said !== null;
  const wrong = isObject ? Object.entries(said).filter(([name, ms]) => !isWait(name, ms)) : [["", said]];
  const [first] = wrong;
  if (first === undefined) return { ...usual, ...withoutUndefined(said) };
  const [name, value] = first;
  throw new TypeError(
    `patience must be { unreachableMs, busyMs }, in milliseconds from 0 on, or one of them; ` +
      `${name === "" ? "this one" : `\`${name}\``} is ${JSON.stringify(value)}`,
  );
}

function isWait(name: string, ms: unknown): boolean {
  if (name !== "unreachableMs" && name !== "busyMs") return false;
  return ms === undefined || (typeof ms === "number" && ms >= 0);
}

function withoutUndefined(said: Partial<Patience>): Partial<Patience> {
  return Object.fromEntries(Object.entries(said).filter(([, ms]) => ms !== undefined));
}

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 5_000;

/**
 * Back-off that doubles, with full jitter over its upper half, so that many clients that were cut off
 * together do not come back together. `tries` is the number of tries that have failed.
 */
export function backOffMs(tries: number, random = Math.random()): number {
  const most = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(tries - 1, 16));
  return Math.round(most * (0.5 + random / 2));
}

/**
 * How long to wait before the same request is sent again; undefined if that is of no use, or the patience is
 * over. The server's `Retry-After` is a lower bound.
 */
export function retryDelayMs(
  error: unknown,
  tries: number,
  elapsedMs: number,
  patience: Patience,
): number | undefined {
  if (error instanceof UnreachableError) {
    const delayMs = backOffMs(tries);
    return elapsedMs + delayMs <= patience.unreachableMs ? delayMs : undefined;
  }
  if (error instanceof ApiError && error.temporary) {
    const delayMs = Math.max(backOffMs(tries), error.retryAfterMs ?? 0);
    return elapsedMs + delayMs <= patience.busyMs ? delayMs : undefined;
  }
  return undefined;
}
