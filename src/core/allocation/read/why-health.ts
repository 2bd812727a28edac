// Why is a run that is running not healthy (health.md#why)?
import { SECOND_PROTOCOL } from "../../../shared/compat.ts";
import type { CheckStatus } from "../../../shared/health/words.ts";
import { iso } from "../../../shared/time/instant.ts";
import { checkedMembers, healthOfRun, statusesOf } from "../health/view.ts";
import type { AllocationRecord, CheckRecord } from "../state.ts";
import type { Member } from "../tasks/tasks.ts";

/**
 * The reason while a run is running and not healthy: the first check that fails, warns, or has not passed.
 * Undefined: it is healthy, or has no checks.
 */
export function whyUnhealthy(
  record: AllocationRecord,
): { code: "unhealthy" | "not_healthy"; text: string } | undefined {
  const health = healthOfRun(record);
  if (health === undefined || health === "healthy") return undefined;
  const worst: CheckStatus =
    health === "unhealthy" ? "critical" : health === "warning" ? "warning" : "pending";
  const members = checkedMembers(record);
  const member = members.find((one) => statusesOf(one).includes(worst));
  if (member === undefined) return undefined;
  const name = (member.task.spec.checks ?? [])[statusesOf(member).indexOf(worst)]?.name ?? "";
  const item = itemOf(member, name);
  const logs = `To see what the task says: drover logs ${record.id}`;
  const text = `task ${member.task.name}: ${sentence(member, name, item, worst)}. ${logs}`;
  return { code: worst === "critical" ? "unhealthy" : "not_healthy", text };
}

function itemOf({ known, attempt }: Member, name: string): CheckRecord | undefined {
  if (known.checks === undefined || known.checks.attempt !== attempt?.id) return undefined;
  return known.checks.items.find((item) => item.name === name);
}

function sentence(
  { phase }: Member,
  name: string,
  item: CheckRecord | undefined,
  status: CheckStatus,
): string {
  const output = item?.output === undefined ? "" : `: ${item.output.replace(/[.\s]+$/, "")}`;
  const since = item === undefined ? "" : ` since ${iso(item.since)}`;
  if (status === "critical") return `check \`${name}\` fails${since}${output}`;
  if (status === "warning") return `check \`${name}\` warns${since}${output}`;
  switch (phase.kind) {
    case "dead":
      return `it has ended, so check \`${name}\` cannot pass any more`;
    case "running":
      if (item === undefined && phase.attempt.protocol < SECOND_PROTOCOL)
        return `check \`${name}\` is not tried: the agent of its host is too old for that; update that agent`;
      return `check \`${name}\` has not passed yet${output}`;
    default:
      return `check \`${name}\` is tried once the task runs`;
  }
}
