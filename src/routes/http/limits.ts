// How many requests, and how many wrong secrets, may a caller or an address send (access.md#rate-limits)?
import { placeOf } from "../../schema/access/networks.ts";
import { DroverError } from "../../shared/errors.ts";
import type { RateVerdict } from "../../shared/time/rate.ts";
import type { Access } from "../access/access.ts";
import type { Caller } from "../access/caller.ts";
import type { Guesses } from "../access/guesses.ts";
import { LONGEST_JUDGMENT_MS } from "../access/open-requests.ts";
import type { RateLimiter } from "../access/rate-limiter.ts";
import { Turn } from "../access/turn.ts";
import type { EdgeContext } from "../edge.ts";
import { hasCode } from "./problem.ts";
import { rateHeaders } from "./rate-headers.ts";

/** A secret that may be wrong: its kind, and what identifies it. */
interface Guess {
  kind: Guesses;
  secret: string;
}

/** Counts a caller's request. Returns the headers about the rest. Code: `too_many_requests`. */
export function refuseHaste(c: EdgeContext, { requests }: Access, caller: Caller): [string, string][] {
  const verdict = requests.take(caller.token ?? caller.by, c.env.now());
  if (!verdict.allowed) throw tooMany(c, "this token makes too many requests", requests, verdict);
  return rateHeaders(requests.policy, verdict, c.env.now());
}

/**
 * What `judge` finds for a secret that may be wrong, which counts for its address until it turns out to be
 * right. It is wrong if `judge` finds nothing or rejects with `unauthorized`; other failures are nobody's
 * guess. While others of the address are judged and would fill its limit, the request waits. `isShared`:
 * another request judges the same secret, so this one does not count. Code: `too_many_requests`.
 */
export async function judged<Found>(
  c: EdgeContext,
  guess: Guess,
  judge: () => Promise<Found>,
  isShared: () => boolean = () => false,
): Promise<Found> {
  const turn = new Turn(LONGEST_JUDGMENT_MS);
  for (;;) {
    // From a place to the start of the look-up there is no pause, in which others would begin the same one.
    const settle = isShared() ? () => undefined : placeFor(c, guess, turn.isOver);
    if (settle !== undefined) return settled(judge, settle);
    await turn.pause();
  }
}

/**
 * What `judge` finds for a secret that was right here before: it is judged whatever its address has sent, and
 * counts only if it is not right any more. Otherwise as `judged`.
 */
export async function judgedAgain<Found>(
  c: EdgeContext,
  { kind, secret }: Guess,
  judge: () => Promise<Found>,
  isShared: () => boolean = () => false,
): Promise<Found> {
  const isCounted = !isShared();
  return settled(judge, (isWrong) => {
    if (isWrong && isCounted) kind.countWrong(placeOf(addressOf(c)), secret, c.env.now());
  });
}

type Settle = (isWrong: boolean) => void;

/** Counts a secret. Returns how to settle it; undefined: it is worth waiting for a place. */
function placeFor(c: EdgeContext, { kind, secret }: Guess, isLate: boolean): Settle | undefined {
  const place = placeOf(addressOf(c));
  const { verdict, settle } = kind.reserve(place, secret, c.env.now());
  if (verdict.allowed) return settle;
  if (!isLate && kind.mayWait(place, secret, c.env.now())) return undefined;
  throw tooMany(c, kind.excess, kind.limiter, verdict);
}

async function settled<Found>(judge: () => Promise<Found>, settle: Settle): Promise<Found> {
  let isWrong = false;
  try {
    const found = await judge();
    isWrong = found === undefined;
    return found;
  } catch (error) {
    isWrong = hasCode(error, "unauthorized");
    throw error;
  } finally {
    settle(isWrong);
  }
}

/** The address that Cloudflare, or the door of a local Drover, has seen; empty if unknown. */
export function addressOf(c: EdgeContext): string {
  return c.req.header("cf-connecting-ip") ?? "";
}

/**
 * The error for a request beyond a rate limit, whose answer gets the headers about the limit. `what`: who
 * sends too much of what.
 */
export function tooMany(
  c: EdgeContext,
  what: string,
  { policy }: Pick<RateLimiter, "policy">,
  verdict: RateVerdict,
): DroverError {
  for (const [name, value] of rateHeaders(policy, verdict, c.env.now())) c.header(name, value);
  const text = `${what}: ${policy.quota} in ${policy.windowMs / 1_000} s are allowed`;
  return new DroverError("too_many_requests", text, { retryAfterMs: verdict.retryAfterMs });
}
