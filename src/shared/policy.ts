// What do restart and reschedule policies say, and when are they valid?
import { durationMs, formatDuration } from "./duration.ts";
import type { Millis } from "./machine.ts";

/** A `batch` run ends; a `service` should run forever. The type sets defaults (restart.md#default-1). */
export type RunType = "batch" | "service";

/** How often, and how soon, a task is restarted on the same machine (restart.md#restart-policy). */
export interface RestartPolicy {
  attempts: number;
  intervalMs: Millis;
  delayMs: Millis;
  /** After the last attempt, `fail` fails the task, and `delay` waits for the end of the interval. */
  mode: "fail" | "delay";
}

/** A restart policy in a submission. The group, or else the type's default, fills in absent fields. */
export interface RestartFields {
  attempts?: number;
  interval?: string;
  delay?: string;
  mode?: "fail" | "delay";
}

/**
 * How often, and how soon, a run gets a new placement after a placement that failed or was lost
 * (restart.md#reschedule).
 */
export interface ReschedulePolicy {
  attempts: number;
  intervalMs: Millis;
  delayMs: Millis;
  function: "constant" | "exponential" | "fibonacci";
  /** 0: unlimited. */
  maxDelayMs: Millis;
  unlimited: boolean;
}

/** A reschedule policy in a submission. */
export interface RescheduleFields {
  attempts?: number;
  interval?: string;
  delay?: string;
  function?: ReschedulePolicy["function"];
  maxDelay?: string;
  unlimited?: boolean;
}

