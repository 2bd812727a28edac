// How are the machines, costs and hold-offs of a pool put into words?
import type { PoolView, WorkerSummary } from "../../client/types.ts";
import { money } from "../../src/shared/cloud/money.ts";
import { counted } from "./text.ts";

/** What a hold-off prevents, until when, and why. */
export function holdOffText({ scope, until, trying, reason }: PoolView["holdOffs"][number]): string {
  const when = trying ? "one is being tried now" : `until ${until ?? "the pool is applied again"}`;
  const what = scope === "list" ? "machines are not listed" : `no machine is asked for (${scope})`;
  return `${what}, ${when}: ${reason}`;
}

/** What the machines cost per hour, and what they could cost at most; empty if the server does not say. */
export function costsText({ spend, config }: PoolView): string {
  if (spend === undefined) return "";
  const { perHour, unpriced, worstPerHour } = spend;
  const more = unpriced === 0 ? "" : ` and ${counted(unpriced, "machine")} of unknown price`;
  const worst =
    worstPerHour === null
      ? "unknown: a type has no price"
      : `${money(worstPerHour)} with ${config.maxInstances}`;
  return `${money(perHour)} an hour${more}, at most ${worst}`;
}

/** Used for an older server, which omits `unmade`. */
const NONE_UNMADE: NonNullable<PoolView["unmade"]> = { asked: 0, refused: 0 };

/**
 * Counts machines by state, except machines that are gone. Machines that the provider has not made yet are
 * counted separately from booting machines.
 */
export function machinesText({ workers, unmade = NONE_UNMADE }: PoolView): string {
  const { asked, refused, unconfirmed = 0 } = unmade;
  const booting = (workers.booting ?? 0) - asked - refused - unconfirmed;
  const unmadeShown = {
    "asked for": asked,
    "refused by the provider": refused,
    "not confirmed by the provider": unconfirmed,
  };
  const shown = { ...workers, booting, gone: 0, ...unmadeShown };
  const counts = Object.entries(shown).filter(([, count]) => count > 0);
  return counts.length === 0 ? "none" : counts.map(([state, count]) => `${count} ${state}`).join(", ");
}

/** The state of a worker to show; for a booting worker, whether its machine has been made yet. */
export function workerStateText({ state, machine }: Pick<WorkerSummary, "state" | "machine">): string {
  return state === "booting" && machine && machine !== "made" ? machine : state;
}
