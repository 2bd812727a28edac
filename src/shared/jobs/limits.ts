// Which bounds of jobs can a user see? Each has a test at its exact value (CONTRIBUTING.md#style).
import type { Millis } from "../machine.ts";

/** How many cron expressions one schedule can have. */
export const MAX_CRONS = 10;
/** The longest jitter of a schedule, and the longest time for which missed ticks are made up. */
export const MAX_JITTER = "24h";
export const MAX_CATCH_UP = "31d";
/** How long after its start a tick is still on time (jobs.md#missed): a restart takes less. */
export const ON_TIME_MS: Millis = 60_000;
/** How many missed ticks run at most after one absence, with `missed: "all"`. */
export const MAX_MADE_UP = 100;
/** The time from the start of one missed tick to that of the next one. */
export const MADE_UP_SPACING_MS: Millis = 5_000;

/** How many parameters one job can have, and how many values one `enum`. */
export const MAX_PARAMS = 64;
export const MAX_ENUM_VALUES = 256;
/** The largest value of one parameter, and of all parameters of one run together, in bytes of UTF-8. */
export const MAX_PARAM_BYTES = 64 * 1024;
/** The largest value of a parameter that has no `maxBytes`. */
export const DEFAULT_PARAM_BYTES = 4 * 1024;
/** The longest pattern, and the largest value that is compared with one, in bytes of UTF-8. */
export const MAX_PATTERN_CHARS = 256;
export const MAX_PATTERN_VALUE_BYTES = 1_024;
/** The largest payload of a run, and what it may have in all, once for each task of the run. */
export const MAX_PAYLOAD_BYTES = 64 * 1024;
export const MAX_PAYLOAD_BYTES_OF_TASKS = 768 * 1024;

/** The longest key of a trigger, which becomes a part of its run's id. */
export const MAX_TRIGGER_KEY_CHARS = 16;
