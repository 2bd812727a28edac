// Which projects exist, and by which names do they call what is theirs (projects.md#what-exists)?
import type { Project } from "../../schema/access/project.ts";
import { DEFAULT_PROJECT, nameIn } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";

/** The most projects that can ever be made. */
export const MAX_PROJECTS = 1_000;

/** A stored project. `default` has no row. */
export interface ProjectRow {
  name: string;
  createdAt: Instant;
  createdBy: string;
  /** When it was deleted. Its name is not given again: old runs have it in their ids. Null: it exists. */
  deletedAt: Instant | null;
}

/** Something of a project, by the name that the project has for it. */
export interface Named {
  project: string;
  name: string;
}

export type ProjectEvent =
  | { type: "project_created"; name: string; by: string }
  | { type: "project_deleted"; name: string; by: string };

/**
 * How many of at most `most` things one project may have: any but `default` a tenth, so that none can use up
 * what is there for all (projects.md#bounds).
 */
export function partOf(most: number, project: string): number {
  return project === DEFAULT_PROJECT ? most : Math.ceil(most / 10);
}

/** Whether a project has as many of these as it may, or all projects together have. */
export function isFull(rows: readonly { project: string }[], most: number, project: string): boolean {
  if (rows.length >= most) return true;
  if (project === DEFAULT_PROJECT) return false;
  return rows.filter((row) => row.project === project).length >= partOf(most, project);
}

/** The error for one thing more than a project may have. `what`: the things, and how to end some. */
export function tooManyOf(what: [name: string, advice: string], most: number, project: string): DroverError {
  const [name, advice] = what;
  return new DroverError("busy", `there are ${partOf(most, project)} ${name} already; ${advice}`);
}

/** The key of a row that a project owns: names are each project's own (projects.md#what-exists). */
export function keyOf({ project, name }: Named): string {
  return nameIn(project, name, "/");
}

/** Applies a request for a project to the table. */
export function foldProject(projects: Rows<ProjectRow>, event: ProjectEvent, now: Instant): void {
  const { name } = event;
  const known = projects.get(name);
  if (event.type === "project_deleted") {
    if (known !== undefined) projects.set(name, { ...known, deletedAt: now }, now);
    return;
  }
  if (known !== undefined || name === DEFAULT_PROJECT) return;
  projects.set(name, { name, createdAt: now, createdBy: event.by, deletedAt: null }, now);
}

/** Whether there is such a project. */
export function hasProject(projects: ReadonlyRows<ProjectRow>, name: string): boolean {
  return name === DEFAULT_PROJECT || projects.get(name)?.deletedAt === null;
}

/** Why a project cannot be made; null: it can. */
export function refusalOfNewProject(projects: ReadonlyRows<ProjectRow>, name: string): DroverError | null {
  if (hasProject(projects, name))
    return new DroverError("project_exists", `there is a project "${name}" already`);
  if (projects.get(name) !== undefined) {
    const text = `there was a project "${name}", and runs of it may be left; choose another name`;
    return new DroverError("project_exists", text);
  }
  if ([...projects.live()].length < MAX_PROJECTS) return null;
  const text = `${MAX_PROJECTS} projects have been made already, and their names are not given again`;
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
  const made = [...projects.live()]
    .filter(({ deletedAt }) => deletedAt === null)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(projectView);
  return [{ name: DEFAULT_PROJECT, createdAt: null, createdBy: null }, ...made];
}
