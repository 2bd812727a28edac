// To which project does a machine of a pool belong (projects.md#machines)?
import type { PoolConfig } from "../../schema/pool.ts";
import { DEFAULT_PROJECT, projectsServed, servesProject } from "../../shared/access/project.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Rows } from "../rows.ts";
import type { WorkerRow } from "./record.ts";

/** Stands for the projects of a machine that several projects may have used. It is no project's name. */
export const SEVERAL_PROJECTS = "*";

/** Whether each machine belongs to the project of its first run, so that its row must name this project. */
export function keepsMachinesApart({ projects, shareMachines }: PoolConfig): boolean {
  return projects !== undefined && !shareMachines;
}

/**
 * If the pool serves one project and its rows do not name it: this project, which alone can have used the
 * machines. Null: the rows name their projects, or the projects share the machines.
 */
function onlyUser({ projects, shareMachines }: PoolConfig): string | null {
  if (projects === undefined) return DEFAULT_PROJECT;
  const [only, ...others] = Object.keys(projects);
  return shareMachines && others.length === 0 ? (only ?? null) : null;
}

/** The project to which a machine belongs; null: nobody has used it, or several projects share it. */
export function ownerOf(config: PoolConfig, { project }: Pick<WorkerRow, "project">): string | null {
  if (keepsMachinesApart(config) || isOutOfUse(config, { project })) return project;
  return onlyUser(config);
}

/** Whose an entry of the audit log about a machine is. Null: the operator's (projects.md#pools). */
export function projectOfMachine(config: PoolConfig, row: Pick<WorkerRow, "project">): string | null {
  const owner = ownerOf(config, row);
  if (owner === SEVERAL_PROJECTS) return null;
  const [only = null, ...others] = projectsServed(config);
  return owner ?? (others.length === 0 ? only : null);
}

/**
 * Whether no run can ever be placed on the machine: it belongs to a project that the pool no longer serves,
 * or projects have used it that no longer share machines. Such a machine is drained.
 */
export function isOutOfUse(config: PoolConfig, { project }: Pick<WorkerRow, "project">): boolean {
  return project !== null && !servesProject(config, project);
}

/** Whether a run of the project can be placed on the machine, if its project is all that matters. */
export function isOpenTo(config: PoolConfig, project: string, row: Pick<WorkerRow, "project">): boolean {
  if (isOutOfUse(config, row)) return false;
  return row.project === null || row.project === project || !keepsMachinesApart(config);
}

/**
 * Before another configuration applies, names in the rows of used machines who has used them, unless the new
 * configuration lets the same projects go on. A machine that was ready may have been used: the pool does not
 * remember where each ended run was.
 */
export function markUsed(
  workers: Rows<WorkerRow>,
  before: PoolConfig,
  after: PoolConfig,
  now: Instant,
): void {
  const only = onlyUser(before);
  if (keepsMachinesApart(before) || (only !== null && onlyUser(after) === only)) return;
  if (only === null && areStillShared(before, after)) return;
  for (const row of [...workers.live()]) {
    if (row.readyAt === null || (only !== null && row.project !== null)) continue;
    workers.set(row.worker, { ...row, project: only ?? SEVERAL_PROJECTS }, now);
  }
}

function areStillShared(before: PoolConfig, after: PoolConfig): boolean {
  const stay = Object.keys(before.projects ?? {}).every((project) => servesProject(after, project));
  return stay && after.shareMachines;
}

/** Of the workers that are not ending, by the project in their rows: the ones that are out of use. */
export function workersOutOfUse(
  config: PoolConfig,
  active: ReadonlyMap<string | null, readonly string[]>,
): string[] {
  return [...active].flatMap(([project, workers]) => (isOutOfUse(config, { project }) ? workers : []));
}
