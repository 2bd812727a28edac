// Which `NOMAD_*` variables does a task get with `compat: "nomad"`?
import type { TaskSpec } from "../../../src/schema/run/run.ts";

const SHORT_ID_CHARS = 8;
/** Nomad counts processor time in MHz. One vCPU of a task counts as this many. */
const MHZ_PER_VCPU = 1_000;

/** Variables that have the same value under Nomad's prefix as under Drover's. */
const SAME = ["ALLOC_DIR", "TASK_DIR", "SECRETS_DIR", "TASK_NAME", "MEMORY_LIMIT"] as const;

/**
 * Nomad's variables for a task (`compat: "nomad"`), from Drover's `variables`. A run counts as the only alloc
 * of the only group of a job. There are no variables for things that Drover does not have (regions, ports,
 * tokens).
 */
export function nomadVariables(
  { resources }: Pick<TaskSpec, "resources">,
  run: string,
  variables: Record<string, string>,
): Record<string, string> {
  const same = SAME.map((name) => [`NOMAD_${name}`, variables[`DROVER_${name}`] ?? ""]);
  return {
    ...Object.fromEntries(same),
    NOMAD_ALLOC_ID: run,
    NOMAD_SHORT_ALLOC_ID: run.slice(0, SHORT_ID_CHARS),
    NOMAD_ALLOC_NAME: `${run}.${run}[0]`,
    NOMAD_ALLOC_INDEX: "0",
    NOMAD_JOB_ID: run,
    NOMAD_JOB_NAME: run,
    NOMAD_GROUP_NAME: run,
    NOMAD_CPU_LIMIT: String(Math.round(resources.vcpus * MHZ_PER_VCPU)),
  };
}
