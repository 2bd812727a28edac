// Does a run exist, was it deleted, or is its id taken by another submission?
import canonicalize from "canonicalize";
import { healthOfRun } from "../../core/allocation/health/view.ts";
import { phaseOf, stateOf } from "../../core/allocation/phase.ts";
import { isHeld } from "../../core/allocation/placements/hold.ts";
import type { AllocationState, Existing } from "../../core/allocation/state.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { DroverError, type ErrorCode, type FieldError } from "../../shared/errors.ts";
import type { Millis } from "../../shared/machine.ts";
import type { SubmitRequest, WaitedFor } from "../rpc.ts";

/** How long a reader waits for the pool to say where the run is placed, if only the pool may know this. */
export const PLACE_KNOWN_MS = 1_000;

/** The run. Throws `expired_run` if the run was deleted, and `unknown_run` if it never existed. */
export function existing(state: AllocationState, run: string): Existing {
  if (state.record !== null) return { ...state, record: state.record };
  if (state.tombstone !== undefined) throw expiredRun(run);
  throw new DroverError("unknown_run", `there is no run "${run}"`);
}

function expiredRun(run: string): DroverError {
  const text = `the run "${run}" has been deleted; its id can be used again 30 days after that`;
  return new DroverError("expired_run", text);
}

/** Throws if the id is taken by another submission, or by a deleted run. */
export function refuseOther(
  { record, tombstone }: AllocationState,
  run: string,
  other: Pick<SubmitRequest, "spec" | "hash">,
): void {
  if (tombstone !== undefined) throw expiredRun(run);
  if (record === null || record.hash === other.hash) return;
  const fields = differences(record.spec, other.spec);
  const names = fields.map(({ pointer }) => `\`${pointer.slice(1)}\``).join(", ");
  const how =
    fields.length === 0
      ? "was submitted in a different form, such as with a default written out"
      : `is another one: its ${names} ${fields.length === 1 ? "differs" : "differ"}`;
  throw new DroverError("run_exists", `a run "${run}" exists already, and ${how}`, { fields });
}

/** The fields in which two specs differ, without their values, which may be secret. */
function differences(one: RunSpec, other: RunSpec): FieldError[] {
  const fields = new Map<string, unknown>(Object.entries(one));
  const others = new Map<string, unknown>(Object.entries(other));
  const names = [...new Set([...fields.keys(), ...others.keys()])];
  // Canonical JSON is equal for equal values, whatever the order of their fields.
  const isEqual = (name: string) => canonicalize(fields.get(name)) === canonicalize(others.get(name));
  const differing = names.filter((name) => !isEqual(name));
  return differing.map((name) => ({ pointer: `/${name}`, detail: "differs from that of the run" }));
}

/** Why the pool refused a run, as an error for its submitter. */
export function refusedBy(
  pool: string,
  refusal: { code: string; text: string; retryAfterMs?: Millis; runs?: string[] },
): DroverError {
  // A pool without a record does not know its name.
  const text = refusal.code === "unknown_pool" ? `there is no pool "${pool}"` : refusal.text;
  const { code, retryAfterMs, runs } = refusal;
  // The pool refuses only with codes of this type.
  return new DroverError(code as ErrorCode, text, {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(runs === undefined ? {} : { extra: { runs } }),
  });
}

/** Whether no machine keeps the run (tasks.md#kept). */
export function isReleased({ record }: AllocationState): boolean {
  return record === null || !isHeld(record);
}

/**
 * Whether a wait for one of these states is over: the run is in one of them, or can no longer reach any of
 * them. `healthy`: all its checks pass, or it has none (health.md#wait).
 */
export function isSettled({ record, ...state }: AllocationState, states: WaitedFor): boolean {
  if (record === null || record.ended) return true;
  if (states === "healthy") return ["healthy", undefined].includes(healthOfRun(record));
  // Of all states, only `pending` can become unreachable before the end: runs go from pending to running to
  // an end, or from pending to an end.
  const isOver = states.every((wanted) => wanted === "pending");
  return isOver || states.includes(stateOf(phaseOf({ ...state, record })));
}
