// What does one isolate remember for the checks of tokens (access.md#cache, access.md#rate-limits)?
import type { RatePolicy } from "../../shared/time/rate.ts";
import { Denials } from "./denials.ts";
import { sessionDirectory, tokenDirectory } from "./grant-directory.ts";
import { Guesses } from "./guesses.ts";
import { ProjectDirectory } from "./project-directory.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** The rate limit of one token at one isolate. The limit allows a burst of thousands of submissions. */
export const REQUEST_RATE: RatePolicy = { quota: 6_000, windowMs: 60_000 };
/** The rate limit for wrong secrets of each kind from one address at one isolate. */
export const WRONG_SECRET_RATE: RatePolicy = { quota: 5, windowMs: 60_000 };
/** How many of these a token that was wrong before leaves to others. */
const SPARE_FOR_NEW = 2;
/** The rate limit for tokens of other issuers that are refused, from one address. */
export const REFUSED_TOKEN_RATE: RatePolicy = { quota: 10, windowMs: 60_000 };
/**
 * The rate limit for request tokens of attempts that are refused, from one address: all attempts of a machine
 * may ask at the same moment, and their commands try once.
 */
export const REFUSED_ATTEMPT_RATE: RatePolicy = { quota: 100, windowMs: 60_000 };
/** The rate limit for the tokens of one attempt, which live for minutes. */
export const RUN_TOKEN_RATE: RatePolicy = { quota: 60, windowMs: 60_000 };
/** What one app remembers for the checks of tokens and sessions. */
export class Access {
  readonly tokens = tokenDirectory();
  readonly sessions = sessionDirectory();
  readonly projects = new ProjectDirectory();
  readonly denials = new Denials();
  readonly requests = new RateLimiter(REQUEST_RATE);
  /** Secrets of each kind that may be wrong, by address. One kind takes nothing from another. */
  readonly guesses = {
    token: guessesOf("too many wrong tokens came from this address", SPARE_FOR_NEW),
    code: guessesOf("too many wrong codes came from this address"),
    signOut: guessesOf("too many cookies of sessions that do not exist came from this address"),
    proof: guessesOf("this address asked for too many proofs by tokens that do not exist", SPARE_FOR_NEW),
  };
  /** Tokens that commands ask for (oidc.md#out). */
  readonly runTokens = new RateLimiter(RUN_TOKEN_RATE);
  /** Tokens of other issuers, of attempts and of booting machines that were refused (oidc.md#exchange). */
  readonly refused = {
    issuer: new RateLimiter(REFUSED_TOKEN_RATE),
    attempt: new RateLimiter(REFUSED_ATTEMPT_RATE),
    boot: new RateLimiter(REFUSED_TOKEN_RATE),
  };
}

function guessesOf(excess: string, spare = 0): Guesses {
  return new Guesses({ policy: WRONG_SECRET_RATE, excess, spare });
}
