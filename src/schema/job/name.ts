// What can a job be called?
import { Name } from "../common.ts";

/** The longest name of a job: the ids of its runs begin with it. */
export const MAX_JOB_NAME = 40;

/** The name of a job. */
export const JobName = Name.max(MAX_JOB_NAME, `must have at most ${MAX_JOB_NAME} characters`);
