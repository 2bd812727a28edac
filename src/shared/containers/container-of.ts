// In which container does a task run?

/** What says it: of a task, or of its group. */
interface Contained<Container> {
  container?: Container | undefined;
}

/**
 * The container of a task: its own, or else that of its group, unless its driver is another
 * (containers.md#fields). Undefined: none.
 */
export function containerOf<Container>(
  { container }: Contained<Container>,
  task: Contained<Container> & { driver?: string | undefined },
): Container | undefined {
  return task.driver === "exec" || task.driver === "fake" ? undefined : (task.container ?? container);
}
