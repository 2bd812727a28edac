// What does one isolate remember for the checks of tokens (access.md#cache, access.md#rate-limits)?
import type { Instant } from "../../shared/machine.ts";
import { judgeRate, type RatePolicy, type RateState, type RateVerdict } from "../../shared/time/rate.ts";
import { BoundedMap } from "./bounded-map.ts";
import { Denials } from "./denials.ts";
import { sessionDirectory, tokenDirectory } from "./grant-directory.ts";
import { ProjectDirectory } from "./project-directory.ts";

/** The rate limit of one token at one isolate. The limit allows a burst of thousands of submissions. */
export const REQUEST_RATE: RatePolicy = { quota: 6_000, windowMs: 60_000 };
/** The rate limit for wrong tokens from one address at one isolate. */
export const WRONG_TOKEN_RATE: RatePolicy = { quota: 5, windowMs: 60_000 };
/** The rate limit for tokens of other issuers and of attempts that are refused, from one address. */
export const REFUSAL_RATE: RatePolicy = { quota: 10, windowMs: 60_000 };
/** The rate limit for the tokens of one attempt, which live for minutes. */
export const RUN_TOKEN_RATE: RatePolicy = { quota: 60, windowMs: 60_000 };
/** The most callers that one isolate remembers for each limit. */
const MAX_CALLERS = 1_000;

/** Counts requests by caller. Above `MAX_CALLERS`, forgets the caller whose last request is the oldest. */
export class RateLimiter {
  readonly policy: RatePolicy;
  readonly #states = new BoundedMap<string, RateState>(MAX_CALLERS);

  constructor(policy: RatePolicy) {
    this.policy = policy;
  }

  /** Judges a request, and counts the request if it is allowed. */
  take(caller: string, now: Instant): RateVerdict {
    const verdict = judgeRate(this.policy, this.#states.get(caller), now);
    this.#states.set(caller, verdict.state);
    return verdict;
  }

  /** Judges a request without counting it. */
  judge(caller: string, now: Instant): RateVerdict {
    return judgeRate(this.policy, this.#states.get(caller), now);
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
  readonly refusals = new RateLimiter(REFUSAL_RATE);
}
