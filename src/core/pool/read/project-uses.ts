// What does each project use of a pool (projects.md#quotas)?
import type { ProjectQuota, ProjectUse } from "../../../schema/pool/quota.ts";
import { countOf, usageOf } from "../plan/limits.ts";
import type { ReadonlyConfigured } from "../state.ts";

/** What each project uses, by the counts that its quotas bind. */
export function projectUses(
  state: ReadonlyConfigured,
  projects: Readonly<Record<string, ProjectQuota>>,
): Record<string, ProjectUse> {
  const usage = usageOf(state);
  const queued = new Map<string, number>();
  for (const { project } of state.memo.index.queue) queued.set(project, countOf(queued, project) + 1);
  const uses = Object.entries(projects).map(([project, quota]): [string, ProjectUse] => {
    const stored =
      quota.maxStoredBytes === undefined ? {} : { storedBytes: state.memo.storedBytes.of(project) };
    const use = {
      queued: countOf(queued, project),
      placed: countOf(usage.runs, project),
      machines: countOf(usage.machines, project),
      costPerHour: countOf(usage.cost, project),
      unpriced: countOf(usage.unpriced, project),
      ...stored,
      quota,
    };
    return [project, use];
  });
  return Object.fromEntries(uses);
}
