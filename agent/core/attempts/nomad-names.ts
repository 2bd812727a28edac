// Which `NOMAD_*` variables does a task get with `compat: "nomad"`?
import type { TaskSpec } from "../../../src/schema/run/run.ts";

const SHORT_ID_CHARS = 8;
/** Nomad counts processor time in MHz. One vCPU of a task counts as this many. */
const MHZ_PER_VCPU = 1_000;

/** Variables of Drover that Nomad has under another prefix, with the same value. */
const SAME = ["ALLOC_DIR", "TASK_DIR", "SECRETS_DIR", "TASK_NAME", "MEMORY_LIMIT"] as const;

/**
 * What Drover tells a task, under the names that Nomad has for it (`compat: "nomad"`). A run is the only
 * alloc of its only group, in a job of its own. What has no counterpart (regions, ports, tokens) has no
 * variable.
 */
export function nomadVariables(
  { resources }: Pick<TaskSpec, "resources">,
  run: string,
  told: Record<string, string>,
): Record<string, string> {
  const same = SAME.map((name) => [`NOMAD_${name}`, told[`DROVER_${name}`] ?? ""]);
  return {
    ...Object.fromEntries(same),
    NOMAD_ALLOC_ID: run,
    NOMAD_SHORT_ALLOC_ID: run.slice(0, SHORT_ID_CHARS),
    NOMAD_ALLOC_NAME: `${run}.${run}[0]`,
    NOMAD_ALLOC_INDEX: "0",
    NOMAD_JOB_ID: run,
    NOMAD_JOB_NAME: run,
    NOMAD_GROUP_NAME: run,
    NOMAD_CPU_LIMIT: String(resources.vcpus * MHZ_PER_VCPU),
  };
}
