import type { Millis } from "./machine.ts";

/**
 * The HTTP status that each code is answered with. This is the closed list of codes that a client can meet.
 */
export const STATUS_OF_CODE = {
  /** The request does not say what it must, or says what it must not. `errors` names the fields. */
  invalid_request: 400,
  /** The body is no JSON. */
  malformed_json: 400,
  /** No token, or one that is not known. */
  unauthorized: 401,
  /** A host's signature, or an enrollment code, does not verify. */
  bad_signature: 401,
  /** The token is good, but not for this. */
  forbidden: 403,
  /** There is no such route. */
  not_found: 404,
  unknown_run: 404,
  unknown_task: 404,
  /** No attempt of this name was placed on this host. */
  unknown_attempt: 404,
  unknown_pool: 404,
  unknown_worker: 404,
  unknown_snapshot: 404,
  /** The route exists, the method does not. */
  method_not_allowed: 405,
  /** A run with this id exists already, with another submission. */
  run_exists: 409,
  /** No task that this is for is running. */
  not_running: 409,
  /** The run has ended, or is being stopped. */
  terminal: 409,
  /** Only a run that has ended can be deleted. */
  not_terminal: 409,
  /** The spec has changed since it was read: read it again. */
  stale_index: 409,
  /** The enrollment code has been used with another secret. */
  code_used: 409,
  /** An older start of the host's agent than the latest: stop everything and exit. */
  stale_incarnation: 409,
  /** Two machines start as this host by turns: clones of one disk. Neither is listened to any more. */
  cloned: 409,
  /** The provider's identity cannot change while the pool has machines. */
  pool_in_use: 409,
  /** The pool is being deleted: it takes no more runs and machines. */
  pool_draining: 409,
  /** The run has been deleted, by somebody or after its retention. Its id is not used again for now. */
  expired_run: 410,
  /** The logs of the run are deleted, and the run is kept: its pool keeps logs for a shorter time. */
  expired_logs: 410,
  /** The enrollment code, or the worker that it names, is over. */
  enrollment_over: 410,
  /** The body does not say how long it is. */
  length_required: 411,
  body_too_large: 413,
  /** The body is of another type than the route takes. */
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  /** The route is a socket, and was asked for as if it were not. */
  upgrade_required: 426,
  /** The same idempotency key with another submission. */
  idempotency_mismatch: 422,
  /** No instance type of the pool can ever hold this run. */
  unsatisfiable: 422,
  /** What was sent is not what its digest says. Nothing is stored. */
  digest_mismatch: 422,
  /** The pool does not allow absolute directories. */
  host_paths_not_allowed: 422,
  fake_driver_not_allowed: 422,
  /** The pool's queue is full. */
  busy: 429,
  /** A fault of Drover's own. */
  internal: 500,
  /** This deployment has no bucket: logs travel in reports alone, and there are no snapshots. */
  no_bucket: 501,
  /** The run's pool has not confirmed the submission in time. The same id or key finds it. */
  not_acknowledged: 503,
  /** An object could not be reached. Trying again is safe. */
  unavailable: 503,
} as const;

/** A stable name for what went wrong, for programs. */
export type ErrorCode = keyof typeof STATUS_OF_CODE;

/** One field of a request that is wrong: a JSON pointer, and what is allowed there. */
export interface FieldError {
  pointer: string;
  detail: string;
}

/** Members of a problem document beyond the standard ones: ids of runs. */
export interface ErrorIds {
  /** Those that `unknown_run` or `expired_run` means. */
  runs?: string[];
  /** Of a batch that was stored in part: those that exist. */
  stored?: string[];
}

/**
 * A fault that a caller can act on. It crosses object boundaries (own properties survive RPC): compare
 * `code`, not the class. No property may be called `retryable` or `overloaded`: the platform uses these names
 * (platform.md#calls-and-faults).
 */
export class DroverError extends Error {
  override readonly name = "DroverError";
  readonly code: ErrorCode;
  /** Whether the same request can succeed later without a change. */
  readonly temporary: boolean;
  readonly retryAfterMs?: Millis;
  readonly fields?: FieldError[];
  /** Ids that the error is about. */
  readonly extra?: ErrorIds;

  constructor(
    code: ErrorCode,
    message: string,
    more: { retryAfterMs?: Millis; fields?: FieldError[]; extra?: ErrorIds } = {},
  ) {
    super(message);
    this.code = code;
    const status = STATUS_OF_CODE[code];
    this.temporary = status === 429 || status === 503;
    if (more.retryAfterMs !== undefined) this.retryAfterMs = more.retryAfterMs;
    if (more.fields !== undefined) this.fields = more.fields;
    if (more.extra !== undefined) this.extra = more.extra;
  }
}

/** Why a run ended `failed` or `unknown`, for programs. The closed list of `failure.code`. */
export const FAILURE_CODES = [
  "command_not_found",
  "not_executable",
  "directory_not_found",
  "arguments_too_long",
  "user_not_found",
  "artifact_failed",
  "snapshot_failed",
  "start_failed",
  "outputs_failed",
  "task_failed",
  "queue_timeout",
  "machine_lost",
  "status_lost",
  "unkillable",
  "agent_ended",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** Whether the command or the machinery is to blame (api.md#blame: the two never mix). */
export function failureClass(code: FailureCode): "task" | "infrastructure" {
  switch (code) {
    case "command_not_found":
    case "not_executable":
    case "directory_not_found":
    case "arguments_too_long":
    case "user_not_found":
    case "task_failed":
      return "task";
    default:
      return "infrastructure";
  }
}

/** What everybody is told whose signature is none: the same, whether there is such a worker or not. */
export function notKnown(): DroverError {
  return new DroverError(
    "bad_signature",
    "the call is not signed by a host, or with a code, that is known here",
  );
}

/** A body with another digest than the one that was signed. */
export function otherBody(): DroverError {
  return new DroverError("bad_signature", "the body is not the one that was signed");
}
