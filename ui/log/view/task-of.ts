// Of which task does somebody want to see the output first?
import type { RunStatus } from "../../../src/generated/api.ts";

type Task = Pick<RunStatus["tasks"][number], "name" | "failed" | "startedAt" | "phase">;

/** What decides it, of a run. */
interface Tasks {
  tasks: readonly Task[];
  spec: { tasks?: readonly { name: string; leader?: boolean | undefined }[] | undefined };
}

/** The task that has failed, else the leader if it has begun, else one that runs, else the first one. */
export function taskToShow({ tasks, spec }: Tasks): string {
  const leader = spec.tasks?.find((task) => task.leader === true)?.name;
  const found =
    tasks.find(({ failed }) => failed) ??
    tasks.find(({ name, startedAt }) => name === leader && startedAt !== null) ??
    tasks.find(({ phase }) => phase === "running") ??
    tasks[0];
  return found?.name ?? "main";
}
