/** The part of a task that says what its end means for its run. */
interface Placed {
  name: string;
  leader?: boolean | undefined;
  lifecycle?: { hook?: unknown } | undefined;
}

/**
 * The task whose end is the run's: its leader, or its one main task (api.md#result-task). None, if there are
 * several main tasks and no leader.
 */
export function resultTaskOf(tasks: readonly Placed[]): string | undefined {
  const mains = tasks.filter(({ lifecycle }) => lifecycle?.hook === undefined);
  return tasks.find(({ leader }) => leader)?.name ?? (mains.length === 1 ? mains[0]?.name : undefined);
}
