// Which attempts does a task have, and can there be more?
import type { CallOptions, Target } from "../transport/http.ts";
import { ask } from "../transport/operations.ts";

/** The known attempts of a task. */
export interface KnownAttempts {
  /** The ends of the attempts' ids, such as `1.2`, oldest first. Only the latest attempts are kept. */
  names: string[];
  /** Whether there will be no further attempt. */
  isOver: boolean;
  /** The number of the run's latest event when the attempts were read. */
  lastEvent: number;
}

/** Reads which attempts a task has. */
export async function attemptsOf(
  target: Target,
  run: string,
  task: string,
  options: CallOptions,
): Promise<KnownAttempts> {
  const { tasks } = await ask(target, "getRun", { path: { id: run } }, options);
  const known = tasks.find(({ name }) => name === task);
  return {
    names: known?.attempts.map(({ id }) => id.slice(id.lastIndexOf("/") + 1)) ?? [],
    isOver: known === undefined || known.phase === "dead",
    lastEvent: Math.max(0, ...tasks.flatMap(({ events }) => events.map(({ seq }) => seq))),
  };
}
