// Which projects exist, and by which names do they call what is theirs (projects.md#what-exists)?
import type { Project } from "../../schema/access/project.ts";
import { DEFAULT_PROJECT, nameIn } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";

/** The most projects that there may be besides `default`. */
export const MAX_PROJECTS = 1_000;

/** A stored project. `default` has no row. */
export interface ProjectRow {
  name: string;
  createdAt: Instant;
  createdBy: string;
}

/** Something of a project, by the name that the project has for it. */
export interface Named {
  project: string;
  name: string;
}

export type ProjectEvent =
  | { type: "project_created"; name: string; by: string }
  | { type: "project_deleted"; name: string; by: string };

/** The key of a row that a project owns: names are each project's own (projects.md#what-exists). */
export function keyOf({ project, name }: Named): string {
  return nameIn(project, name, "/");
}

/** Applies a request for a project to the table. */
export function foldProject(projects: Rows<ProjectRow>, event: ProjectEvent, now: Instant): void {
  const known = projects.get(event.name) !== undefined;
  if (event.type === "project_deleted") {
    if (known) projects.delete(event.name);
    return;
  }
  if (known || event.name === DEFAULT_PROJECT) return;
  projects.set(event.name, { name: event.name, createdAt: now, createdBy: event.by }, now);
}

/** Whether there is such a project. */
export function hasProject(projects: ReadonlyRows<ProjectRow>, name: string): boolean {
  return name === DEFAULT_PROJECT || projects.get(name) !== undefined;
}

/** Why a project cannot be made; null: it can. */
export function refusalOfNewProject(projects: ReadonlyRows<ProjectRow>, name: string): DroverError | null {
  if (hasProject(projects, name))
    return new DroverError("project_exists", `there is a project "${name}" already`);
  if ([...projects.live()].length < MAX_PROJECTS) return null;
  const text = `there are ${MAX_PROJECTS} projects already; delete those that are not used any more`;
  return new DroverError("busy", text);
}

/** The error for a project that does not exist. */
export function unknownProject(name: string): DroverError {
  const text = `there is no project "${name}"; \`drover projects list\` shows those that there are`;
  return new DroverError("unknown_project", text);
}

/** A project as its operator sees it. */
export function projectView({ name, createdAt, createdBy }: ProjectRow): Project {
  return { name, createdAt: iso(createdAt), createdBy };
}

/** All projects by name, `default` first. */
export function projectViews(projects: ReadonlyRows<ProjectRow>): Project[] {
  const made = [...projects.live()].sort((a, b) => (a.name < b.name ? -1 : 1)).map(projectView);
  return [{ name: DEFAULT_PROJECT, createdAt: null, createdBy: null }, ...made];
}
