import { readyTask } from "../../../../agent/core/attempts/task-environment.ts";
import { applyParams } from "../../../../src/core/job/params/apply.ts";
import { tasksOf } from "../../../../src/core/spec.ts";
import { RunSpec } from "../../../../src/schema/run/run.ts";

/** A spec with its defaults. */
export function spec(fields: object): RunSpec {
  return RunSpec.parse({ argv: ["true"], ...fields });
}

const AROUND = {
  id: "a-1/main/1.1",
  base: { HOME: "/data/host" },
  dirs: { alloc: "/a", local: "/l", secrets: "/s", tmp: "/t" },
  node: { "node.unique.id": "w-1" },
  instance: undefined,
  identity: undefined,
};

export const JOB = { name: "nightly", version: 7, tick: "2026-11-22T01:30:00.000Z" };

/** The first task of a run with these parameters, as its host starts it. */
export function onHost(fields: object, params: Record<string, string>) {
  const applied = applyParams(spec(fields), { params, job: JOB });
  if (applied.problems !== undefined) throw new Error(JSON.stringify(applied.problems));
  const [task] = tasksOf(RunSpec.parse(applied.values));
  if (task === undefined) throw new Error("a run has a task");
  return readyTask(task, AROUND);
}
