// How is it said that there is no job of a name? Who must not see one reads the same (access.md#limits).
import { DroverError } from "../errors.ts";

/** The error for a job that does not exist. */
export function unknownJob(name: string): DroverError {
  return new DroverError("unknown_job", `there is no job "${name}"; \`drover jobs list\` shows all`);
}
