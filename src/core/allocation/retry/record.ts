// What does a run store of its tries that have failed (retry.md#record)?
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { RetryCause } from "../../../shared/retry/causes.ts";

/** Why another try follows (retry.md#causes). `tasks`: those that ran out of memory; absent: none. */
export interface RetryReason {
  cause: RetryCause;
  tasks?: string[];
}

/** A try that failed, and after which another one follows (retry.md#record). */
export interface FailedTry extends RetryReason {
  epoch: number;
  worker: string;
  /** When it failed. */
  at: Instant;
  /** How long the next try waits after that. */
  delayMs: Millis;
  /** How it failed, in words. */
  text: string;
  /** What an hour of it cost at list prices. Absent: unknown. */
  rate?: number;
}
