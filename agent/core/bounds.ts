// Which time limits and bounds do several files of the agent share?
import type { Millis } from "../../src/shared/machine.ts";

/**
 * How long new output may wait for further output before it is reported, and how often the shell looks for
 * output.
 */
export const OUTPUT_REPORT_DELAY_MS: Millis = 50;
/** How long an answer may take, beyond the time for which the control plane may hold it back. */
export const EXCHANGE_TIMEOUT_MS: Millis = 15_000;
/** The longest back-off after failed exchanges (host-protocol.md#back-off). */
export const BACKOFF_LONGEST_MS: Millis = 30_000;
/**
 * Raw log bytes in one report. As base64 they leave 90 KiB for the state, and for stamps of the bytes
 * (host-protocol.md#report).
 */
export const MAX_REPORT_LOG_BYTES = 700 * 1024;
/** Stamps of log bytes in one report (host-protocol.md#stamps). Its pieces share them. */
export const MAX_REPORT_STAMPS = 2_048;
/** The most characters of one stamp in JSON: a number of bytes and a number of milliseconds. */
export const STAMP_CHARS = 20;
/**
 * While the socket is closed, a report waits until this long after the next try to open the socket. Then the
 * report goes by webhook.
 */
export const WEBHOOK_PATIENCE_MS: Millis = 1_000;
/** How much of the lease must be left when a kill begins (rule R4). */
export const LEASE_KILL_MS: Millis = 30_000;
/** The longest kill timeout when the agent itself is told to end: whoever tells it does not wait long. */
export const SHORT_STOP_MS: Millis = 5_000;
/** How long an ending agent tries to kill the remaining processes, and to report the ends of its attempts. */
export const LAST_WORDS_MS: Millis = 10_000;
/**
 * How long before the end of the lease the watchdog acts for an agent that is dead or suspended. The time
 * suffices for a short stop and for the kill.
 */
export const WATCHDOG_LEAD_MS: Millis = SHORT_STOP_MS + LEASE_KILL_MS;
/** A process whose clock has advanced by more than this between two looks has slept. */
export const STOOD_STILL_MS: Millis = 5_000;
/** How many bytes of a file are in memory while it is signed and sent. */
export const SENT_AT_ONCE_BYTES = 256 * 1024;
/** The longest delay of a Node timer. A longer wait sets one timer after another. */
export const LONGEST_TIMER_MS: Millis = 2 ** 31 - 1;
