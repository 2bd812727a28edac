// What does a job say, without what it is?
import type { Job, JobFields } from "../../client/types.ts";

/** The fields of the job's present version, as `PUT` takes them. Those that it does not have are absent. */
export function saidBy({ description, spec, params, payload, payloadFile, meta, schedule }: Job): JobFields {
  const all = { description, spec, params, payload, payloadFile, meta, schedule };
  // What is left has the fields that a stored job must have.
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JobFields;
}
