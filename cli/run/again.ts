// How does a run become another one that repeats it, and what changes with it?

import { specAgain } from "../../client/runs/rerun.ts";
import { newRunId } from "../../client/runs/runs.ts";
import type { RunStatus, RunSummary } from "../../client/types.ts";
import { hasFailed } from "../../src/shared/run-state.ts";
import { CliError } from "../errors.ts";
import { given, type NamedSpec } from "./spec.ts";

/** The flags of `drover rerun` that change the run, as parsed. */
export interface Changes {
  id?: string;
  pool?: string;
  env?: Record<string, string>;
  timeout?: string;
  cpus?: number;
  memory?: string;
  keep?: string;
}

/**
 * The submission that repeats a run with these changes. Throws a `CliError` for a group whose resources are
 * to change: they are those of its tasks.
 */
export function again(run: Pick<RunStatus, "id" | "spec">, changes: Changes): NamedSpec {
  const { spec } = run;
  const { id = newRunId(), pool, env, timeout, cpus, memory, keep } = changes;
  if (spec.tasks !== undefined && (cpus !== undefined || memory !== undefined)) {
    throw new CliError(`Run ${run.id} is a group, whose tasks have resources of their own.`, [
      `Change them in a file: drover status --json ${run.id} shows the group as \`spec\`,`,
      "and drover run -f takes it.",
    ]);
  }
  const resources = { ...spec.resources, ...given({ vcpus: cpus, memory }) };
  const changed = { ...given({ pool, timeout, keep }), env: { ...spec.env, ...env }, resources };
  return { ...specAgain(run, changed), id };
}

/** What differs between a run and the one that repeats it, in words, but without the values of variables. */
export function differencesOf(
  { spec }: Pick<RunStatus, "spec">,
  { pool, env, timeout, cpus, memory, keep }: Changes,
): string[] {
  const was = (name: string, before: unknown, now: unknown) =>
    now === undefined || now === before ? [] : [`${name} ${now} instead of ${before ?? "none"}`];
  return [
    ...was("--pool", spec.pool, pool),
    ...was("--timeout", spec.timeout, timeout),
    ...was("--cpus", spec.resources?.vcpus, cpus),
    ...was("--memory", spec.resources?.memory, memory),
    ...was("--keep", spec.keep, keep),
    ...Object.entries(env ?? {})
      .filter(([name, value]) => spec.env?.[name] !== value)
      .map(([name]) => `another value of ${name}`),
  ];
}

/** The runs of a list that have failed (api.md#finding), and that no run of the list repeats. */
export function failedOnes(runs: readonly RunSummary[]): RunSummary[] {
  const repeated = new Set(runs.map(({ rerunOf }) => rerunOf));
  return runs.filter((run) => hasFailed(run) && !repeated.has(run.id));
}
