// Which project does something belong to, and what follows from its id (projects.md)?

/** The project of everything that names no other project. It always exists. */
export const DEFAULT_PROJECT = "default";

/** The longest name of a project, which leaves room for the name of a run in its id. */
export const MAX_PROJECT_CHARS = 28;

/** The names that a project can have. */
export const PROJECT_NAME = new RegExp(`^[a-z0-9][a-z0-9-]{0,${MAX_PROJECT_CHARS - 1}}$`);
const CHARACTERS = "lower-case letters, digits and dashes, not beginning with a dash";
export const PROJECT_NAME_TEXT = `must be 1 to ${MAX_PROJECT_CHARS} ${CHARACTERS}`;

/** Whether a pool with this configuration serves a project (projects.md#pools). */
export function servesProject(
  { projects }: { projects?: Record<string, unknown> | undefined },
  project: string,
): boolean {
  return projects === undefined ? project === DEFAULT_PROJECT : Object.hasOwn(projects, project);
}

/** The projects that a pool with this configuration serves, by name (projects.md#pools). */
export function projectsServed({ projects }: { projects?: Record<string, unknown> | undefined }): string[] {
  return projects === undefined ? [DEFAULT_PROJECT] : Object.keys(projects).sort();
}

/** The project of a run, which its id begins with, unless that is `default` (projects.md#runs). */
export function projectOfRun(run: string): string {
  const dot = run.indexOf(".");
  return dot < 0 ? DEFAULT_PROJECT : run.slice(0, dot);
}

/**
 * The id of a run that a project calls `name`. An id with a project stays as it is, but for `default`, which
 * no id names (projects.md#runs).
 */
export function runIdIn(project: string, name: string): string {
  if (name.startsWith(`${DEFAULT_PROJECT}.`)) return name.slice(DEFAULT_PROJECT.length + 1);
  return project === DEFAULT_PROJECT || name.includes(".") ? name : `${project}.${name}`;
}

/** A name as those outside of its project see it: after the project, unless that is `default`. */
export function nameIn(project: string, name: string, separator: "." | "/" | ":"): string {
  return project === DEFAULT_PROJECT ? name : `${project}${separator}${name}`;
}
