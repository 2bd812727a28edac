// What does a retry policy say in numbers, how long does the next try wait, and when is a policy invalid?
import { durationMs, formatDuration } from "../duration.ts";
import type { Millis } from "../machine.ts";
import { formatSize, sizeBytes } from "../size.ts";
import type { RetryCause } from "./causes.ts";

/** A retry policy as it is submitted (`schema/retry/retry.ts`). */
export interface RetryFields {
  on: RetryCause[];
  exitCodes?: number[] | undefined;
  notExitCodes?: number[] | undefined;
  max: number;
  backoff: { first: string; factor: number; max?: string | undefined; jitter: number };
  escalate?:
    | {
        oom?: { memory: number; upTo?: string | number | undefined } | undefined;
        interrupted?: "on-demand" | undefined;
      }
    | undefined;
  park: boolean;
}

/** When a run is tried again, and with what (retry.md). */
export interface RetryPolicy {
  on: ReadonlySet<RetryCause>;
  /** Whether an exit code leads to another try, if `on` has `exit`. */
  retriesExit: (code: number) => boolean;
  /** How many tries may follow the first. */
  max: number;
  firstMs: Millis;
  factor: number;
  maxMs: Millis;
  jitter: number;
  /** What memory is multiplied with after a lack of it, and where that ends. Absent: it stays. */
  memory?: { factor: number; upToBytes: number };
  /** Whether the next machine must be one that its cloud does not take back. */
  onDemand: boolean;
}

/** The shortest wait before another try: shorter ones would only pay for machines. */
const MIN_FIRST_MS: Millis = 1_000;
/** The longest wait, unless the policy names another, or begins with a longer one. */
const DEFAULT_MAX_MS: Millis = 600_000;

/** The policy in numbers (retry.md#fields). */
export function retryPolicy({
  on,
  exitCodes,
  notExitCodes,
  max,
  backoff,
  escalate,
}: RetryFields): RetryPolicy {
  const firstMs = durationMs(backoff.first);
  const oom = escalate?.oom;
  const upToBytes = oom?.upTo === undefined ? Number.POSITIVE_INFINITY : sizeBytes(oom.upTo);
  return {
    on: new Set(on),
    retriesExit: (code) => exitCodes?.includes(code) ?? !notExitCodes?.includes(code),
    max,
    firstMs,
    factor: backoff.factor,
    maxMs: backoff.max === undefined ? Math.max(firstMs, DEFAULT_MAX_MS) : durationMs(backoff.max),
    jitter: backoff.jitter,
    ...(oom === undefined ? {} : { memory: { factor: oom.memory, upToBytes } }),
    onDemand: escalate?.interrupted === "on-demand",
  };
}

/** The wait before a try that follows `failed` failed ones, without jitter (retry.md#back-off). */
export function waitBefore({ firstMs, factor, maxMs }: RetryPolicy, failed: number): Millis {
  return Math.min(maxMs, Math.round(firstMs * factor ** (failed - 1)));
}

/** What of the spec limits its retries. `memories`: of each task; undefined: it names none. */
export interface Retried {
  retry: RetryFields;
  isService: boolean;
  hasReschedule: boolean;
  hasTimeout: boolean;
  isSpotOnly: boolean;
  memories: readonly (string | number | undefined)[];
}

/** A field of a policy that is invalid, by its path in the spec, and what is allowed there. */
export type RetryFault = [path: string[], text: string];

/** Why a policy is invalid, field by field; empty: it is valid (retry.md#refused). */
export function retryFaults(spec: Retried): RetryFault[] {
  const { retry } = spec;
  const { on, exitCodes, notExitCodes } = retry;
  const faults: RetryFault[] = [];
  const add = (path: string, text: string) => faults.push([path.split("/"), text]);
  if (spec.isService)
    add("retry", "is for runs that end: a service is placed again by `reschedule`, as often as needed");
  if (spec.hasReschedule)
    add(
      "reschedule",
      "cannot be combined with `retry`, which takes its place: name the causes in `retry.on`",
    );
  if (on.length === 0 && !retry.park)
    add("retry/on", "must name at least one cause, unless `retry.park` is all that is wanted");
  if (new Set(on).size < on.length) add("retry/on", "names a cause twice");
  for (const field of ["exitCodes", "notExitCodes"] as const)
    if (retry[field] !== undefined && !on.includes("exit"))
      add(`retry/${field}`, "needs `exit` in `retry.on`: without it no exit code leads to another try");
  if (exitCodes !== undefined && notExitCodes !== undefined)
    add("retry/notExitCodes", "cannot be combined with `exitCodes`, which is all that is tried again");
  if (on.includes("timeout") && !spec.hasTimeout)
    add("retry/on", "names `timeout`, so the run needs a `timeout`: the time that each try may take");
  addBackoffFaults(retry, add);
  addEscalationFaults(spec, add);
  return faults;
}

function addBackoffFaults({ backoff }: RetryFields, add: (path: string, text: string) => void): void {
  const firstMs = durationMs(backoff.first);
  if (firstMs < MIN_FIRST_MS) add("retry/backoff/first", `must be at least ${formatDuration(MIN_FIRST_MS)}`);
  if (backoff.max !== undefined && durationMs(backoff.max) < firstMs)
    add("retry/backoff/max", `must be at least the first wait, ${formatDuration(firstMs)}`);
}

function addEscalationFaults(
  { retry, isSpotOnly, memories }: Retried,
  add: (path: string, text: string) => void,
): void {
  const { on, escalate } = retry;
  for (const cause of ["oom", "interrupted"] as const)
    if (escalate?.[cause] !== undefined && !on.includes(cause))
      add(`retry/escalate/${cause}`, `needs \`${cause}\` in \`retry.on\`: without it there is no next try`);
  if (escalate?.interrupted !== undefined && isSpotOnly)
    add("retry/escalate/interrupted", "contradicts `machine.spot`, which is `only`: leave one of them out");
  const { oom } = escalate ?? {};
  if (oom === undefined) return;
  if (memories.includes(undefined))
    add(
      "retry/escalate/oom",
      "needs `resources.memory` of each task: otherwise there is nothing to multiply",
    );
  const most = Math.max(...memories.map((one) => (one === undefined ? 0 : sizeBytes(one))));
  if (oom.upTo !== undefined && sizeBytes(oom.upTo) <= most)
    add("retry/escalate/oom/upTo", `must be more than the memory that it asks for, ${formatSize(most)}`);
}
