/** Every bound, named, with its unit. A test stands at each of them (CONTRIBUTING.md#style). */

/** A spec, as canonical JSON. Over it a submission is a 400 (api.md#refused-specs). */
export const MAX_SPEC_BYTES = 256 * 1024;
/** A request body of the client API: a batch of a thousand ordinary specs fits, a mistake does not. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** Runs in one batch (api.md#batches). */
export const MAX_BATCH_RUNS = 1_000;
/** Labels of one run, and so labels that a query can name. */
export const MAX_LABELS = 64;
/** Ids in one query (api.md#query-ids). */
export const MAX_QUERY_IDS = 10_000;
/** A report of a host (host-protocol.md#report). */
export const MAX_REPORT_BYTES = 1024 * 1024;
/** The longest time for which a read is held (api.md#waiting). */
export const MAX_WAIT_MS = 60_000;
/**
 * Waits that one pool holds, and ids that different ones of these name: what they take of the 128 MB that its
 * isolate has is bounded (platform.md#limits).
 */
export const MAX_HELD_WAITS = 10_000;
export const MAX_HELD_WAIT_IDS = 100_000;
/** A host's socket is closed with this and the HTTP status that says why (4409 is the 409 of the webhook). */
export const CLOSE_CODES_FROM = 4_000;
/** The longest time for which the answer to a report is held (host-protocol.md#webhook). */
export const MAX_REPORT_WAIT_MS = 20_000;
/**
 * Log bytes of one stream that are kept inside the allocation's one value; more goes into rows of their own.
 */
export const MAX_INLINE_LOG_BYTES = 64 * 1024;
/** The same, of all streams of all attempts of a run: the value must stay well below what storage takes. */
export const MAX_RUN_INLINE_LOG_BYTES = 512 * 1024;
/** Log bytes that are kept of one stream of one attempt. What comes after is dropped, and the run says so. */
export const MAX_LOG_BYTES = 1024 * 1024 * 1024;
/** Log bytes that a host sends in one call outside of its reports: one object of the store. */
export const MAX_LOG_CHUNK_BYTES = 4 * 1024 * 1024;
/**
 * A snapshot: what the object store takes in one piece, less a margin. A deployment may take less: see
 * `docs/deploy.md`.
 */
export const MAX_SNAPSHOT_BYTES = 4 * 1024 * 1024 * 1024;
/** Snapshots that one submission names. */
export const MAX_SUBMITTED_SNAPSHOTS = 1_000;
/** A host that could store nothing for so long of the outputs of a command that has ended gives them up. */
export const STORE_OUTPUTS_MS = 15 * 60_000;
/** Log bytes in one answer of an allocation to a reader. */
export const MAX_LOG_READ_BYTES = 1024 * 1024;
/** Events kept with a run (decisions/runs.md#events-kept). */
export const MAX_RUN_EVENTS = 1_000;
/**
 * Signals that an order names: of more the host gets the latest. It gets each within a moment, so this many
 * wait only if it cannot be reached.
 */
export const MAX_SIGNALS_KEPT = 32;
/** Restarts and signals whose `Idempotency-Key` a run remembers. */
export const MAX_ASKS_REMEMBERED = 32;
/** A sample of a host that is older is asked for anew when somebody reads it, and waited for this long. */
export const SAMPLE_FRESH_MS = 15_000;
export const SAMPLE_WAIT_MS = 2_000;
/** Events shown with a task (tasks.md#history-1). */
export const MAX_TASK_EVENTS = 10;
/** Attempts kept with a task, and placements with a run (messages.md#bounds-of-a-record). */
export const MAX_TASK_ATTEMPTS = 50;
/** How often in a row a task is started anew of which nobody saw how it ended. */
export const MAX_LOSSES_IN_A_ROW = 5;
/** Times that a run was placed anew which are remembered (restart.md#kept). */
export const MAX_RESCHEDULES_KEPT = 50;
/** Attempts kept with a run of many tasks; each task keeps the latest few all the same. */
export const MAX_RUN_ATTEMPTS = 512;
export const MIN_TASK_ATTEMPTS = 4;
/**
 * What the texts of hosts take in storage with a run: in its events, where the oldest go, and with its
 * attempts, where the oldest are cut. With logs and spec it stays below the 2 MB that storage takes.
 */
