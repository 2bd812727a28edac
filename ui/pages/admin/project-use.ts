// Which pools serve a project, and how much of its quotas does it use there (projects.md#quotas)?
import type { PoolView } from "../../../src/generated/api.ts";
import { DEFAULT_PROJECT } from "../../../src/shared/access/project.ts";
import { formatSize } from "../../../src/shared/size.ts";
import { perHour } from "../../parts/price.ts";

/** The pools that serve a project: without `projects` a pool serves the default one alone. */
export function servedBy(project: string, pools: readonly PoolView[]): PoolView[] {
  return pools.filter(({ config: { projects } }) =>
    projects === undefined ? project === DEFAULT_PROJECT : Object.hasOwn(projects, project),
  );
}

/** What a project uses of a pool, each with the most that it may; in the order of the table's columns. */
export function usesOf(project: string, { projects }: PoolView): { what: string; text: string }[] {
  const use = projects?.[project];
  const { maxRuns, maxInstances, maxCostPerHour, maxStoredBytes } = use?.quota ?? {};
  const unpriced = use === undefined || use.unpriced === 0 ? "" : ` and ${use.unpriced} unpriced`;
  return [
    { what: "queued", text: use === undefined ? "not counted" : String(use.queued) },
    { what: "placed", text: ofMost(use?.placed.toString(), maxRuns?.toString()) },
    { what: "machines", text: ofMost(use?.machines.toString(), maxInstances?.toString()) },
    {
      what: "cost",
      text: ofMost(
        use && `${perHour(use.costPerHour)}${unpriced}`,
        maxCostPerHour === undefined ? undefined : perHour(maxCostPerHour),
      ),
    },
    {
      what: "stored",
      text: ofMost(use?.storedBytes === undefined ? undefined : formatSize(use.storedBytes), maxStoredBytes),
    },
  ];
}

function ofMost(used: string | undefined, most: string | number | undefined): string {
  if (used === undefined) return "not counted";
  return most !== undefined ? `${used} of at most ${most}` : `${used}, no quota`;
}