/** The invalid field of a policy, and what is allowed there. */
export interface PolicyFault {
  field: string;
  detail: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const RESTART_DEFAULTS: Record<RunType, RestartPolicy> = {
  service: { attempts: 2, intervalMs: 30 * MINUTE_MS, delayMs: 15_000, mode: "fail" },
  batch: { attempts: 3, intervalMs: 24 * HOUR_MS, delayMs: 15_000, mode: "fail" },
};

const RESCHEDULE_DEFAULTS: Record<RunType, ReschedulePolicy> = {
  service: {
    attempts: 0,
    intervalMs: 0,
    delayMs: 30_000,
    function: "exponential",
    maxDelayMs: HOUR_MS,
    unlimited: true,
  },
  batch: {
    attempts: 1,
    intervalMs: 24 * HOUR_MS,
    delayMs: 5_000,
    function: "constant",
    maxDelayMs: 0,
    unlimited: false,
  },
};

/**
 * The restart policy of a task. Each field comes from the task. If the task omits the field, it comes from
 * the group, or else from the default of the run's type (restart.md#policy-1). A run of one command (the
 * short form) is restarted only if its spec sets `attempts` (api.md#forms-and-defaults).
 */
export function restartPolicy(
  type: RunType,
  short: boolean,
  group: RestartFields | undefined,
  own: RestartFields | undefined,
): RestartPolicy {
  const defaults = RESTART_DEFAULTS[type];
  const { attempts, interval, delay, mode } = { ...group, ...own };
  return {
    attempts: attempts ?? (short ? 0 : defaults.attempts),
    intervalMs: interval === undefined ? defaults.intervalMs : durationMs(interval),
    delayMs: delay === undefined ? defaults.delayMs : durationMs(delay),
    mode: mode ?? defaults.mode,
  };
}

const MIN_RESTART_INTERVAL_MS = 5_000;

/** Why a restart policy is invalid; null if it is valid (restart.md#validity). */
export function restartFault(policy: RestartPolicy): PolicyFault | null {
  const { attempts, intervalMs, delayMs, mode } = policy;
  const needed = attempts * delayMs;
  if (attempts === 0 && mode === "delay") {
    return { field: "attempts", detail: "must be at least 1 with mode `delay`: 0 would be ambiguous" };
  }
  if (intervalMs < MIN_RESTART_INTERVAL_MS) {
    return { field: "interval", detail: `must be at least ${formatDuration(MIN_RESTART_INTERVAL_MS)}` };
  }
  if (needed <= intervalMs) return null;
  const detail = `must fit into the interval: ${attempts} delays take ${formatDuration(needed)}`;
  return { field: "attempts", detail };
}

/**
 * The reschedule policy of a run (restart.md#reschedule). A spec that sets `attempts` without `unlimited`
 * limits the attempts. A run of one command (the short form) is rescheduled only if its spec has a policy
 * (api.md#forms-and-defaults).
 */
export function reschedulePolicy(
  type: RunType,
  short: boolean,
  own: RescheduleFields | undefined,
): ReschedulePolicy {
  const defaults = RESCHEDULE_DEFAULTS[type];
  const silent = short && own === undefined;
  const unlimited = own?.unlimited ?? (own?.attempts === undefined && defaults.unlimited && !silent);
  const fallback = unlimited || silent ? 0 : Math.max(1, defaults.attempts);
  return {
    attempts: own?.attempts ?? fallback,
    intervalMs: own?.interval === undefined ? intervalOf(defaults, unlimited) : durationMs(own.interval),
    delayMs: own?.delay === undefined ? defaults.delayMs : durationMs(own.delay),
    function: own?.function ?? defaults.function,
    maxDelayMs: own?.maxDelay === undefined ? defaults.maxDelayMs : durationMs(own.maxDelay),
    unlimited,
  };
}

/** The default interval. A service with limited attempts needs an interval, but its own default has none. */
function intervalOf(defaults: ReschedulePolicy, unlimited: boolean): Millis {
  return unlimited || defaults.intervalMs > 0 ? defaults.intervalMs : RESCHEDULE_DEFAULTS.batch.intervalMs;
}

const MIN_RESCHEDULE_INTERVAL_MS = 15_000;
const MIN_RESCHEDULE_DELAY_MS = 5_000;

/** Why a reschedule policy is invalid; null if it is valid (restart.md#reschedule-validity). */
export function rescheduleFault(policy: ReschedulePolicy): PolicyFault | null {
  const { attempts, intervalMs, delayMs, maxDelayMs, unlimited } = policy;
  if (attempts === 0 && !unlimited) return null;
  if (attempts > 0 && unlimited) {
    return { field: "attempts", detail: "cannot be combined with `unlimited`: send one of them" };
  }
  if (delayMs < MIN_RESCHEDULE_DELAY_MS) {
    return { field: "delay", detail: `must be at least ${formatDuration(MIN_RESCHEDULE_DELAY_MS)}` };
  }
  if (policy.function !== "constant" && maxDelayMs < delayMs) {
    return { field: "maxDelay", detail: `must be at least the delay, ${formatDuration(delayMs)}` };
  }
  if (unlimited) return null;
  if (intervalMs < MIN_RESCHEDULE_INTERVAL_MS) {
    return { field: "interval", detail: `must be at least ${formatDuration(MIN_RESCHEDULE_INTERVAL_MS)}` };
  }
  const { fit, interval } = attemptsThatFit(policy);
  if (fit >= attempts) return null;
  const detail = `must fit into the interval: only ${fit} do; ${attempts} need ${formatDuration(interval)}`;
  return { field: "attempts", detail };
}

/**
 * `fit`: how many attempts fit into the interval. Constant delays add up. A growing delay fits unless it is
 * longer than the interval (restart.md#reschedule-validity). `interval`, for the text of the fault: with
 * constant delays, how long all attempts take; with growing delays, the sum of the delays that do not fit.
 */
function attemptsThatFit(policy: ReschedulePolicy): { fit: number; interval: Millis } {
  const { attempts, intervalMs, delayMs } = policy;
  if (policy.function === "constant") {
    return { fit: Math.floor(intervalMs / delayMs), interval: attempts * delayMs };
  }
  const delays = delaysOf(policy, attempts);
  const tooLong = delays.filter((delay) => delay > intervalMs);
  return { fit: attempts - tooLong.length, interval: tooLong.reduce((sum, delay) => sum + delay, 0) };
}

/** The first delays of a policy, as `nextDelay` gives them if no placement runs long enough to reset them. */
function delaysOf({ function: how, delayMs, maxDelayMs }: ReschedulePolicy, count: number): Millis[] {
  const delays: Millis[] = [];
  for (let i = 0; i < count; i += 1) {
    const [last = delayMs, before = 0] = [delays[i - 1], delays[i - 2]];
    const next = i === 0 ? delayMs : how === "exponential" ? 2 * last : last + before;
    delays.push(maxDelayMs > 0 ? Math.min(next, maxDelayMs) : next);
  }
  return delays;
}
