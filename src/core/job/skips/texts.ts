// What do people read about a tick without a run: why, and what to do (jobs.md#skips)?
import type { JobSkipReason } from "../../../schema/job/job.ts";

/** By reason. Those of `overlap` and `refused` are the words of whoever refused the run. */
export const SKIP_TEXTS: Record<Exclude<JobSkipReason, "overlap" | "refused">, string> = {
  paused: "the job was paused; `drover jobs trigger --tick` runs it",
  missed: "nobody could handle it in time, and `missed` is `skip`; `drover jobs trigger --tick` runs it",
  too_old: "nobody could handle it within `catchUp`; `drover jobs trigger --tick` runs it",
  superseded: "nobody could handle it in time, and a later tick runs for it, since `missed` is `one`",
  over_cap:
    "nobody could handle it in time, and the 100 ticks after it run; `drover jobs trigger --tick` runs it",
  not_submitted:
    "its run could not be submitted within `catchUp`: the pool did not answer, or was busy; " +
    "`drover jobs trigger --tick` runs it",
};