export const MAX_RUN_EVENT_BYTES = 384 * 1024;
export const MAX_RUN_ATTEMPT_TEXT_BYTES = 128 * 1024;
/** How long the id of a deleted run answers 410, and is given to no other (api.md#ids). */
export const TOMBSTONE_MS = 30 * 24 * 3_600_000;
/** Ended runs that a pool looks at, and lets go, at once. */
export const FORGET_BATCH = 32;
/** How often a pool looks for ended runs whose time is over, at most; if there are many, how soon again. */
export const FORGET_LOOK_MS = 60_000;
export const FORGET_NEXT_MS = 1_000;
/** So many changes of a machine's price are remembered. */
export const MAX_PRICES = 50;
/** Events kept with a worker, and bytes that they take in storage. */
export const MAX_WORKER_EVENTS = 100;
export const MAX_WORKER_EVENT_BYTES = 256 * 1024;
/** Characters of any text that comes from outside and is kept: an error, a reason, the output of a probe. */
export const MAX_TEXT_CHARS = 4_096;
/**
 * How long the report of a mere start may wait, so that a command that ends within it costs one report and
 * not two (budgets.md#budgets, requests per hot run).
 */
export const START_REPORT_DELAY_MS = 1_000;
/**
 * What is heard so soon after it has happened needs no note of when that was: all waits that count from the
 * hearing are much longer.
 */
export const HEARD_AT_ONCE_MS = 1_000;
/** A message that nobody else would repeat is tried again this long after a crash at the latest. */
export const REPEAT_AFTER_CRASH_MS = 1_000;
/** Back-off of a message that failed: first, and longest (rule R7). */
export const RETRY_FIRST_MS = 1_000;
export const RETRY_LONGEST_MS = 60_000;
/**
 * What the alarm is never set closer than: a past-due alarm cannot be trusted to fire (platform.md#alarms).
 */
export const MIN_ALARM_DELAY_MS = 5;
/** Beyond the lease: how long the control plane waits until it says `lost` (rule R4). */
export const LEASE_MARGIN_MS = 60_000;
/** How long an ended placement is remembered and never accepted again (rule R2). */
export const REMEMBER_ENDED_MS = 24 * 3_600_000;
/**
 * How long a failed sticky run waits at most for its data to be stored, before it is placed again without.
 */
export const SAVE_DATA_MS = STORE_OUTPUTS_MS;
/**
 * How long an exited attempt waits for the last byte of its logs while none arrives
 * (host-protocol.md#orders).
 */
export const LAST_BYTE_MS = 60_000;
/** How long poststop tasks of a run that is to end may take, counted from when their turn has come. */
export const POSTSTOP_AFTER_WISH_MS = 5 * 60_000;
/** How long a submission waits for the pool's word before the client gets a 503 (messages.md#submission). */
export const ACKNOWLEDGE_MS = 5_000;
/** How long a reader of a run waits until its pool has said where the run is. */
export const PLACE_KNOWN_MS = 1_000;
/** How long the pool's consent to stop a worker binds the pool. */
export const CONSENT_MS = 60_000;
/** How long a create may still be begun after the pool has decided it (invariant 3, `notAfter`). */
export const CREATE_NOT_AFTER_MS = 10 * 60_000;
/** For so long a create call without an answer, or one of an earlier process, may still take effect. */
export const CREATE_STRAGGLER_MS = 90_000;
/**
 * How long a machine that was made may be missing from listings before that means anything
 * (decisions/workers.md#d4).
 */
export const UNLISTED_MS = 2 * 60_000;
/** How long an empty pool goes on looking for a machine that it gave up because no listing had it. */
export const LATE_MACHINE_MS = 15 * 60_000;
/** The longest pause that a provider can ask for: a mistyped one must not stop a pool for ever. */
export const MAX_RETRY_AFTER_MS = 3_600_000;
/** Bytes of one answer of a provider: a listing of 10,000 machines fits, an endless answer does not. */
export const MAX_PROVIDER_ANSWER_BYTES = 16 * 1024 * 1024;
/** Machines that are gone and are listed with a pool's: the latest. */
export const GONE_WORKERS_SHOWN = 1_000;
/** The highest number that a worker's name is believed to have. */
export const MAX_WORKER_NUMBER = 1_000_000_000;
/** Machines in a listing that are not this pool's, and are named with it. */
export const MAX_STRANGERS_SHOWN = 20;
/** The pool's own tags for its machines. */
export const MAX_POOL_TAGS = 32;
/**
 * How long something may hold on to a run that has ended, before its machine counts as broken
 * (workers.md#stale-3).
 */
