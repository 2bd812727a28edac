// Can a pool ever place the next try of a run, and what would an hour of it cost (retry.md#out-of-reach)?
import type { Resources } from "../../../schema/common.ts";
import { formatSize } from "../../../shared/size.ts";
import type { Needs, NextTryTerms, RunUpsert } from "../../run/run-upsert.ts";
import { resourcesOfType } from "../../spec.ts";
import { eligibleOffers, offersOf } from "../plan/eligible.ts";
import { fitsSelfHosted } from "../plan/seen/self-hosted.ts";
import { typesOf } from "../plan/types.ts";
import { shareOfPrice } from "../read/money.ts";
import type { RunRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";

/** A run, as far as it matters which machines can hold it. */
type Held = Pick<RunRow, "project" | "resources" | "asks" | "containers">;

/** Whether some machine that the pool has or may ask for can hold a run when it is empty. */
export function isInReach(state: ReadonlyConfigured, run: Held): boolean {
  const { config } = state.record;
  // Any machine may join a pool without a provider.
  if (config.provider.kind === "none") return true;
  return eligibleOffers(config, run).length > 0 || fitsSelfHosted(state, config, run);
}

/** Which of the later tries of a run no machine of the pool could hold. Undefined: none. */
export function escalationOutOfReach(state: ReadonlyConfigured, upsert: RunUpsert): string | undefined {
  const needs = upsert.escalations?.find((one) => !isInReach(state, asHeld(upsert, one)));
  if (needs === undefined) return undefined;
  const isMore = needs.resources.memoryBytes > upsert.resources.memoryBytes;
  const field = isMore ? "retry.escalate.oom" : "retry.escalate.interrupted";
  const what = isMore
    ? `ask for ${resourcesText(needs.resources)}`
    : "ask for a machine that its cloud does not take back";
  const why = `no instance type of the pool could hold its next try: after \`${field}\` it would ${what}`;
  return `${why}; there is ${typesText(state)}; leave \`${field}\` out, or add such a type`;
}

/** Without the asks of the run: an escalation names all of its own. */
function asHeld({ asks: _, ...upsert }: RunUpsert, needs: Needs): Held {
  return { ...upsert, ...needs };
}

/** What the pool tells a run that has been tried before of its next try. */
export function termsOfNextTry(state: ReadonlyConfigured, row: RunRow): NextTryTerms {
  if (row.retried === undefined) return {};
  if (!isInReach(state, row)) {
    const asks = `its next try asks for ${resourcesText(row.resources)}${spotText(row)}`;
    const types = typesText(state);
    return { outOfReach: `${asks}, and no machine of its pool can hold that: there is ${types}` };
  }
  const rates = eligibleOffers(state.record.config, row, offersOf(state.record)).flatMap(({ type }) => {
    return type.price === undefined ? [] : shareOfPrice(row.resources, resourcesOfType(type), type.price);
  });
  return rates.length === 0 ? {} : { offeredRate: Math.min(...rates) };
}

function spotText({ asks }: RunRow): string {
  return asks?.spot === "never" ? " on a machine that its cloud does not take back" : "";
}

/** The requested resources as text. Disk and GPUs are named only if they are not 0. */
export function resourcesText({ vcpus, memoryBytes, diskBytes, gpus }: Resources): string {
  return [
    `${vcpus} vCPUs`,
    `${formatSize(memoryBytes)} of memory`,
    ...(diskBytes === 0 ? [] : [`${formatSize(diskBytes)} of disk`]),
    ...(gpus === 0 ? [] : [`${gpus} GPUs`]),
  ].join(", ");
}

/** The instance types of a pool as text, for a run that none of them can hold. */
export function typesText(state: ReadonlyConfigured): string {
  return [...typesOf(state.record.config)]
    .map(([name, type]) => `${name} (${type.vcpus} vCPUs, ${type.memory} memory, of which 95 % is usable)`)
    .join(", ");
}
