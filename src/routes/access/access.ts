// What do the checks of tokens remember within an isolate (access.md#cache, access.md#rate-limits)?
import type { Instant } from "../../shared/machine.ts";
import { judgeRate, type RatePolicy, type RateState, type RateVerdict } from "../../shared/time/rate.ts";
import { BoundedMap } from "./bounded-map.ts";
import { TokenDirectory } from "./token-directory.ts";

/** Requests of one token at one isolate. A burst of thousands of submissions passes. */
export const REQUEST_RATE: RatePolicy = { quota: 6_000, windowMs: 60_000 };
/** Wrong tokens of one address at one isolate. */
export const WRONG_TOKEN_RATE: RatePolicy = { quota: 5, windowMs: 60_000 };
/** Callers that one isolate remembers for each limit. */
const MAX_CALLERS = 1_000;

/** Counts requests by caller. It forgets the caller that came first when there are too many. */
export class RateLimiter {
  readonly policy: RatePolicy;
  readonly #states = new BoundedMap<string, RateState>(MAX_CALLERS);

  constructor(policy: RatePolicy) {
    this.policy = policy;
  }

  /** Judges a request and counts it, unless it is refused. */
  take(caller: string, now: Instant): RateVerdict {
    const verdict = this.#look(caller, now);
    this.#states.set(caller, verdict.state);
    return verdict;
  }

  /** Takes back one request, which turned out not to count. */
  giveBack(caller: string): void {
    const state = this.#states.get(caller);
    if (state !== undefined) this.#states.set(caller, state - this.policy.windowMs / this.policy.quota);
  }

  /** The verdict that a request would get. */
  #look(caller: string, now: Instant): RateVerdict {
    return judgeRate(this.policy, this.#states.get(caller), now);
  }
}

/** What the checks of one app remember. */
export class Access {
  readonly tokens = new TokenDirectory();
  readonly requests = new RateLimiter(REQUEST_RATE);
  readonly wrongTokens = new RateLimiter(WRONG_TOKEN_RATE);
}
