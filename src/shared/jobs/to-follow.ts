// What is a job asked whose run is to be followed, and what can it answer (jobs.md#following)?
import type { Instant, Millis } from "../machine.ts";

/** A job that waits for the run of another one, and whoever submits such a run, asks again after so long. */
export const ASK_AGAIN_MS: Millis = 10_000;

/** What is asked of a job whose run is to be followed. */
export interface FollowQuestion {
  /** The tick of the run that follows. Null: it has none, and is submitted now. */
  tick: Instant | null;
  /** How old the run may be. Null: of any age. */
  maxAgeMs: Millis | null;
}

export type ToFollow =
  | { kind: "run"; run: string }
  /** A tick has come whose run is still to be submitted: ask again. */
  | { kind: "waits"; tick: Instant }
  /** It has no run that will do. `latest`: one that is too old. */
  | { kind: "none"; latest: { run: string; at: Instant } | null };
