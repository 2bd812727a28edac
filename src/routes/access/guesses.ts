// How many secrets may an address send that turn out to be wrong (access.md#rate-limits)?
import type { Instant } from "../../shared/machine.ts";
import type { RatePolicy } from "../../shared/time/rate.ts";
import { BoundedMap } from "./bounded-map.ts";
import { RateLimiter, type Reservation } from "./rate-limiter.ts";

/** The most secrets that an isolate remembers as wrong, for each kind. */
const MAX_WRONG = 1_000;

/** What is guessed, in the words of the refusal, and how often an address may. */
interface Kind {
  policy: RatePolicy;
  /** Who sends too much of what, as the start of a sentence. */
  excess: string;
  /**
   * How many of the quota secrets cannot use up that were wrong before: a program that goes on with an old
   * secret leaves these to new ones.
   */
  spare: number;
}

/** Counts the secrets of one kind, by address, until they turn out to be right. */
export class Guesses {
  readonly excess: string;
  readonly limiter: RateLimiter;
  readonly #spare: number;
  readonly #wrong = new BoundedMap<string, true>(MAX_WRONG);

  constructor({ policy, excess, spare }: Kind) {
    this.excess = excess;
    this.limiter = new RateLimiter(policy);
    this.#spare = spare;
  }

  /** Counts a secret for its address, unless that has sent too many. Settle it with whether it is wrong. */
  reserve(place: string, secret: string, now: Instant): Reservation {
    const reservation = this.limiter.reserve(place, now, this.#wasWrong(secret) ? this.#spare : 0);
    const settle = (isWrong: boolean) => {
      if (isWrong) this.#wrong.set(secret, true);
      reservation.settle(isWrong);
    };
    return { verdict: reservation.verdict, settle };
  }

  /** Counts a secret that was looked up uncounted, and has turned out to be wrong. */
  countWrong(place: string, secret: string, now: Instant): void {
    this.reserve(place, secret, now).settle(true);
  }

  /** Whether it is worth waiting with a secret: others of its address may turn out to be right. */
  mayWait(place: string, secret: string, now: Instant): boolean {
    return !this.#wasWrong(secret) && this.limiter.isJudging(place, now);
  }

  #wasWrong(secret: string): boolean {
    return this.#wrong.get(secret) === true;
  }
}
