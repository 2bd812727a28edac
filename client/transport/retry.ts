// Is a failed request sent again, and after how long?
import { ApiError, UnreachableError } from "../errors.ts";

/** How long a client retries before it throws. Zero: a single try. */
export interface Patience {
  /** While nothing answers. */
  unreachableMs: number;
  /** While the answer is "not now" (429, 503). */
  busyMs: number;
}

/** Enough for a restart of a local control plane, short enough for a person who mistyped the address. */
export const DEFAULT_PATIENCE: Patience = { unreachableMs: 3_000, busyMs: 60_000 };

/**
 * The usual patience with overrides. Throws a `TypeError` for invalid ones, since every comparison with them
 * would be false and the first lost connection would end a wait.
 */
export function patienceOf(usual: Patience, overrides: Partial<Patience> | undefined): Patience {
  if (overrides === undefined) return usual;
  const isObject = typeof overrides === "object" && overrides !== null;
  const wrong = isObject
    ? Object.entries(overrides).filter(([name, ms]) => !isWait(name, ms))
    : [["", overrides]];
  const [first] = wrong;
  if (first === undefined) return { ...usual, ...withoutUndefined(overrides) };
  const [name, value] = first;
  throw new TypeError(
    `patience must be { unreachableMs, busyMs } (either may be omitted), in milliseconds from 0 on; ` +
      `${name === "" ? "this one" : `\`${name}\``} is ${JSON.stringify(value)}`,
  );
}

function isWait(name: string, ms: unknown): boolean {
  if (name !== "unreachableMs" && name !== "busyMs") return false;
  return ms === undefined || (typeof ms === "number" && ms >= 0);
}

function withoutUndefined(overrides: Partial<Patience>): Partial<Patience> {
  return Object.fromEntries(Object.entries(overrides).filter(([, ms]) => ms !== undefined));
}

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 5_000;

/**
 * Exponential back-off with jitter over its upper half, so that clients that lost their connection together
 * do not come back together. `tries` is the number of failed tries.
 */
export function backOffMs(tries: number, random = Math.random()): number {
  const most = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(tries - 1, 16));
  return Math.round(most * (0.5 + random / 2));
}

/**
 * How long to wait before the next try; undefined if a retry is pointless or patience has run out. The
 * server's `Retry-After` is a lower bound.
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
