// Which bounds do two files share, or can a user see? Any other bound is defined beside its only use. Each
// bound has a test at its exact value (CONTRIBUTING.md#style).

import type { Millis } from "./machine.ts";

/** The largest spec, as canonical JSON. A larger spec is refused with 400 (api.md#refused-specs). */
export const MAX_SPEC_BYTES = 256 * 1024;
/** The largest request body of the client API. A batch of a thousand ordinary specs fits. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** The largest body of a caller without a token of this Drover: for tokens of others, and browser codes. */
export const MAX_OPEN_BODY_BYTES = 64 * 1024;
/** How many runs one batch can have (api.md#batches). */
export const MAX_BATCH_RUNS = 1_000;
/** How many runs one array can have, in several batches: as many as a query can name (api.md#arrays). */
export const MAX_ARRAY_RUNS = 10_000;
/** The strategies of concurrency keys, and the bounds of their fields (pool.md#concurrency-keys). */
export const CONCURRENCY_STRATEGIES = [
  "queue",
  "queue-one",
  "round-robin",
  "cancel-running",
  "cancel-new",
] as const;
export const MAX_CONCURRENCY_KEY_CHARS = 200;
export const MAX_CONCURRENCY_LIMIT = 10_000;
export const MAX_CONCURRENCY_QUEUE = 1_000_000;
/** How many runs a text or an error names that keep a concurrency key from another run. */
export const MAX_HOLDERS_NAMED = 5;
/** How many axes the matrix of an array can have. */
export const MAX_MATRIX_AXES = 16;
/** How many runs one run can follow (api.md#after). */
export const MAX_AFTER = 100;
/** How many labels one run can have, and therefore one query, too. */
export const MAX_LABELS = 64;
/** How many characters a text can have that a list of runs is searched for (api.md#finding). */
export const MAX_SEARCH_CHARS = 256;
/**
 * How many bytes (UTF-8) the names and values of all labels of a run can have. The same bound applies to the
 * `meta` of a run or task.
 */
export const MAX_TEXT_MAP_BYTES = 8 * 1024;
/** How many ids one query can have (api.md#query-ids). */
export const MAX_QUERY_IDS = 10_000;
/** To how many snapshots one submission can refer. */
export const MAX_SUBMITTED_SNAPSHOTS = 1_000;
/** The largest snapshot: one upload to the object store, less a margin. A deployment may lower this limit. */
export const MAX_SNAPSHOT_BYTES = 4 * 1024 * 1024 * 1024;
/** How long a host tries to store a command's outputs while not a single byte can be stored. */
export const STORE_OUTPUTS_MS = 15 * 60_000;
/** The largest value of a secret, and of all secrets of one task together (secrets.md#limits). */
export const MAX_SECRET_BYTES = 64 * 1024;
export const MAX_TASK_SECRET_BYTES = 64 * 1024;
/**
 * How many bytes the values of a run's secrets can have on one host, each value counted once. What is built
 * to mask a value takes up to 800 bytes of memory for each of its bytes (budgets.md#a-log-with-secrets).
 */
export const MAX_RUN_SECRET_BYTES = 256 * 1024;
/** How many secrets one task can have, and how many this Drover. */
export const MAX_TASK_SECRETS = 32;
export const MAX_SECRETS = 1_000;
/** How many environment variables one container can have. More of them fill the memory of its engine. */
export const MAX_CONTAINER_VARIABLES = 1_000;
/** How many bytes the values of all secrets of this Drover can have: the registry has them in its memory. */
export const MAX_SECRETS_BYTES = 16 * 1024 * 1024;
/** A shorter value is not masked in output, since it would mask ordinary words (redaction.md#needles). */
export const SHORTEST_MASKED_BYTES = 6;
/** The longest time that a read waits for a change (api.md#waiting). */
export const MAX_WAIT_MS = 60_000;
/** How long a submission waits for its pool before the client gets a 503 (messages.md#submission). */
export const ACKNOWLEDGE_MS = 5_000;
/** How long the id of a deleted run answers 410 and cannot be used again (api.md#ids). */
export const TOMBSTONE_MS = 30 * 24 * 3_600_000;
/** How many characters of a text from outside are stored: an error, a reason, the output of a probe. */
export const MAX_TEXT_CHARS = 4_096;

/** How many devices of a host are known (devices.md#what). No type and no run has more GPUs. */
export const MAX_DEVICES = 64;
/** The longest id, vendor, model or driver of a device, in characters. */
export const MAX_DEVICE_WORD_CHARS = 128;

/** How many events are kept with a run (decisions/runs.md#events-kept). */
export const MAX_RUN_EVENTS = 1_000;
/** How many events are shown with a task (tasks.md#history-1). */
export const MAX_TASK_EVENTS = 10;
/** How many attempts are kept with a task, and placements with a run (messages.md#bounds-of-a-record). */
export const MAX_TASK_ATTEMPTS = 50;

/** How many tries can follow the first try of a run (retry.md#fields). */
export const MAX_RETRIES = 20;

/** How many log bytes of one stream of an attempt are kept. The rest is dropped, and an event says so. */
export const MAX_LOG_BYTES = 1024 * 1024 * 1024;
/**
 * How many log bytes one call of a host outside of its reports can have. Each call becomes one object in the
 * object store.
 */
