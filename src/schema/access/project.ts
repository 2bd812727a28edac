// What do the routes of projects accept and answer (projects.md)?
import { z } from "zod";
import { InstantText, ProjectName } from "../common.ts";

/** `POST /v1/projects`. */
export const ProjectRequest = z.strictObject({
  name: ProjectName.describe("the ids of its runs begin with this name"),
});

/** A project. */
export const Project = z
  .object({
    name: z.string(),
    createdAt: InstantText.nullable().describe("null: it is `default`, which always exists"),
    createdBy: z.string().nullable(),
  })
  .meta({ id: "Project" });
export type Project = z.infer<typeof Project>;

export const ProjectList = z.object({ items: z.array(Project), next: z.null() }).meta({ id: "ProjectList" });
