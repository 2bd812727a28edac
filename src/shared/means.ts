/** The driver that a task names. One that names none is a command. */
export function driverOf({ fake }: { fake?: unknown }): "exec" | "fake" {
  return fake === undefined ? "exec" : "fake";
}

/**
 * Fields of a task that the first version of the agent did not know. Not `umask`: `drover run` says that of
 * each command from the place where it is called, so it would keep them from any host without such means.
 */
const TASK_ACTS = ["artifacts", "compat", "fake", "outputs", "snapshot", "stdin", "user"] as const;
type Act = (typeof TASK_ACTS)[number];
/** The same of the order for an attempt. */
const START_DELAY = "startInMs";
/** It says `timedOut` of each attempt that ended because its time was over, and of no other. */
const TIME_LIMIT = "timedOut";

/**
 * The fields of an order and its task that an agent of this version acts on, and the first version did not
 * know. One that does not know a field would start the task as if it were not there, so agents say what they
 * act on (`Means`). Whoever adds a field that must not be ignored adds it here.
 */
export const ACTS = [...TASK_ACTS, START_DELAY, TIME_LIMIT] as const;

/** What an agent must act on to run these tasks as they are meant. */
export function needsOf(tasks: Partial<Record<Act, unknown>>[]): Act[] {
  return TASK_ACTS.filter((act) => tasks.some((task) => task[act] !== undefined));
}

/** What of it an agent does not act on. Absent `acts`: it is one of the first version. */
export function lackedOf(needs: readonly string[] = [], acts: readonly string[] = []): string[] {
  return needs.filter((need) => !acts.includes(need));
}

/** Whether an agent that acts on these starts an attempt no sooner than its order says. */
export function waitsToStart(acts: readonly string[] = []): boolean {
  return acts.includes(START_DELAY);
}

/** Whether an agent that acts on these ends attempts at their time limits, and says which ended by that. */
export function keepsTimeLimits(acts: readonly string[] = []): boolean {
  return acts.includes(TIME_LIMIT);
}
