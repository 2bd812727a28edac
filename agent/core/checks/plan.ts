// Which checks does a task have (health.md#spec)?
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import type { CheckPlan } from "../types.ts";

/** How the attempts of this task are checked. Undefined: they are not. */
export function checksOf({ checks, checkRestart }: TaskSpec): CheckPlan | undefined {
  if (checks === undefined) return undefined;
  return { checks, ...(checkRestart === undefined ? {} : { restart: checkRestart }) };
}
