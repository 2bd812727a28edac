// After which failures of a create call is there surely no machine?
import type { WorkerFailure } from "./messages.ts";

/** Failures by which a provider says that it made no machine. After any other there may be one. */
export const REFUSALS: readonly WorkerFailure["class"][] = ["rate_limit", "quota", "capacity", "invalid"];

/**
 * Whether the provider itself refused. An unreachable provider or an empty answer is no refusal, even if no
 * machine can exist.
 */
export function isRefusal({ class: kind, refused, unreached }: Omit<WorkerFailure, "at" | "text">): boolean {
  return unreached !== true && (refused === true || REFUSALS.includes(kind));
}
