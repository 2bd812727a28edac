import type { WorkerFailure } from "./messages.ts";

/** Failures by which a provider says that it has made no machine. After another one there may be one. */
export const REFUSALS: readonly WorkerFailure["class"][] = ["rate_limit", "quota", "capacity", "invalid"];

/**
 * Whether the provider itself has said no. Where it was not reached, or its answer says nothing, it has not,
 * even if no machine can have been made.
 */
export function saidNo({ class: kind, refused, unreached }: Omit<WorkerFailure, "at" | "text">): boolean {
  return unreached !== true && (refused === true || REFUSALS.includes(kind));
}
