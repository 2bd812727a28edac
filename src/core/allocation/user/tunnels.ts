// To which attempt does a tunnel into a run lead (tunnels.md#where)?
import { DroverError } from "../../../shared/errors.ts";
import { resultTaskOf } from "../../../shared/result-task.ts";
import type { TunnelKind } from "../../../shared/tunnel/frames.ts";
import type { RunDraft } from "../draft.ts";
import { heldMembers, isHeld, shownMember } from "../placements/hold.ts";
import { type AllocationRecord, type Existing, openPlacement } from "../state.ts";
import { groupView, type Member } from "../tasks/tasks.ts";
import { withProcess } from "./requests.ts";

/** A tunnel that a user opens. `task`: absent, the task that gives the run its result. */
export interface TaskTunnel {
  task?: string | undefined;
  kind: TunnelKind;
  by: string;
}

/** The end of a tunnel: an attempt, and the worker on whose host it runs. */
export interface TunnelPlace {
  worker: string;
  attempt: string;
}

/** Where a tunnel leads. Codes: `terminal`, `unknown_task`, `not_running`, `invalid_request`. */
export function tunnelPlace(state: Existing, { task }: Pick<TaskTunnel, "task">): TunnelPlace {
  const worker = openPlacement(state)?.worker;
  const attempt = memberOf(state, task).attempt?.id;
  // `memberOf` returns only tasks that run or are kept, which have both.
  if (worker === undefined || attempt === undefined) throw notRunning(task);
  return { worker, attempt };
}

/** Notes a tunnel in the history of the run. */
export function noteTunnel(run: RunDraft, { task, kind, by }: TaskTunnel): boolean {
  const { task: target } = memberOf(run.state, task);
  run.note("Tunnel Opened", run.now, `${by} has opened a tunnel to it (${kind})`, { task: target.name });
  return true;
}

/** The task that is meant: one that runs, or one that its machine keeps. */
function memberOf(state: Existing, task: string | undefined): Member {
  const { record } = state;
  if (isHeld(record) && record.hold.released === undefined) return heldMemberOf(record, task);
  if (record.ended || record.outcome !== null) throw hasEnded();
  const view = groupView(record);
  const { tasks } = view.group;
  const names = tasks.map(({ name }) => name);
  if (task !== undefined && !names.includes(task)) throw unknownTask(task, names);
  const alive = openPlacement(state) === null ? [] : withProcess(view, task);
  const wanted = task ?? resultTaskOf(record.spec.tasks ?? []);
  const found =
    alive.find(({ task: { name } }) => name === wanted) ?? (alive.length === 1 ? alive[0] : undefined);
  if (found !== undefined) return found;
  if (alive.length === 0) throw notRunning(task);
  const running = alive.map(({ task: { name } }) => name).join(", ");
  throw new DroverError("unknown_task", `several tasks of the run are running: choose one of ${running}`);
}

/** The task that is meant in a run whose machine is kept (tasks.md#kept-2). */
function heldMemberOf(record: AllocationRecord, task: string | undefined): Member {
  const names = groupView(record).members.map((one) => one.task.name);
  if (task !== undefined && !names.includes(task)) throw unknownTask(task, names);
  const found = heldMembers(record).find((one) => one.task.name === task);
  const member = task === undefined ? shownMember(record) : found;
  if (member !== undefined) return member;
  throw new DroverError("not_running", `task "${task}" has never run, so nothing of it is kept`);
}

function hasEnded(): DroverError {
  const text = "the run has ended, and no machine keeps it; to look into it, submit it again with `keep`";
  return new DroverError("terminal", text);
}

function unknownTask(task: string, names: string[]): DroverError {
  return new DroverError("unknown_task", `the run has no task called "${task}"; it has ${names.join(", ")}`);
}

function notRunning(task: string | undefined): DroverError {
  return new DroverError(
    "not_running",
    task === undefined ? "no task of the run is running" : `task "${task}" is not running`,
  );
}
