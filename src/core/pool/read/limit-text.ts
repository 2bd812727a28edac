// How does `why` say which quota or budget holds a run back, and what uses it?
import type { Held } from "../plan/limits.ts";
import type { RunRow } from "../record.ts";

/** Whether the run is beyond the limit by itself, so that it waits for no other run. */
export function isBeyondReach({ adds, most }: Held): boolean {
  return adds === null || adds > most;
}

/**
 * Why a limit holds the run back: the limit, what uses it, and what the run would add (projects.md#quotas,
 * pool.md#arrays).
 */
export function heldText(held: Held | undefined, { project, array, concurrency }: RunRow): string {
  if (held === undefined) return "a limit of its project or its token holds it back";
  const { limit, most, used, adds } = held;
  const whose = `its project, "${project}",`;
  switch (limit) {
    case "maxRuns":
      return `${whose} is at its limit in this pool (\`maxRuns\` = ${most}; placed, or about to be: ${used})`;
    case "maxInstances":
      return (
        `no machine of its project has room, and ${whose} is at its limit in this pool ` +
        `(\`maxInstances\` = ${most}; there, or being made: ${used})`
      );
    case "maxCostPerHour":
      return (
        `${whose} costs ${money(used)} per hour in this pool; with this run it would cost at least ` +
        `${money(used + (adds ?? 0))}, and \`maxCostPerHour\` is ${money(most)}`
      );
    case "maxParallel":
      return (
        `${used} of ${most} runs of its array, "${array?.id}", that may run at once are placed, ` +
        "or about to be (`maxParallel`)"
      );
    case "concurrency":
      return (
        `${used} of ${most} runs with its concurrency key, "${concurrency?.key}", that may run at once are ` +
        "placed, or about to be"
      );
    case "budget":
      return budgetText(held);
  }
}

function budgetText({ most, used, adds }: Held): string {
  const budget = `the budget of its token is ${money(most)} per hour in each pool`;
  if (adds === null) return `${budget}, and what it would cost is unknown, as the prices of machines are`;
  const now = `the runs that are paid from it cost ${money(used)} here`;
  return `${budget}; ${now}, and with this one at least ${money(used + adds)}`;
}

/** A price per hour with as many decimals as it needs, and no more than four. */
function money(amount: number): string {
  return String(Number(amount.toFixed(4)));
}
