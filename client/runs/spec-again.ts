// What is submitted when a run is run again (api.md#reruns)?
import type { RunSpec, RunStatus } from "../types.ts";

/** What a rerun changes in the spec of the run that it repeats. `id`: the id of the new run. */
export type RerunChanges = Partial<Omit<RunSpec, "rerunOf">>;

/**
 * The spec of a run as it is now, to be submitted as another run: with its snapshots, which are named by
 * their content, and with `changes`. It follows no other run: who submits a run again wants it to start. For
 * the same reason the failures that have ended its array do not end it.
 */
export function specAgain(
  { id: rerunOf, spec }: Pick<RunStatus, "id" | "spec">,
  changes: RerunChanges,
): RunSpec {
  const { id: _id, after: _after, array, ...same } = spec;
  return { ...same, ...(array === undefined ? {} : { array: withoutFailAt(array) }), ...changes, rerunOf };
}

function withoutFailAt({ failAt: _failAt, ...array }: NonNullable<RunSpec["array"]>): RunSpec["array"] {
  return array;
}
