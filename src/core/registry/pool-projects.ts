// Whose is a pool, and which of its changes may a caller of a project make (projects.md#pools)?
import type { PutPoolConfig } from "../../schema/pool.ts";
import { DEFAULT_PROJECT, projectsServed } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { ReadonlyRows } from "../rows.ts";
import { type PoolsState, poolsOf } from "./pools.ts";
import { hasProject, type ProjectRow, partOf } from "./projects.ts";

/** The most pools that there may be. All of their configurations are one stored value. */
export const MAX_POOLS = 1_000;

interface Known extends Pick<PoolsState, "record"> {
  projects: ReadonlyRows<ProjectRow>;
}

/**
 * The configuration with the caller's project, if it names none: with the quotas that an existing pool has,
 * else without. `project` null: the caller has no wall.
 */
export function withProject(
  config: PutPoolConfig,
  project: string | null,
  present?: Pick<PutPoolConfig, "projects">,
): PutPoolConfig {
  if (project === null || config.projects !== undefined) return config;
  const projects = present?.projects ?? (project === DEFAULT_PROJECT ? undefined : { [project]: {} });
  return projects === undefined ? config : { ...config, projects };
}

/** Why a caller cannot give a pool this configuration; null: it can. */
export function refusalOfPut(
  state: Known,
  pool: string,
  config: PutPoolConfig,
  project: string | null,
): DroverError | null {
  const served = projectsServed(config);
  const other = project === null ? undefined : served.find((one) => one !== project);
  if (other !== undefined)
    return beyond("/projects", `must be only ${project}: this caller belongs to that project`);
  const known = ownPool(state, pool)?.wanted;
  const present = known && projectsServed(known);
  if (present !== undefined && project !== null) {
    if (!present.includes(project))
      return beyond("/name", `is "${pool}", which is taken; choose another name`);
    if (present.length > 1) return ofSeveral(pool);
    if (JSON.stringify(known?.projects) !== JSON.stringify(config.projects))
      return beyond("/projects", "must stay as it is: only the operator changes the quotas of a project");
  }
  if (present === undefined && hasEnough(state, project)) {
    const text = `there are too many pools already; delete those that are not used any more`;
    return new DroverError("busy", text);
  }
  const unknown = served.find((one) => !hasProject(state.projects, one));
  if (unknown === undefined) return null;
  const pointer = `/projects/${unknown}`;
  const detail = `names a project that does not exist; \`drover projects create ${unknown}\` makes it`;
  return new DroverError("unknown_project", `${pointer} ${detail}`, { fields: [{ pointer, detail }] });
}

/** Why a caller cannot delete a pool; null: it can. */
export function refusalOfRemoval(state: Known, pool: string, project: string | null): DroverError | null {
  const present = servedBy(state, pool);
  const isThere = present !== undefined && (project === null || present.includes(project));
  if (!isThere) return new DroverError("unknown_pool", `there is no pool "${pool}"`);
  return project !== null && present.length > 1 ? ofSeveral(pool) : null;
}

/** Whether there are as many pools as there may be, for all or for this project. */
function hasEnough(state: Known, project: string | null): boolean {
  const pools = poolsOf(state);
  if (project === null || project === DEFAULT_PROJECT) return pools.length >= MAX_POOLS;
  const own = pools.filter(([, { wanted }]) => projectsServed(wanted).includes(project));
  return pools.length >= MAX_POOLS || own.length >= partOf(MAX_POOLS, project);
}

function ownPool(state: Known, pool: string) {
  return poolsOf(state).find(([name]) => name === pool)?.[1];
}

function servedBy(state: Known, pool: string): string[] | undefined {
  const found = ownPool(state, pool);
  return found && projectsServed(found.wanted);
}

function ofSeveral(pool: string): DroverError {
  const text = `the pool "${pool}" serves several projects, so only the break-glass secret changes it`;
  return new DroverError("beyond_limits", text);
}

function beyond(pointer: string, detail: string): DroverError {
  return new DroverError("beyond_limits", `${pointer} ${detail}`, { fields: [{ pointer, detail }] });
}
