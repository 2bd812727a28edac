// The client's calls about jobs. The operation determines the type of an answer.
import { JOB_LABELS } from "../../src/shared/jobs/labels.ts";
import { type CallOptions, callJson, callStream, MANY_TIMEOUT_MS, type Target } from "../transport/http.ts";
import { ask, callOf } from "../transport/operations.ts";
import type {
  PreviewRequest,
  PutJobRequest,
  RedriveJobRequest,
  RunStatus,
  TriggerRequest,
} from "../types.ts";

/** The run that a trigger has made or found. */
export interface Triggered {
  run: RunStatus;
  /** The run existed already: the same key or the same tick was triggered before, or the tick has come. */
  found: boolean;
}

/** The routes of jobs (jobs.md#the-job). Each call rejects with `ApiError` or `UnreachableError`. */
export function jobsOf(target: Target) {
  return {
    /**
     * Creates the job, or another version of it. The fields that it has already make no version. `paused`
     * pauses or resumes it by the same call.
     */
    put: (name: string, fields: PutJobRequest, options?: CallOptions) =>
      ask(target, "putJob", { path: { name }, body: fields }, options),

    list: (options?: CallOptions) => ask(target, "listJobs", {}, options),

    get: (name: string, options?: CallOptions) => ask(target, "getJob", { path: { name } }, options),

    /** The versions that are kept, newest first. */
    versions: (name: string, options?: CallOptions) =>
      ask(target, "listJobVersions", { path: { name } }, options),

    /** Removes the job. Its runs stay. */
    async remove(name: string, options?: CallOptions): Promise<void> {
      await callStream(target, callOf("deleteJob", { path: { name } }, options));
    },

    /** Skips the ticks of the job until it is resumed. */
    pause: (name: string, options?: CallOptions) =>
      ask(target, "pauseJob", { path: { name } }, { ...options, repeatable: true }),

    /** Ends the pause. With `makeUp`, the ticks of the pause count as missed, and are not skipped. */
    resume: (name: string, { makeUp, ...options }: CallOptions & { makeUp?: boolean } = {}) =>
      ask(target, "resumeJob", { path: { name }, body: { makeUp } }, { ...options, repeatable: true }),

    /**
     * Makes a run, or finds the one of the same `key` or `tick`. Without either, this chooses a key, so that
     * a retry after a lost answer does not make a second run.
     */
    async trigger(name: string, request: TriggerRequest = {}, options: CallOptions = {}): Promise<Triggered> {
      const isNamed = request.key !== undefined || request.tick !== undefined;
      const body = isNamed ? request : { ...request, key: newTriggerKey() };
      const call = callOf("triggerJob", { path: { name }, body }, { ...options, repeatable: true });
      const { value, headers, tries } = await callJson<RunStatus>(target, call);
      return { run: value, found: !headers.has("location") && tries === 1 };
    },

    /**
     * The runs of the job that have failed for good and wait for somebody, newest first: one page. Each says
     * since when, why, and after how many tries.
     */
    parked: (
      name: string,
      { limit, cursor, ...options }: CallOptions & { limit?: number; cursor?: string } = {},
    ) => {
      const query = { label: [`${JOB_LABELS.job}:${name}`], parked: "true" as const, limit, cursor };
      return ask(target, "listRuns", { query }, options);
    },

    /**
     * Has parked runs of the job run again, each once, however often it is called: those in `runs` (up to
     * 100), or with `all` as many as fit into one request; for the others, call again with its `next` as the
     * `cursor`. What could not be redriven is in `failed`.
     */
    redrive: (name: string, which: RedriveJobRequest, options?: CallOptions) =>
      ask(
        target,
        "redriveJob",
        { path: { name }, body: which },
        { ...options, repeatable: true, answerWithinMs: MANY_TIMEOUT_MS },
      ),

    /** The next ticks; with `after` (RFC 3339, in UTC), those after that instant, which may be past. */
    ticks: (
      name: string,
      { count, after, ...options }: CallOptions & { count?: number; after?: string } = {},
    ) => ask(target, "listJobTicks", { path: { name }, query: { count, after } }, options),

    /** What a job or a schedule would be if it were stored. Rejects for fields that `put` would refuse. */
    preview: (name: string, request: PreviewRequest, options?: CallOptions) =>
      ask(target, "previewJob", { path: { name }, body: request }, { ...options, repeatable: true }),
  };
}

/** A key that sorts by time, and that nobody has chosen before. It has 16 characters, the most of a key. */
export function newTriggerKey(): string {
  const random = crypto.randomUUID().replaceAll("-", "").slice(0, 7);
  return `${Date.now().toString(36).padStart(9, "0")}${random}`;
}
