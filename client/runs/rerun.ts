// The client's call that submits a run again.
import type { Target } from "../transport/http.ts";
import { type SubmitOptions, type SubmitResult, singleRunsOf, submissionsOf } from "./runs.ts";
import { type RerunChanges, specAgain } from "./spec-again.ts";

export { type RerunChanges, specAgain } from "./spec-again.ts";

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
