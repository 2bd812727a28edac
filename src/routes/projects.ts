// The routes of projects: make, list, delete (projects.md).
import { z } from "zod";
import { Project, ProjectList, ProjectRequest } from "../schema/access/project.ts";
import { ProjectName } from "../schema/common.ts";
import type { EdgeApp } from "./edge.ts";
import { operation } from "./openapi/operation.ts";
import { jsonAnswer, jsonBody } from "./openapi/params.ts";

const ofProjects = { tag: "Projects", access: "projects:write" } as const;

const create = operation({
  ...ofProjects,
  method: "post",
  path: "/v1/projects",
  operationId: "createProject",
  codes: ["project_exists", "busy"],
  summary: "Make a project: runs, tokens, secrets, webhooks and log entries behind one wall",
  description:
    "It needs a token of its own, which the break-glass secret makes with the header `Drover-Project`, and " +
    "a pool whose `projects` name it.",
  request: { body: jsonBody(ProjectRequest) },
  responses: { 201: jsonAnswer("it exists from now on", Project, ["Location"]) },
});

const list = operation({
  ...ofProjects,
  method: "get",
  path: "/v1/projects",
  operationId: "listProjects",
  summary: "All projects, by name",
  responses: { 200: jsonAnswer("the projects", ProjectList) },
});

const remove = operation({
  ...ofProjects,
  method: "delete",
  path: "/v1/projects/{name}",
  operationId: "deleteProject",
  codes: ["unknown_project", "project_in_use"],
  summary: "Delete a project of which nothing is left",
  description:
    "It must have no valid token, trust rule, secret or webhook, and no pool may name it. Its ended runs " +
    "and its entries are forgotten in their time.",
  request: { params: z.object({ name: ProjectName.describe("the project's name") }) },
  responses: { 204: { description: "it is deleted" } },
});

/** Adds the routes of projects (projects.md). */
export function projectRoutes(app: EdgeApp): void {
  app.openapi(create, async (c) => {
    const project = await c.var.objects.registry().createProject(c.req.valid("json").name, c.var.caller.by);
    c.header("Location", `/v1/projects/${project.name}`);
    return c.json(project, 201);
  });
  app.openapi(list, async (c) =>
    c.json({ items: await c.var.objects.registry().projects(), next: null }, 200),
  );
  app.openapi(remove, async (c) => {
    await c.var.objects.registry().removeProject(c.req.valid("param").name, c.var.caller.by);
    c.var.access.projects.forget();
    return c.body(null, 204);
  });
}
