// How do a token's limits change a spec, and which runs exist for the token (access.md#limits)?

import type { TokenLimits } from "../../schema/access/token.ts";
import type { PutPoolConfig } from "../../schema/pool.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { projectOfRun, runIdIn } from "../../shared/access/project.ts";
import { grants, type Scope } from "../../shared/access/scopes.ts";
import { credentialsOf } from "../../shared/cloud/account.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";
import type { Wall } from "../access/caller.ts";
import { hasCode } from "../http/problem.ts";

/** Whether a pool exists for a token (access.md#limits). */
export function mayUsePool({ pools }: TokenLimits, pool: string): boolean {
  return pools === undefined || pools.includes(pool);
}

/** Whether a run is of the caller's project, which its id says (projects.md#runs). */
export function isOfProject({ project }: Pick<Wall, "project">, run: string): boolean {
  return project === null || projectOfRun(run) === project;
}

/**
 * Whether a run exists for a caller: it is of the caller's project, and its pool and labels are within the
 * limits (access.md#limits).
 */
export function maySeeRun(
  { project, limits }: Wall,
  run: { id: string; pool: string; labels: Record<string, string> },
): boolean {
  if (!isOfProject({ project }, run.id) || !mayUsePool(limits, run.pool)) return false;
  return Object.entries(limits.labels ?? {}).every(([name, value]) => run.labels[name] === value);
}

/**
 * The ids of the runs that a caller calls so: behind a wall, the project may be left out (projects.md#runs).
 */
export function idsOf({ project }: Pick<Wall, "project">, ids: readonly string[]): string[] {
  return ids.map((id) => (project === null ? id : runIdIn(project, id)));
}

/**
 * Whether a job exists for a caller: its pool is within the limits, and nothing limits the caller to labels,
 * which a job's parameters may change.
 */
export function maySeeJob(limits: TokenLimits, { pool }: { pool: string }): boolean {
  return limits.labels === undefined && mayUsePool(limits, pool);
}

/**
 * Whether an error reveals something of a run that the caller may not see: `run_exists` lists fields that
 * differ, with their values, and `expired_run` says that the run existed.
 */
export function isOfHiddenRun(error: unknown, { limits, scopes }: Pick<SecretUser, "limits" | "scopes">) {
  const hides = limitsRuns(limits);
  const isTaken = hasCode(error, "run_exists") && (hides || !grants(scopes, "runs:env"));
  return isTaken || (hides && hasCode(error, "expired_run"));
}

/** The error for an id that is or was in use. It reveals nothing about the run. */
export function idTaken(id: string): DroverError {
  return new DroverError("run_exists", `${id} is taken by another submission; choose another one`);
}

/** Whether the limits hide some runs from the token. */
export function limitsRuns({ pools, labels }: TokenLimits): boolean {
  return pools !== undefined || labels !== undefined;
}

/**
 * Adds the labels that a token's limits force on a spec (access.md#limits). `pointer`: where the spec stands
 * in the request. Throws `unknown_pool` for a pool that does not exist for the token, and `beyond_limits` for
 * another value of a forced label, for too high a priority, or for a key that hidden runs may have.
 */
export function withinLimits(spec: RunSpec, limits: TokenLimits, pointer = ""): RunSpec {
  if (!mayUsePool(limits, spec.pool)) throw unknownPool(spec.pool);
  const { maxPriority, labels } = limits;
  const forced = labels ?? {};
  if (maxPriority !== undefined && spec.priority > maxPriority) {
    throw beyond(
      `${pointer}/priority`,
      `is ${spec.priority}, and this token may ask for ${maxPriority} at most`,
    );
  }
  for (const [name, value] of Object.entries(forced)) {
    const own = spec.labels[name];
    if (own === undefined || own === value) continue;
    throw beyond(
      `${pointer}/labels/${name}`,
      `is "${own}", and every run of this token has "${value}" there`,
    );
  }
  if (spec.replace !== undefined && labels !== undefined) {
    const detail =
      "cannot be used with this token, which is limited to labels: it might end runs that the token must " +
      "not see";
    throw beyond(`${pointer}/replace`, detail);
  }
  if (spec.concurrency !== undefined && labels !== undefined) {
    const detail =
      "cannot be used with this token, which is limited to labels: runs that the token must not see might " +
      "hold its key";
    throw beyond(`${pointer}/concurrency`, detail);
  }
  return { ...spec, labels: { ...spec.labels, ...forced } };
}

/** The secrets that a spec names, with where it does: those of its tasks, and of registries for them. */
export function secretsIn(spec: RunSpec, pointer = ""): { secret: string; pointer: string }[] {
  const places: (Pick<RunSpec, "secrets" | "container"> & { at: string })[] = [
    { ...spec, at: pointer },
    ...(spec.tasks ?? []).map((task, index) => ({ ...task, at: `${pointer}/tasks/${index}` })),
  ];
  return places.flatMap(({ at, secrets = {}, container: { auth } = {} }) => [
    ...Object.entries(secrets).map(([key, { secret }]) => ({ secret, pointer: `${at}/secrets/${key}` })),
    ...(auth === undefined ? [] : [{ secret: auth, pointer: `${at}/container/auth` }]),
  ]);
}

/** A caller, as far as it decides which secrets the caller may name. */
type SecretUser = { by: string; scopes: readonly Scope[]; limits: TokenLimits };

/**
 * Throws if a spec names secrets that its runs must not get from this caller: naming a secret in a run shows
 * its value to the run (secrets.md#use). Codes: `missing_scope`, `beyond_limits`.
 */
export function refuseSecrets(spec: RunSpec, caller: SecretUser, pointer = ""): void {
  refuseNamed(secretsIn(spec, pointer), caller);
}

/**
 * Throws if a pool names a secret that its provider must not get from this caller: the provider may be a
 * server of the caller (secrets.md#providers). Codes: as for `refuseSecrets`.
 */
export function refuseProviderSecret({ provider }: PutPoolConfig, caller: SecretUser): void {
  const found = credentialsOf(provider);
  if (typeof found?.value !== "object") return;
  const { value, pointer } = found;
  refuseNamed([{ secret: "secret" in value ? value.secret : value.binding, pointer }], caller);
}

function refuseNamed(
  named: readonly { secret: string; pointer: string }[],
  { by, scopes, limits }: SecretUser,
): void {
  const [first] = named;
  if (first !== undefined && !grants(scopes, "secrets:use")) {
    const need = "that needs the scope secrets:use";
    const text = `${first.pointer} names a secret: ${need}, and ${by} does not have it`;
    const fields: FieldError[] = named.map((one) => ({ pointer: one.pointer, detail: "needs secrets:use" }));
    throw new DroverError("missing_scope", text, { fields });
  }
  const beyondLimit = named.find(({ secret }) => limits.secrets?.includes(secret) === false);
  if (beyondLimit === undefined) return;
  const only = limits.secrets?.join(", ");
  const detail = `names "${beyondLimit.secret}", and this token may use only ${only}`;
  throw beyond(beyondLimit.pointer, detail);
}

/** The error for a pool that does not exist, or does not exist for this token. */
export function unknownPool(pool: string): DroverError {
  return new DroverError("unknown_pool", `there is no pool "${pool}"`);
}

/** The error for a run that does not exist, or does not exist for this token. */
export function unknownRun(run: string): DroverError {
  return new DroverError("unknown_run", `there is no run "${run}"`);
}

/** The error for a field that asks for more than the token's limits allow. */
export function beyond(pointer: string, detail: string): DroverError {
  return new DroverError("beyond_limits", `${pointer} ${detail}`, { fields: [{ pointer, detail }] });
}
