import type { Resources } from "../schema/common.ts";
import type { InstanceType } from "../schema/pool.ts";
import type { RunSpec, TaskSpec } from "../schema/run.ts";
import { durationMs } from "./duration.ts";
import { sizeBytes } from "./size.ts";

/** What a spec needs of a machine, in whole numbers. */
export function resourcesOf(spec: RunSpec): Resources {
  const { vcpus, memory, disk, gpus } = spec.resources;
  return { vcpus, memoryBytes: sizeBytes(memory), diskBytes: sizeBytes(disk), gpus };
}

/** What an instance of a type has, in whole numbers. */
export function resourcesOfType(type: InstanceType): Resources {
  const { vcpus, memory, disk, gpus } = type;
  return { vcpus, memoryBytes: sizeBytes(memory), diskBytes: sizeBytes(disk), gpus };
}

/**
 * The tasks of a run. The long form will bring more than one; nothing but this function knows the short form.
 */
export function tasksOf(spec: RunSpec): TaskSpec[] {
  const { argv, env, meta, dir, killSignal } = spec;
  const killTimeoutMs = durationMs(spec.killTimeout);
  const where = dir === undefined ? {} : { dir };
  return [
    { name: "main", argv, env, meta, ...where, resources: resourcesOf(spec), killTimeoutMs, killSignal },
  ];
}
