// How do a token's limits change a spec, and which runs exist for the token (access.md#limits)?
import type { TokenLimits } from "../../schema/access/token.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { DroverError } from "../../shared/errors.ts";

/** Whether a pool exists for a token (access.md#limits). */
export function mayUsePool({ pools }: TokenLimits, pool: string): boolean {
  return pools === undefined || pools.includes(pool);
}

/** Whether a run exists for a token: its pool and its labels are within the limits (access.md#limits). */
export function maySeeRun(
  limits: TokenLimits,
  run: { pool: string; labels: Record<string, string> },
): boolean {
  if (!mayUsePool(limits, run.pool)) return false;
  return Object.entries(limits.labels ?? {}).every(([name, value]) => run.labels[name] === value);
}

/** Whether the limits hide some runs from the token. */
export function limitsRuns({ pools, labels }: TokenLimits): boolean {
  return pools !== undefined || labels !== undefined;
}

/**
 * Adds the labels that a token's limits force on a spec (access.md#limits). `pointer`: where the spec stands
 * in the request. Throws `unknown_pool` for a pool that does not exist for the token, and `beyond_limits` for
 * another value of a forced label, or for too high a priority.
 */
export function withinLimits(spec: RunSpec, limits: TokenLimits, pointer = ""): RunSpec {
  if (!mayUsePool(limits, spec.pool)) throw unknownPool(spec.pool);
  const { maxPriority, labels: forced = {} } = limits;
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
  return { ...spec, labels: { ...spec.labels, ...forced } };
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