export const MAX_LOG_CHUNK_BYTES = 4 * 1024 * 1024;
/** How many log bytes one answer of an allocation to a reader can have. */
export const MAX_LOG_READ_BYTES = 1024 * 1024;
/** How long a run waits for the next log byte of an exited attempt (host-protocol.md#orders). */
export const LAST_BYTE_MS = 60_000;

/** The largest report of a host (host-protocol.md#report). */
export const MAX_REPORT_BYTES = 1024 * 1024;
/** The longest time that the answer to a report waits for new orders (host-protocol.md#webhook). */
export const MAX_REPORT_WAIT_MS = 20_000;
/**
 * How long a host may delay the report of a start. If the command ends within this time, the host sends one
 * report instead of two (budgets.md#budgets, requests per hot run).
 */
export const START_REPORT_DELAY_MS = 1_000;
/**
 * An event counts as reported at once if its report comes within this time. Every wait that counts from a
 * report is much longer.
 */
export const HEARD_AT_ONCE_MS = 1_000;
/** A host's socket closes with this number plus the HTTP status of the error: 4409 stands for 409. */
export const CLOSE_CODES_FROM = 4_000;
/** How much the time in a signature may differ from the time of the control plane. */
export const SIGNATURE_TOLERANCE_MS = 5 * 60_000;
/** The shortest time between two records of the same kind of refusal at a worker. Each record costs a row. */
export const NOTE_REFUSAL_MS = 60_000;
/** Notices whose times differ by less count as the same notice, since each change of a notice costs a row. */
export const NOTICE_DRIFT_MS = 10_000;
/**
 * How long a host may report that something of an ended run remains, before its machine counts as broken
 * (workers.md#stale-3).
 */
export const STALE_RUN_MS = 5_000;
/** The longest `killTimeout` that hosts grant if the pool does not limit it (tasks.md#kill-6). */
export const MAX_KILL_MS = 3_600_000;

/** For how long the machine of a failed run can be kept, at most and by default (tasks.md#kept). */
export const MAX_KEEP_MS: Millis = 8 * 3_600_000;
export const DEFAULT_KEEP_MS: Millis = 30 * 60_000;

/** The longest back-off of a message that failed (rules.md#r7). */
export const RETRY_LONGEST_MS = 60_000;
/** How many messages one object has in flight at the same time at most. Other messages wait. */
export const MAX_IN_FLIGHT = 64;
/** How long after the end of a worker's lease the control plane calls the worker `lost` (rules.md#r4). */
export const LEASE_MARGIN_MS = 60_000;
/** How long an ended placement is remembered, so that it is never accepted again (rules.md#r2). */
export const REMEMBER_ENDED_MS = 24 * 3_600_000;

/** How long after the pool's decision a create may begin (rules.md#invariant-3, `notAfter`). */
export const CREATE_NOT_AFTER_MS = 10 * 60_000;
/** How long a create call may still take effect that got no answer, or that an earlier process made. */
export const CREATE_STRAGGLER_MS = 90_000;
/** How long a new machine may be missing from listings without a consequence (decisions/workers.md#d4). */
export const UNLISTED_MS = 2 * 60_000;
/** The longest pause that a provider can ask for, since a mistyped pause must not stop a pool forever. */
export const MAX_RETRY_AFTER_MS = 3_600_000;
/** The largest answer of a provider: a listing of 10,000 machines fits. */
export const MAX_PROVIDER_ANSWER_BYTES = 16 * 1024 * 1024;
/** How many machines are named at most when a listing shows machines that do not belong to the pool. */
export const MAX_STRANGERS_SHOWN = 20;
/** How many tags a pool can add to its machines. */
export const MAX_POOL_TAGS = 32;
/** The shortest interval and the shortest timeout of a pool. */
export const MIN_INTERVAL_MS = 1_000;

/** How long an enrollment code is valid: at least, at most, and by default. */
export const MIN_ENROLLMENT_MS = 1_000;
export const MAX_ENROLLMENT_MS = 7 * 24 * 3_600_000;
export const DEFAULT_ENROLLMENT_MS = 3_600_000;
/**
 * How many exported entries of each sort an owner's part of the audit log keeps, and for how long. How many
 * bytes each sort may have in all, so that entries beyond these are dropped even before their export
 * (audit.md#bounds).
 */
export const MAX_AUDIT_ROWS = 20_000;
export const AUDIT_KEPT_MS = 90 * 24 * 3_600_000;
export const MAX_AUDIT_BYTES = 64 * 2 ** 20;
/** How many unused enrollment codes one pool can have. */
export const MAX_OPEN_ENROLLMENTS = 1_000;

/** How long a code can start a browser session (sessions.md#codes). */
export const SESSION_CODE_MS: Millis = 60_000;
/** A browser session ends this long after its start, however much it is used (sessions.md#life). */
export const LONGEST_SESSION_MS: Millis = 7 * 24 * 3_600_000;
/** How many tokens, and how many trust rules, one request can restore (backup.md#access). */
export const MAX_RESTORED = 500;

/** The longest id of a run, with its project. */
export const MAX_RUN_ID_CHARS = 63;