export const STALE_RUN_MS = 5_000;
/** The longest `killTimeout` that hosts grant, where a pool says nothing (tasks.md#kill-6). */
export const MAX_KILL_MS = 3_600_000;
/** Notices that differ by less in when the machine will be gone say the same: each change is a row. */
export const NOTICE_DRIFT_MS = 10_000;
/** How far off the time may be at which a call says to be signed. */
export const SIGNATURE_TOLERANCE_MS = 5 * 60_000;
/** A message without a reply for this long has failed. Longer than the slowest call to a cloud. */
export const SEND_TIMEOUT_MS = 45_000;
/** Messages that one object has under way at once; the others wait for their turn. */
export const MAX_IN_FLIGHT = 64;
/** Owners whom a pool asks at once how they are: more than can be under way, since some wait to be again. */
export const MAX_POKES_DUE = 4 * MAX_IN_FLIGHT;
/** For how long an enrollment code can be used: shortest, longest, and unless it is said. */
export const MIN_ENROLLMENT_MS = 1_000;
export const MAX_ENROLLMENT_MS = 7 * 24 * 3_600_000;
export const DEFAULT_ENROLLMENT_MS = 3_600_000;
/** Enrollment codes of one pool that wait to be used. */
export const MAX_OPEN_ENROLLMENTS = 1_000;
/** Earlier boots of a machine that are remembered: whoever comes from one of them is a clone. */
export const MAX_REMEMBERED_BOOTS = 20;
/** Starts of an agent that are remembered: a late join of one does not end the agent that came after it. */
export const MAX_REMEMBERED_JOINS = 20;
/** A refusal of one kind is noted with its worker at most this often: each note is a row. */
export const NOTE_REFUSAL_MS = 60_000;
/** The shortest interval and time-out that a pool may have. */
export const MIN_INTERVAL_MS = 1_000;
/** Bytes (UTF-8) of all labels of a run, names and values; of its `meta`, and of each task's, too. */
export const MAX_TEXT_MAP_BYTES = 8 * 1024;

/**
 * What is believed of one report (`docs/design/reports.md`). Placements that this worker was never given:
 * so many are shown to their allocations at a time, and so many names are looked up in a report at most.
 */
export const MAX_STRANGERS_ASKED = 8;
export const MAX_STRANGERS_LOOKED_UP = 64;
/** Attempts of one placement that its orders do not name. */
export const MAX_UNORDERED_ATTEMPTS = 8;
/** Kept placements that allocations are asked about, and runs of which something is left on a machine. */
export const MAX_KEPT_ASKED = 32;
export const MAX_STALE_RUNS = 64;
/** Characters of what holds on to such a run. */
export const MAX_HOLDER_CHARS = 256;
/** Base64 of log bytes that is held for one placement, beside what the latest report has brought. */
export const MAX_HELD_LOG_CHARS = 1024 * 1024;
/** What a host counts by itself, revisions and reports, at most: there must be room to count on. */
export const MAX_HOST_NUMBER = 2 ** 48;

/**
 * How fast one host may speak (`core/worker/host/pace.ts`): a call is one unit, and one more for so many
 * bytes; so many units come back each second, up to so many. Whoever has to be asked because of it costs
 * more.
 */
export const HOST_UNITS_A_SECOND = 100;
export const MAX_HOST_UNITS = 200;
export const BYTES_A_UNIT = 32 * 1024;
/** Another start of the agent, or a socket. */
export const UNITS_OF_A_START = 10;
export const UNITS_OF_A_STRANGER = 20;
export const UNITS_OF_A_KEPT = 5;
/** What becomes an event of the worker, and mostly news to its pool. */
export const UNITS_OF_AN_EVENT = 10;
