// Which task decides the result of a run?
/** The fields of a task that determine its role in its run. */
interface TaskRole {
  name: string;
  leader?: boolean | undefined;
  lifecycle?: { hook?: unknown } | undefined;
}

/**
 * The name of the task that gives the run its result: the leader, or the only main task (api.md#result-task).
 * Undefined if there are several main tasks and no leader.
 */
export function resultTaskOf(tasks: readonly TaskRole[]): string | undefined {
  const mains = tasks.filter(({ lifecycle }) => lifecycle?.hook === undefined);
  return tasks.find(({ leader }) => leader)?.name ?? (mains.length === 1 ? mains[0]?.name : undefined);
}
