import { RunSpec, type RunSpecInput } from "../../src/schema/run/run.ts";
import type { FakeScript } from "../../src/schema/run/task.ts";
import { RETRY_CAUSES } from "../../src/shared/retry/causes.ts";
import { sizeBytes } from "../../src/shared/size.ts";
import { Chance } from "./rng.ts";
import type { Job } from "./workload.ts";

/** Of so many stories one is about runs that are tried again by cause. */
const RETRIED_IN = 3;

/** The bytes that a played task needs, in its environment: with less memory it runs out of it. */
export const NEEDS = "NEEDS_BYTES";

type Retry = NonNullable<RunSpecInput["retry"]>;

/** Gives some of the jobs a retry policy, and lets tasks of theirs need more memory than they ask for. */
export function retried(jobs: readonly Job[], seed: number): Job[] {
  // Apart from the chance of everything else, so that all else is the same with retries and without.
  const chance = new Chance(seed ^ 0x7a3c19e5);
  if (chance.between(1, RETRIED_IN) !== 1) return [...jobs];
  return jobs.map((job) => (chance.chance(0.7) ? { ...job, spec: withRetry(job.spec, chance) } : job));
}

function withRetry(spec: RunSpec, chance: Chance): RunSpec {
  const { reschedule: _, ...rest } = spec;
  const memory = spec.resources.memory ?? "256MiB";
  const tasks = spec.tasks?.map((task) => {
    const own = sizeBytes(task.resources?.memory ?? memory);
    const script: FakeScript = JSON.parse(task.env?.SCRIPT ?? "{}");
    const needs = chance.chance(0.3) ? { [NEEDS]: String(own * chance.between(1, 5)) } : {};
    const { startError } = script;
    const error =
      startError && chance.chance(0.5) ? { startError: { ...startError, code: "start_failed" } } : {};
    return { ...task, env: { ...task.env, SCRIPT: JSON.stringify({ ...script, ...error }), ...needs } };
  });
  const retry = policy(chance, spec.timeout !== undefined);
  const resources = { ...spec.resources, memory };
  return RunSpec.parse({ ...rest, resources, ...(tasks === undefined ? {} : { tasks }), retry });
}

function policy(chance: Chance, hasTimeout: boolean): Retry {
  const all = RETRY_CAUSES.filter((cause) => hasTimeout || cause !== "timeout");
  const some = all.filter(() => chance.chance(0.7));
  const on = some.length === 0 ? all : some;
  const codes = chance.pick([{}, { exitCodes: [1] }, { notExitCodes: [2] }]) ?? {};
  const upTo = chance.chance(0.3) ? { upTo: "1536MiB" } : {};
  return {
    on,
    ...(on.includes("exit") ? codes : {}),
    max: chance.between(1, 3),
    backoff: { first: `${chance.between(1, 20)}s`, factor: chance.between(1, 3), max: "60s" },
    escalate: {
      ...(on.includes("oom") && chance.chance(0.8) ? { oom: { memory: 2, ...upTo } } : {}),
      ...(on.includes("interrupted") && chance.chance(0.5) ? { interrupted: "on-demand" as const } : {}),
    },
    park: chance.chance(0.5),
  };
}
