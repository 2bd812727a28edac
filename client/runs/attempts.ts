import type { CallOptions, Target } from "../transport/http.ts";
import { ask } from "../transport/operations.ts";

/** What is known of the attempts of a task. */
export interface Attempts {
  /** The ends of their ids, such as `1.2`, oldest first. Of very many only the latest are kept. */
  names: string[];
  /** No other will come. */
  isOver: boolean;
  /** The number of the run's latest event that the same read has shown. */
  seen: number;
}

/** Reads which attempts a task has. */
export async function attemptsOf(
  target: Target,
  run: string,
  task: string,
  options: CallOptions,
): Promise<Attempts> {
  const { tasks } = await ask(target, "getRun", { path: { id: run } }, options);
  const known = tasks.find(({ name }) => name === task);
  return {
    names: known?.attempts.map(({ id }) => id.slice(id.lastIndexOf("/") + 1)) ?? [],
    isOver: known === undefined || known.phase === "dead",
    seen: Math.max(0, ...tasks.flatMap(({ events }) => events.map(({ seq }) => seq))),
  };
}
