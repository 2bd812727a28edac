// The client's call that submits a run again.
import type { Target } from "../transport/http.ts";
import type { RunSpec, RunStatus } from "../types.ts";
import { type SubmitOptions, type SubmitResult, singleRunsOf, submissionsOf } from "./runs.ts";

/** What a rerun changes in the spec of the run that it repeats. `id`: the id of the new run. */
export type RerunChanges = Partial<Omit<RunSpec, "rerunOf">>;

/**
 * The spec of a run as it is now, to be submitted as another run: with its snapshots, which are named by
 * their content, and with `changes`. It follows no other
 * run: who submits a run again wants it to start.
 */
export function specAgain(
  { id: rerunOf, spec }: Pick<RunStatus, "id" | "spec">,
  changes: RerunChanges,
): RunSpec {
  const { id: _id, after: _after, ...same } = spec;
  return { ...same, ...changes, rerunOf };
}

/** Running again (api.md#reruns). */
export function rerunsOf(target: Target) {
  const { get } = singleRunsOf(target);
  const { submit } = submissionsOf(target);
  return {
    /**
     * Submits a run again, whether or not it has ended. Without an id in `changes`, a repeated call makes
     * another run.
     */
    async rerun(
      run: string,
      changes: RerunChanges = {},
      { key, ...options }: SubmitOptions = {},
    ): Promise<SubmitResult> {
      return submit(specAgain(await get(run, options), changes), { key, ...options });
    },
  };
}
