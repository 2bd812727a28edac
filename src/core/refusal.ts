// What has a provider answered to the request for a machine, and after which answers is there surely none?
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

/** What became of the request for a machine, as readers see it. */
export function machineMade(worker: {
  instance: unknown;
  failure: WorkerFailure | null;
}): "made" | "asked" | "refused" | "unconfirmed" {
  if (worker.instance !== null) return "made";
  if (worker.failure === null) return "asked";
  return isRefusal(worker.failure) ? "refused" : "unconfirmed";
}
