import { durationMs, formatDuration } from "./duration.ts";
import type { Millis } from "./machine.ts";

/**
 * What a run is: `batch` ends, `service` shall go on for ever. Defaults depend on it (restart.md#default-1).
 */
export type RunType = "batch" | "service";

/** How often, and how soon, a task is started again on the same machine (restart.md#restart-policy). */
export interface RestartPolicy {
  attempts: number;
  intervalMs: Millis;
  delayMs: Millis;
  /** `fail`: after the attempts the task has failed. `delay`: it waits for the end of the interval. */
  mode: "fail" | "delay";
}

/** The same as a submission says it: what is absent is taken from the next layer below. */
export interface RestartFields {
  attempts?: number;
  interval?: string;
  delay?: string;
  mode?: "fail" | "delay";
}

/**
 * How often, and how soon, a run is placed anew when its placement was lost or has failed
 * (restart.md#reschedule).
 */
export interface ReschedulePolicy {
  attempts: number;
  intervalMs: Millis;
  delayMs: Millis;
  function: "constant" | "exponential" | "fibonacci";
  /** 0: no bound. */
  maxDelayMs: Millis;
  unlimited: boolean;
}

/** The same as a submission says it. */
export interface RescheduleFields {
  attempts?: number;
  interval?: string;
  delay?: string;
  function?: ReschedulePolicy["function"];
  maxDelay?: string;
  unlimited?: boolean;
}

/** A policy that breaks a rule: the field to blame, and what is allowed there. */
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
 * The restart policy of a task: what it says itself, what its group says, the default of the type, field by
 * field (restart.md#policy-1). The short form restarts only if it says how often (api.md#forms-and-defaults).
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

/** What is wrong with a restart policy; null if nothing is (restart.md#validity). */
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
 * The reschedule policy of a run (restart.md#reschedule). `attempts` alone means that many, not endlessly.
 * The short form is not rescheduled unless it says so (api.md#forms-and-defaults).
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

/** A service that is to be rescheduled only so often needs an interval, of which its default has none. */
function intervalOf(defaults: ReschedulePolicy, unlimited: boolean): Millis {
  return unlimited || defaults.intervalMs > 0 ? defaults.intervalMs : RESCHEDULE_DEFAULTS.batch.intervalMs;
}

const MIN_RESCHEDULE_INTERVAL_MS = 15_000;
const MIN_RESCHEDULE_DELAY_MS = 5_000;

/** What is wrong with a reschedule policy; null if nothing is (restart.md#reschedule-validity). */
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
 * How many attempts fit into the interval, and which interval would do for all: a constant delay adds up; of
 * a growing one each must be shorter than the interval (the table of restart.md#reschedule-validity).
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

/** The first delays of a policy, never reset: what `nextDelay` gives while nothing runs for long. */
function delaysOf({ function: how, delayMs, maxDelayMs }: ReschedulePolicy, count: number): Millis[] {
  const delays: Millis[] = [];
  for (let i = 0; i < count; i += 1) {
    const [last = delayMs, before = 0] = [delays[i - 1], delays[i - 2]];
    const next = i === 0 ? delayMs : how === "exponential" ? 2 * last : last + before;
    delays.push(maxDelayMs > 0 ? Math.min(next, maxDelayMs) : next);
  }
  return delays;
}
