// Which projects may use a pool, and how much of it (projects.md#quotas)?
import { z } from "zod";
import { ProjectName, Size } from "../common.ts";

/** The most projects that one pool can serve. */
const MAX_POOL_PROJECTS = 100;

/** What the runs of one project may use of a pool at most (projects.md#quotas). */
export const ProjectQuota = z
  .strictObject({
    maxRuns: z.int().min(1).max(1_000_000).optional().describe("how many of its runs may be placed at once"),
    maxInstances: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe("how many machines may be its own at once; not with `shareMachines`"),
    maxCostPerHour: z
      .number()
      .positive()
      .max(1_000_000)
      .optional()
      .describe("what its machines, or its runs with `shareMachines`, may cost per hour"),
    maxStoredBytes: Size.optional().describe(
      "how many bytes its runs may have stored; then none is accepted",
    ),
  })
  .meta({ id: "ProjectQuota" });
export type ProjectQuota = z.output<typeof ProjectQuota>;

/** What a project uses of a pool now (projects.md#quotas). */
export const ProjectUse = z
  .object({
    queued: z.int().describe("its runs that wait for a place"),
    placed: z.int().describe("its runs that are placed"),
    machines: z.int().describe("machines of a provider that belong to it"),
    costPerHour: z.number().describe("cost of its machines or, with `shareMachines`, of its placed runs"),
    unpriced: z.int().describe("machines or runs of unknown price, not in `costPerHour`"),
    storedBytes: z.int().optional().describe("stored output of its runs; only with `maxStoredBytes`"),
    quota: ProjectQuota,
  })
  .meta({ id: "ProjectUse" });
export type ProjectUse = z.output<typeof ProjectUse>;

/** The projects that a pool serves. */
export const PoolProjects = z
  .record(ProjectName, ProjectQuota)
  .refine((projects) => Object.keys(projects).length >= 1, "must name at least one project")
  .refine(
    (projects) => Object.keys(projects).length <= MAX_POOL_PROJECTS,
    `must be at most ${MAX_POOL_PROJECTS} projects`,
  );
