// What is said where a job has no run that another run can follow (jobs.md#following)?
import type { AfterJob } from "../after/entries.ts";
import type { ErrorCode } from "../errors.ts";
import { iso } from "../time/instant.ts";
import type { FollowQuestion, ToFollow } from "./to-follow.ts";

/** An entry of `after` for which there is no run. */
export interface Unfollowed {
  /** Its place in `after`. */
  index: number;
  code: Extract<ErrorCode, "unknown_job" | "unknown_run" | "not_acknowledged">;
  /** Begins with a verb: it stands behind a pointer. */
  detail: string;
}

/** Why a job has no run to follow, or none yet. Undefined `answer`: there is no such job. */
export function unfollowed(
  { job, maxAge }: AfterJob,
  { tick }: Pick<FollowQuestion, "tick">,
  answer: Exclude<ToFollow, { kind: "run" }> | undefined,
): Omit<Unfollowed, "index"> {
  const names = `names job "${job}"`;
  if (answer === undefined)
    return { code: "unknown_job", detail: `${names}, which does not exist, or no longer: store it first` };
  if (answer.kind === "waits") {
    const of = `the run of its tick ${iso(answer.tick)}`;
    return { code: "not_acknowledged", detail: `${names}, and ${of} is not submitted yet: ask again` };
  }
  const when = tick === null ? "" : ` from ${iso(tick)} or before`;
  const flag = tick === null ? "" : " --tick <instant>";
  const advice = `run it first, with \`drover jobs trigger ${job}${flag}\``;
  const isNone = `which has no run${when}${maxAge === undefined ? "" : ` that is at most ${maxAge} old`}`;
  if (answer.latest === null) return { code: "unknown_run", detail: `${names}, ${isNone}: ${advice}` };
  const { run, at } = answer.latest;
  const old = `whose latest run${when}, ${run} of ${iso(at)}, is older than ${maxAge}`;
  return { code: "unknown_run", detail: `${names}, ${old}: ${advice}` };
}
