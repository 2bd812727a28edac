// Every time limit and bound of the agent, named, with its unit.
import type { Millis } from "../../src/shared/machine.ts";

/**
 * How long the first unreported byte of output may wait for more. The shell looks for output as often
 * again.
 */
export const OUTPUT_REPORT_DELAY_MS: Millis = 50;
/**
 * After an answer that came at once and brought nothing: a server that cannot hold answers must not be spun
 * on.
 */
export const EMPTY_ANSWER_PAUSE_MS: Millis = 1_000;
/**
 * Beyond the time for which it may be held, an answer is waited for this long; then the report is sent
 * anew.
 */
export const EXCHANGE_TIMEOUT_MS: Millis = 15_000;
/** Full jitter after failed exchanges: at first between nothing and this (host-protocol.md#back-off). */
export const BACKOFF_FIRST_MS: Millis = 1_000;
export const BACKOFF_LONGEST_MS: Millis = 30_000;
/** The same for a join that something answers which this host does not know: it may be so for good. */
export const UNKNOWN_BACKOFF_MS: Millis = 5 * 60_000;
/** Why a host cannot join is said again so often. */
export const SAY_AGAIN_MS: Millis = 3_600_000;
/** Log bytes that were sent but not acknowledged are sent again after this, doubling. */
export const LOG_RETRY_FIRST_MS: Millis = 100;
export const LOG_RETRY_LONGEST_MS: Millis = 5_000;
/** A stream with so many bytes to send does it by chunks, outside of reports. */
export const CHUNK_FROM_BYTES = 512 * 1024;
/** A chunk that fails is followed by one half its size, down to this. */
export const LEAST_CHUNK_BYTES = 256 * 1024;
/** Chunks of one host that are under way at once: each takes memory at the edge. */
export const MAX_CHUNKS_IN_FLIGHT = 2;
/** A chunk that is not answered in this time has failed. */
export const CHUNK_TIMEOUT_MS: Millis = 60_000;
/** A stream whose chunk was refused, and not for a while only, uses reports for this long. */
export const CHUNK_REFUSED_MS: Millis = 30_000;
/** So much of a stream that need not be kept any more is given back to the disk at once. */
export const PUNCH_STEP_BYTES = 16 * 1024 * 1024;
/** Raw log bytes in one report. As base64 they leave 90 KiB for the state (host-protocol.md#report). */
export const MAX_REPORT_LOG_BYTES = 700 * 1024;
/** Room for what the log bytes need around them, and for an instant that grew a digit. */
export const REPORT_SLACK_BYTES = 1_024;
/** Artifacts of one task that are fetched at once (tasks.md#prepare-11). */
export const ARTIFACTS_AT_ONCE = 3;
/** One artifact, as it is fetched. An endless one ends here. */
export const MAX_ARTIFACT_BYTES = 16 * 1024 ** 3;
/** An upload of which nothing was sent or answered for so long has failed. */
export const UPLOAD_STALLS_MS: Millis = 2 * 60_000;
/** A name in a file system of Linux (`NAME_MAX`). */
export const MAX_FILE_NAME_BYTES = 255;
/** Redirects that are followed for one artifact. */
export const MAX_REDIRECTS = 10;
/** A download that brings less than this in that time is too slow: it has failed, and is tried again. */
export const ARTIFACT_LEAST_BYTES = 64 * 1024;
export const ARTIFACT_SLOW_MS: Millis = 60_000;
/** Tries in a row that have brought next to nothing before a download is given up; the wait doubles. */
export const ARTIFACT_TRIES = 5;
export const ARTIFACT_RETRY_FIRST_MS: Millis = 500;
/**
 * Data of a sticky run that is placed nowhere are kept for so long, and those of so many placements: the
 * control plane says much sooner that nobody needs them.
 */
export const KEPT_DATA_MS: Millis = 24 * 3_600_000;
export const MAX_KEPT_DATA = 32;
/** What every kill must have left of the lease when it begins (rule R4). */
export const LEASE_KILL_MS: Millis = 30_000;
/** How long each try of a kill waits for the tree to be empty (tasks.md#kill-6). The last is repeated. */
export const KILL_WAITS_MS: readonly Millis[] = [5_000, 20_000, 80_000, 120_000, 120_000];
/** How often the host looks whether its machine is about to be taken away (workers.md#notice). */
export const NOTICE_EVERY_MS: Millis = 5_000;
/** The longest kill timeout when the agent itself is told to end: whoever ends it does not wait for long. */
export const SHORT_STOP_MS: Millis = 5_000;
/** How long an agent that ends tries to report what became of its attempts, and to kill what does not die. */
export const LAST_WORDS_MS: Millis = 10_000;
/**
 * How long before the end of the lease the watchdog ends what an agent has left that is dead, or stopped: a
 * short stop, and then what every kill must have.
 */
export const WATCHDOG_LEAD_MS: Millis = SHORT_STOP_MS + LEASE_KILL_MS;
/** The same for an agent that seems to run: it has ended all of it long before, unless it hangs. */
export const WATCHDOG_LAST_LEAD_MS: Millis = 20_000;
/** The least that is left of the lease when the watchdog does without Node: what is a moment's work. */
export const WATCHDOG_BARE_LEAD_MS: Millis = 15_000;
/** How often the watchdog looks. Within the lead there must be room for it. */
export const WATCHDOG_LOOK_MS: Millis = 2_000;
/** The stop of a task that the agent knows only by its id. Defaults of api.md#forms-and-defaults. */
export const DEFAULT_KILL_TIMEOUT_MS: Millis = 5_000;
/**
 * What runs is sampled this often, and first this long after its own start: soon enough for the report of
 * that start (`START_REPORT_DELAY_MS`), since a report for the sample alone would have a price.
 */
export const SAMPLE_EVERY_MS: Millis = 10_000;
export const FIRST_SAMPLE_MS: Millis = 800;
/** Between two samples, however many attempts have just started. */
export const SAMPLE_GAP_MS: Millis = 250;
/** Attempts whose usage is measured and reported: a report must have room for it beside their state. */
export const MAX_SAMPLED_ATTEMPTS = 1_000;
/** By socket a full report goes this often, or so many times a lease if that is more often. */
export const FULL_REPORT_MS: Millis = 5 * 60_000;
export const FULL_REPORTS_A_LEASE = 6;
/** What is over, and still in the orders, is said again after this, doubling. */
export const REPEAT_FIRST_MS: Millis = 2_000;
export const REPEAT_LONGEST_MS: Millis = 30_000;
/** For so long beyond the next try of the socket no report goes by webhook. */
export const WEBHOOK_PATIENCE_MS: Millis = 1_000;
/** On a socket an acknowledgment of log bytes comes after the answer; before that they are not sent again. */
export const LINE_LOG_RETRY_FIRST_MS: Millis = 1_000;
/** An agent whose clock has gone on for longer than this since it last looked has stood still meanwhile. */
export const STOOD_STILL_MS: Millis = 5_000;
/** How often it looks, where that matters. */
export const LOOK_AWAKE_MS: Millis = 1_000;
/**
 * How long a lease lasts that ended while the machine and its control plane slept, and for how much of that
 * only a renewal is waited for. It is over before the control plane says `lost` (`LEASE_MARGIN_MS`).
 */
export const LEASE_AFTER_SLEEP_MS: Millis = 55_000;
export const RENEW_AFTER_SLEEP_MS: Millis = 20_000;
