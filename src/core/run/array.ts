// What does the command of a run learn about its place in an array?
import type { RunSpec } from "../../schema/run/run.ts";
import { escapeReferences } from "../../shared/references.ts";

/** The variables of a run that belongs to an array, below those of its `env` (tasks.md#env-12). */
export function arrayEnvironment({ array }: Pick<RunSpec, "array">): Record<string, string> {
  if (array === undefined) return {};
  const { id, index, size, matrix = {} } = array;
  const values = Object.entries(matrix).map(([axis, value]) => {
    return [`DROVER_MATRIX_${axis.toUpperCase()}`, escapeReferences(value)];
  });
  return {
    DROVER_ARRAY_ID: id,
    DROVER_ARRAY_INDEX: String(index),
    DROVER_ARRAY_SIZE: String(size),
    ...Object.fromEntries(values),
  };
}
