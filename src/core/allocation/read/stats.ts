// How much CPU time and memory does a run use, and how much has it used at most?
import type { RunStats } from "../../../schema/run/stats.ts";
import { DroverError } from "../../../shared/errors.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { RunUsage } from "../../worker/read/usage.ts";
import type { Existing } from "../state.ts";
import { groupView } from "../tasks/tasks.ts";
import { peaksOf } from "./sizes.ts";

type Task = RunStats["tasks"][number];

/**
 * The latest sample of each running task, the sum of these samples (tasks.md#usage), and the peaks of each
 * task (tasks.md#peaks). `only`: the name of
 * the task to show; undefined: all tasks. Throws `unknown_task` if the run has no task of that name.
 */
export function statsOf(state: Existing, usage: RunUsage | null, only: string | undefined): RunStats {
  const { record } = state;
  const { members } = groupView(record);
  const shown = members.filter(({ task }) => only === undefined || task.name === only);
  if (shown.length === 0) {
    const names = members.map(({ task }) => task.name).join(", ");
    throw new DroverError("unknown_task", `the run has no task called "${only}"; it has ${names}`);
  }
  const tasks = shown.map(({ task, state: how, attempt, known: { attempts } }): Task => {
    const id = how === "running" ? (attempt?.id ?? null) : null;
    const sample = id === null ? undefined : usage?.attempts[id];
    const peaks = peaksOf(attempts);
    const most = peaks === undefined ? {} : { peaks };
    const { devices } = attempts.at(-1) ?? {};
    const has = devices === undefined ? {} : { devices };
    return { name: task.name, state: how, attempt: id, ...has, usage: sample ?? null, ...most };
  });
  const samples = tasks.flatMap((task) => task.usage ?? []);
  const known = usage !== null && samples.length > 0;
  return {
    run: record.id,
    at: known ? iso(usage.at) : null,
    tasks,
    total: known ? samples.reduce(together) : null,
  };
}

type Sample = NonNullable<Task["usage"]>;

/**
 * The sum of two samples. The sum has a number of processors only if both samples have such a number, and no
 * peak: tasks have their peaks at different times.
 */
function together(a: Sample, b: Sample): Sample {
  return {
    cpuMs: a.cpuMs + b.cpuMs,
    ...(a.cpus === undefined || b.cpus === undefined ? {} : { cpus: a.cpus + b.cpus }),
    memoryBytes: a.memoryBytes + b.memoryBytes,
    pids: a.pids + b.pids,
  };
}
