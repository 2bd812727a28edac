// Which calls to a job remain for a caller (access.md#walls)?
import type { JobApi } from "../../objects/rpc.ts";
import type { JobFields } from "../../schema/job/job.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { grants } from "../../shared/access/scopes.ts";
import { isDroverError } from "../../shared/errors.ts";
import { unknownJob } from "../../shared/jobs/unknown.ts";
import type { Caller } from "../access/caller.ts";
import { hiddenSpec, withHiddenValues } from "./hidden-values.ts";
import {
  beyond,
  idTaken,
  isOfHiddenRun,
  maySeeJob,
  maySeeRun,
  refuseSecrets,
  withinLimits,
} from "./run-limits.ts";

/**
 * A job as it exists for a caller: unknown if its pool is beyond the limits, or if the caller is limited to
 * labels, which a job's parameters may change. Its name says its project, so nobody reaches another one's.
 * Whoever triggers a job needs no scope for the secrets that its author has named.
 */
export function walledJob(api: JobApi, caller: Caller, name: string): JobApi {
  const { limits, scopes } = caller;
  const seen = async () => {
    const job = await api.read();
    if (!maySeeJob(limits, job)) throw unknownJob(name);
    return job;
  };
  const shown = <Fields extends Pick<JobFields, "spec">>(job: Fields): Fields =>
    grants(scopes, "runs:env") ? job : { ...job, spec: hiddenSpec(job.spec) };
  const checked =
    <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    async (...args: Args) => {
      if (limits.labels !== undefined || limits.pools !== undefined) await seen();
      return call(...args);
    };
  /** Names are the project's: nobody replaces by one what the limits hide. */
  const refuseTaken = async () => {
    const existing = await api.read().catch((error) => {
      if (isDroverError(error) && error.code === "unknown_job") return undefined;
      throw error;
    });
    if (existing === undefined || maySeeJob(limits, existing)) return;
    throw beyond("/name", `"${name}" is that of a job that is beyond this token's limits`);
  };
  /** That of the job counts as well: it is what the run would have. */
  const refusePriority = async (asked: number | undefined, most: number) => {
    const priority = asked ?? (await seen()).spec.priority;
    if (priority <= most) return;
    const whose = asked === undefined ? "is that of the job" : "is asked for";
    throw beyond("/priority", `${priority} ${whose}, and this token may ask for ${most} at most: give one`);
  };
  return {
    async put(request) {
      // A spec of a job has no field that a run lacks.
      const spec = request.fields.spec as RunSpec;
      withinLimits(spec, limits, "/spec");
      refuseSecrets(spec, caller, "/spec");
      if (limits.pools !== undefined) await refuseTaken();
      return api.put(request);
    },
    read: async () => shown(await seen()),
    ticks: checked((count, after) => api.ticks(count, after)),
    preview: (...args) => api.preview(...args),
    versions: checked(async () =>
      (await api.versions()).filter(({ spec }) => maySeeJob(limits, { pool: spec.pool })).map(shown),
    ),
    remove: checked((by) => api.remove(by)),
    pause: checked(async (by) => shown(await api.pause(by))),
    resume: checked(async (makeUp, by) => shown(await api.resume(makeUp, by))),
    runToFollow: checked((question) => api.runToFollow(question)),
    trigger: checked(async (request) => {
      if (limits.maxPriority !== undefined) await refusePriority(request.priority, limits.maxPriority);
      const { created, status } = await api.trigger(request).catch((error: unknown) => {
        throw isOfHiddenRun(error, caller) ? taken(request) : error;
      });
      // The job may have had another pool when it made the run.
      if (!created && !maySeeRun(caller, status)) throw taken(request);
      return { created, status: grants(scopes, "runs:env") ? status : withHiddenValues(status) };
    }),
    redrive: checked((request) => api.redrive({ ...request, maxPriority: limits.maxPriority })),
    poke: () => api.poke(),
  };
}

/** The error for a run that the caller may not see. */
function taken({ run }: Parameters<JobApi["trigger"]>[0]) {
  return idTaken(`the id of a run of this ${"tick" in run ? "tick" : "key"}`);
}
