// How many requests may a caller make at one isolate (access.md#rate-limits)?
import type { Instant, Millis } from "../../shared/machine.ts";
import { judgeRate, type RatePolicy, type RateState, type RateVerdict } from "../../shared/time/rate.ts";
import { BoundedMap } from "./bounded-map.ts";
import { OpenRequests } from "./open-requests.ts";

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
  /** The requests of each caller that are reserved, and not settled. */
  readonly #open = new BoundedMap<string, OpenRequests>(MAX_CALLERS);

  constructor(policy: RatePolicy) {
    this.policy = policy;
  }

  /**
   * Judges a request, and counts the request if it is allowed. `spare`: how many requests must be left
   * afterwards for others.
   */
  take(caller: string, now: Instant, spare = 0): RateVerdict {
    const { quota, windowMs } = this.policy;
    const policy = { quota: quota - spare, windowMs: (windowMs / quota) * (quota - spare) };
    const verdict = judgeRate(policy, this.#states.get(caller), now);
    this.#states.set(caller, verdict.state);
    return verdict;
  }

  /**
   * Judges a request, and counts it until its outcome shows whether it does count. So many at once do not
   * pass while none of them has an outcome. `spare`: as in `take`.
   */
  reserve(caller: string, now: Instant, spare = 0): Reservation {
    const verdict = this.take(caller, now, spare);
    if (!verdict.allowed) {
      const isJudging = this.isJudging(caller, now);
      const retryAfterMs = isJudging ? Math.min(verdict.retryAfterMs, JUDGED_MS) : verdict.retryAfterMs;
      return { verdict: { ...verdict, retryAfterMs }, settle: () => undefined };
    }
    const open = this.#open.get(caller) ?? new OpenRequests();
    const one = open.add(now);
    this.#open.set(caller, open);
    const settle = (counts: boolean) => {
      open.end(one);
      if (open.size === 0 && this.#open.get(caller) === open) this.#open.delete(caller);
      if (!counts) this.giveBack(caller);
    };
    return { verdict, settle };
  }

  /** Whether a reserved request of a caller has no outcome yet. */
  isJudging(caller: string, now: Instant): boolean {
    return this.#open.get(caller)?.hasYoung(now) ?? false;
  }

  /** Takes back one request, which turned out not to count. */
  giveBack(caller: string): void {
    const state = this.#states.get(caller);
    if (state !== undefined) this.#states.set(caller, state - this.policy.windowMs / this.policy.quota);
  }
}
