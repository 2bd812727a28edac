// Which project exists without being made (projects.md)?

/** The project of everything that names no other project. It always exists. */
export const DEFAULT_PROJECT = "default";

/** Whether a pool with this configuration serves a project (projects.md#pools). */
export function servesProject(
  { projects }: { projects?: Record<string, unknown> | undefined },
  project: string,
): boolean {
  return projects === undefined ? project === DEFAULT_PROJECT : Object.hasOwn(projects, project);
}
