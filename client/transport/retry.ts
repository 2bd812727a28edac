// Is a failed request sent again, and after how long?
import { backOffMs, spread } from "../../src/shared/time/backoff.ts";
import { ApiError, UnreachableError } from "../errors.ts";

/** How long a client retries before it throws. Zero: it tries only once. */
export interface Patience {
  /** While nothing answers. */
  unreachableMs: number;
  /** While the answer is "not now" (429, 503). */
  busyMs: number;
}

/** Enough for a restart of a local control plane, short enough for a person who mistyped the address. */
export const DEFAULT_PATIENCE: Patience = { unreachableMs: 3_000, busyMs: 60_000 };

/**
 * The usual patience with overrides. Throws a `TypeError` for invalid overrides: every comparison with them
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

const DELAYS = { firstMs: 200, longestMs: 5_000 };

/** The pause after a number of failed tries, shortened by up to half at random. */
export function retryPauseMs(tries: number, random = Math.random()): number {
  return Math.round(spread(backOffMs(DELAYS, tries), random));
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
    const delayMs = retryPauseMs(tries);
    return elapsedMs + delayMs <= patience.unreachableMs ? delayMs : undefined;
  }
  if (error instanceof ApiError && error.temporary) {
    const delayMs = Math.max(retryPauseMs(tries), error.retryAfterMs ?? 0);
    return elapsedMs + delayMs <= patience.busyMs ? delayMs : undefined;
  }
  return undefined;
}
