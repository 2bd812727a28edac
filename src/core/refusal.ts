// How did a provider answer the request for a machine, and which answers prove that it made none?
import type { WorkerFailure } from "./messages.ts";

/** Failures that say that the provider made no machine. After any other failure, a machine may exist. */
export const REFUSALS: readonly WorkerFailure["class"][] = [
  "rate_limit",
  "quota",
  "capacity",
  "auth",
  "invalid",
];

/**
 * Whether the provider itself refused. If it was unreachable, or gave an empty answer, it did not refuse,
 * even if no machine can exist.
 */
export function isRefusal({ class: kind, refused, unreached }: Omit<WorkerFailure, "at" | "text">): boolean {
  return unreached !== true && (refused === true || REFUSALS.includes(kind));
}

/** Whether this answer says that the call has made no machine, also if it never reached the provider. */
export function saysNoneMade(failure: Omit<WorkerFailure, "at" | "text">): boolean {
  return failure.refused === true || isRefusal(failure);
}

/** What became of the request for a machine, as readers see it. */
export function machineMade(worker: {
  instance: unknown;
  failure: WorkerFailure | null;
}): "made" | "asked" | "refused" | "unconfirmed" {
  if (worker.instance !== null) return "made";
  if (worker.failure === null) return "asked";
  return isRefusal(worker.failure) && worker.failure.inDoubt !== true ? "refused" : "unconfirmed";
}

/**
 * Whether a create call before this one may have made a machine, whatever this one is answered.
 * `failure`: how the latest one of them failed, as far as known. `mayBeMade`: not all of them were surely
 * refused.
 */
export function isInDoubt(failure: WorkerFailure | null, mayBeMade: boolean): boolean {
  return failure === null ? mayBeMade : failure.inDoubt === true || !saysNoneMade(failure);
}
