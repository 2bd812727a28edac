import canonicalize from "canonicalize";
import { phaseOf, stateOf } from "../../core/allocation/phase.ts";
import type { AllocationState, Existing } from "../../core/allocation/state.ts";
import type { RunState } from "../../schema/run/run.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { DroverError, type ErrorCode, type FieldError } from "../../shared/errors.ts";
import type { Millis } from "../../shared/machine.ts";
import type { SubmitRequest } from "../rpc.ts";

/** The run that there is. Throws `expired_run` if it was deleted, `unknown_run` if there never was one. */
export function existing(state: AllocationState, run: string): Existing {
  if (state.record !== null) return { ...state, record: state.record };
  if (state.tombstone !== undefined) throw expiredRun(run);
  throw new DroverError("unknown_run", `there is no run "${run}"`);
}

/** Nothing is left of the run but that there was one. */
function expiredRun(run: string): DroverError {
  const text = `the run "${run}" has been deleted; its id can be used again 30 days after that`;
  return new DroverError("expired_run", text);
}

/** Throws if a run of this name is there already, or was, with another submission than this one. */
export function refuseOther({ record, tombstone }: AllocationState, run: string, other: SubmitRequest): void {
  if (tombstone !== undefined) throw expiredRun(run);
  if (record === null || record.hash === other.hash) return;
  const fields = differences(record.spec, other.spec);
  const names = fields.map(({ pointer }) => `\`${pointer.slice(1)}\``).join(", ");
  const how =
    fields.length === 0
      ? "was submitted in other words, such as with a default written out"
      : `is another one: its ${names} ${fields.length === 1 ? "differs" : "differ"}`;
  throw new DroverError("run_exists", `a run "${run}" exists already, and ${how}`, { fields });
}

/** The fields in which two specs differ. What they hold is not shown: it may be secret. */
function differences(one: RunSpec, other: RunSpec): FieldError[] {
  const fields = new Map<string, unknown>(Object.entries(one));
  const others = new Map<string, unknown>(Object.entries(other));
  const names = [...new Set([...fields.keys(), ...others.keys()])];
  const differing = names.filter((name) => textOf(fields.get(name)) !== textOf(others.get(name)));
  return differing.map((name) => ({ pointer: `/${name}`, detail: "differs from that of the run" }));
}

/** The same text for the same value, in whatever order its fields are. */
function textOf(value: unknown): string {
  return canonicalize(value) ?? "";
}

/** Why its pool has refused a run, for whoever has submitted it. */
export function refusedBy(
  pool: string,
  refusal: { code: string; text: string; retryAfterMs?: Millis },
): DroverError {
  // A pool that is not there does not know how it was called.
  const text = refusal.code === "unknown_pool" ? `there is no pool "${pool}"` : refusal.text;
  // The pool refuses with a code of the list.
  return new DroverError(refusal.code as ErrorCode, text, refusal);
}

/** Whether a wait for one of these states is over: it is in one, or can never be again. */
export function isSettled({ record, ...state }: AllocationState, states: RunState[]): boolean {
  if (record === null || record.ended) return true;
  // Only a start and an end can still come: a path is pending, running, end, or pending, end.
  const isOver = states.every((wanted) => wanted === "pending");
  return isOver || states.includes(stateOf(phaseOf({ ...state, record })));
}
