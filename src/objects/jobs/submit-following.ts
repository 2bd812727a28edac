// How is a run of a job submitted that is to follow other jobs (jobs.md#following)?
import { isDroverError } from "../../shared/errors.ts";
import {
  type CalledForJobs,
  type Follower,
  followJobs,
  problemIn,
  withChosen,
} from "../../shared/jobs/follow-jobs.ts";
import type { Unfollowed } from "../../shared/jobs/unfollowed.ts";
import { PAST } from "../../shared/machine.ts";
import type { AllocationApi, SubmitRequest } from "../rpc.ts";

/**
 * Submits a run of a job once all jobs that it follows have a run. Else it is not made, and the answer says
 * why; but a run that an earlier try has made is found. `isWanted`: whether it still is, once the jobs have
 * answered. Rejects as a submission does.
 */
export async function submitFollowing(
  peers: CalledForJobs & { allocation(run: string): Pick<AllocationApi, "submit"> },
  id: string,
  request: SubmitRequest,
  follower: Follower & { isWanted?: () => boolean },
): Promise<Awaited<ReturnType<AllocationApi["submit"]>> | { problem: Unfollowed }> {
  const chosen = await followJobs(peers, request.spec.after ?? [], follower);
  // An answer that came late may be that of a question which was asked again, and was settled meanwhile.
  if (follower.isWanted?.() === false) throw new Error(`run ${id} is not wanted any more`);
  const spec = withChosen(request.spec, chosen);
  const problem = problemIn(chosen);
  if (problem === undefined) return peers.allocation(id).submit({ ...request, spec });
  try {
    return await peers.allocation(id).submit({ ...request, spec, notAfter: PAST });
  } catch (error) {
    if (isDroverError(error) && error.code === "unknown_run") return { problem };
    throw error;
  }
}
