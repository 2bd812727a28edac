// Which project does a request name, and may its caller act there (projects.md#callers)?
import { DEFAULT_PROJECT } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { EdgeContext } from "../edge.ts";
import type { Access } from "./access.ts";
import type { Caller } from "./caller.ts";

/** The header with which a caller without a project chooses one. */
export const PROJECT_HEADER = "drover-project";

/**
 * The caller behind the wall of the project that the request names, if it names one. Only a caller without a
 * project can choose. Code: `unknown_project`, also for a project that is not the caller's.
 */
export async function withinProject(c: EdgeContext, access: Access, caller: Caller): Promise<Caller> {
  const chosen = c.req.header(PROJECT_HEADER);
  if (chosen === undefined || chosen === caller.project) return caller;
  if (caller.project === null && (chosen === DEFAULT_PROJECT || (await access.projects.has(chosen, c.env))))
    return { ...caller, project: chosen };
  throw unknownProject(chosen);
}

/** The error for a project that does not exist, or does not exist for this caller. */
export function unknownProject(project: string): DroverError {
  const shown = JSON.stringify(project.slice(0, 64));
  const advice = "`drover projects list` shows those that there are";
  return new DroverError("unknown_project", `there is no project ${shown}; ${advice}`);
}
