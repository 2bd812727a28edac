// What can happen to a job?
import type { ErrorCode } from "../../shared/errors.ts";
import type { Caused } from "../audit/via.ts";
import type { OwedTick } from "./record.ts";
import type { JobListing } from "./summary.ts";
import type { Put } from "./versions.ts";

/** What came of the submission of a tick's run. */
export type TickOutcome =
  | { kind: "made" }
  /** It is not made yet: its job is to ask again. */
  | { kind: "waits"; text: string }
  /** It was not there by `notAfter`, so it will never be made. */
  | { kind: "too_late" }
  /** It will never be made. */
  | { kind: "refused"; code: ErrorCode; text: string };

/** What a user asks of a job. */
export type JobRequest = Caused &
  (
    | ({ type: "put" } & Put)
    | { type: "pause"; by: string }
    /** `makeUp`: the ticks of the pause count as missed, and are not skipped. */
    | { type: "resume"; by: string; makeUp: boolean }
    | { type: "remove"; by: string }
  );

export type JobEvent =
  | { type: "tick" }
  /** The alarm fires. Whoever applies this waits for what is held before the alarm is over (jobs.md#held). */
  | { type: "woken" }
  | JobRequest
  | { type: "submitted"; sent: OwedTick; outcome: TickOutcome }
  /** The registry has this. */
  | { type: "listed"; sent: JobListing };
