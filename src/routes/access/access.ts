// What does one isolate remember for the checks of tokens (access.md#cache, access.md#rate-limits)?
import type { Instant, Millis } from "../../shared/machine.ts";
import { judgeRate, type RatePolicy, type RateState, type RateVerdict } from "../../shared/time/rate.ts";
import { BoundedMap } from "./bounded-map.ts";
import { Denials } from "./denials.ts";
import { sessionDirectory, tokenDirectory } from "./grant-directory.ts";
import { ProjectDirectory } from "./project-directory.ts";

/** The rate limit of one token at one isolate. The limit allows a burst of thousands of submissions. */
export const REQUEST_RATE: RatePolicy = { quota: 6_000, windowMs: 60_000 };
/** The rate limit for wrong tokens from one address at one isolate. */
export const WRONG_TOKEN_RATE: RatePolicy = { quota: 5, windowMs: 60_000 };
/** The rate limit for tokens of other issuers that are refused, from one address. */
export const REFUSED_TOKEN_RATE: RatePolicy = { quota: 10, windowMs: 60_000 };
/**
 * The rate limit for request tokens of attempts that are refused, from one address: all attempts of a machine
 * may ask at the same moment, and their commands try once.
 */
export const REFUSED_ATTEMPT_RATE: RatePolicy = { quota: 100, windowMs: 60_000 };
/** The rate limit for the tokens of one attempt, which live for minutes. */
export const RUN_TOKEN_RATE: RatePolicy = { quota: 60, windowMs: 60_000 };
/** The most callers that one isolate remembers for each limit. */
const MAX_CALLERS = 1_000;
/** When a request is worth sending again that was refused only because others are still being judged. */
const JUDGED_MS: Millis = 1_000;

/** A request that was counted before its outcome is known. */
export interface Reservation {
  verdict: RateVerdict;
  /** Ends it once the outcome is known: a request that does not count is taken back. */
  settle(counts: boolean): void;
}

/** Counts requests by caller. Above `MAX_CALLERS`, forgets the caller whose last request is the oldest. */
export class RateLimiter {
  readonly policy: RatePolicy;
  readonly #states = new BoundedMap<string, RateState>(MAX_CALLERS);
  /** How many requests of a caller are reserved, and not settled. */
  readonly #open = new Map<string, number>();

  constructor(policy: RatePolicy) {
    this.policy = policy;
  }

  /** Judges a request, and counts the request if it is allowed. */
  take(caller: string, now: Instant): RateVerdict {
    const verdict = judgeRate(this.policy, this.#states.get(caller), now);
    this.#states.set(caller, verdict.state);
    return verdict;
  }

  /**
   * Judges a request, and counts it until its outcome shows whether it does count. So many at once do not
   * pass while none of them has an outcome.
   */
  reserve(caller: string, now: Instant): Reservation {
    const verdict = this.take(caller, now);
    const open = this.#open.get(caller) ?? 0;
    if (!verdict.allowed) {
      const retryAfterMs = open > 0 ? Math.min(verdict.retryAfterMs, JUDGED_MS) : verdict.retryAfterMs;
      return { verdict: { ...verdict, retryAfterMs }, settle: () => undefined };
    }
    this.#open.set(caller, open + 1);
    return { verdict, settle: (counts) => this.#settle(caller, counts) };
  }

  #settle(caller: string, counts: boolean): void {
    const open = (this.#open.get(caller) ?? 1) - 1;
    if (open > 0) this.#open.set(caller, open);
    else this.#open.delete(caller);
    if (!counts) this.giveBack(caller);
  }

  /** Takes back one request, which turned out not to count. */
  giveBack(caller: string): void {
    const state = this.#states.get(caller);
    if (state !== undefined) this.#states.set(caller, state - this.policy.windowMs / this.policy.quota);
  }
}

/** What one app remembers for the checks of tokens and sessions. */
export class Access {
  readonly tokens = tokenDirectory();
  readonly sessions = sessionDirectory();
  readonly projects = new ProjectDirectory();
  readonly denials = new Denials();
  readonly requests = new RateLimiter(REQUEST_RATE);
  readonly wrongTokens = new RateLimiter(WRONG_TOKEN_RATE);
  /** Tokens that commands ask for (oidc.md#out). */
  readonly runTokens = new RateLimiter(RUN_TOKEN_RATE);
  /** Tokens of other issuers, and of attempts, that were refused (oidc.md#exchange). */
  readonly refused = {
    issuer: new RateLimiter(REFUSED_TOKEN_RATE),
    attempt: new RateLimiter(REFUSED_ATTEMPT_RATE),
  };
}
