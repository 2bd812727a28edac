// Which errors can a caller meet, and what do programs learn from each?
import type { Millis } from "./machine.ts";

/**
 * The HTTP status of each error code. This is the complete list of codes that a client can meet.
 * `routes/openapi/meanings.ts` says what each code means.
 */
export const STATUS_OF_CODE = {
  invalid_request: 400,
  malformed_json: 400,
  unauthorized: 401,
  bad_signature: 401,
  forbidden: 403,
  missing_scope: 403,
  cross_site: 403,
  beyond_limits: 403,
  not_trusted: 403,
  not_found: 404,
  unknown_run: 404,
  unknown_task: 404,
  unknown_attempt: 404,
  unknown_pool: 404,
  unknown_worker: 404,
  unknown_snapshot: 404,
  unknown_token: 404,
  unknown_webhook: 404,
  unknown_job: 404,
  unknown_delivery: 404,
  unknown_trust_rule: 404,
  unknown_secret: 404,
  unknown_project: 404,
  no_console: 404,
  method_not_allowed: 405,
  run_exists: 409,
  not_running: 409,
  terminal: 409,
  not_terminal: 409,
  not_parked: 409,
  stale_index: 409,
  code_used: 409,
  stale_incarnation: 409,
  cloned: 409,
  pool_in_use: 409,
  pool_draining: 409,
  project_full: 409,
  concurrency_held: 409,
  concurrency_full: 409,
  token_exists: 409,
  token_ended: 409,
  webhook_exists: 409,
  secret_exists: 409,
  project_exists: 409,
  project_in_use: 409,
  job_in_use: 409,
  expired_run: 410,
  expired_logs: 410,
  enrollment_over: 410,
  length_required: 411,
  body_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  upgrade_required: 426,
  idempotency_mismatch: 422,
  unsatisfiable: 422,
  digest_mismatch: 422,
  host_paths_not_allowed: 422,
  fake_driver_not_allowed: 422,
  container_not_allowed: 422,
  secrets_too_large: 422,
  busy: 429,
  too_many_requests: 429,
  internal: 500,
  no_bucket: 501,
  no_wrapping_key: 501,
  not_acknowledged: 503,
  unavailable: 503,
  issuer_unavailable: 503,
} as const;

/** The stable name of an error, for programs. */
export type ErrorCode = keyof typeof STATUS_OF_CODE;

/** An invalid field of a request: a JSON pointer, and what is allowed there. */
export interface FieldError {
  pointer: string;
  detail: string;
}

/** Ids of runs in a problem document, in addition to its standard fields. */
interface ErrorIds {
  /** The runs that `unknown_run` or `expired_run` is about, or that keep a concurrency key from another. */
  runs?: string[];
  /** The runs of a partly stored batch that exist. */
  stored?: string[];
}

/**
 * An error that a caller can act on. When it crosses object boundaries, its own properties survive, but its
 * class does not. So compare `code`. No property may be called `retryable` or `overloaded`, since the
 * platform uses these names itself (platform.md#calls-and-faults).
 */
export class DroverError extends Error {
  override readonly name = "DroverError";
  readonly code: ErrorCode;
  /** Whether the same request can succeed later without a change. */
  readonly temporary: boolean;
  readonly retryAfterMs?: Millis;
  readonly fields?: FieldError[];
  /** The runs that the error is about. */
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

/** A DroverError after it has crossed an object's boundary: its properties without its class. */
export type PlainError = Omit<DroverError, "stack" | "cause">;

/** Whether an error is a `DroverError`, even if it has lost its class at an object's boundary. */
export function isDroverError(error: unknown): error is PlainError {
  if (!(error instanceof Error) || error.name !== "DroverError" || !("code" in error)) return false;
  return typeof error.code === "string" && Object.hasOwn(STATUS_OF_CODE, error.code);
}

/** Why a command could not be started. Each of these codes is also a failure code. */
export const START_ERROR_CODES = [
  "command_not_found",
  "not_executable",
  "directory_not_found",
  "arguments_too_long",
  "user_not_found",
  "artifact_failed",
  "snapshot_failed",
  "secrets_failed",
  "image_missing",
  "image_denied",
  "image_failed",
  "engine_failed",
  "start_failed",
] as const;

/** The complete list of `failure.code`: why a run ended `failed` or `unknown`. */
export const FAILURE_CODES = [
  ...START_ERROR_CODES,
  "outputs_failed",
  "task_failed",
  "check_failed",
  "queue_timeout",
  "dependency_failed",
  "unsatisfiable",
  "machine_lost",
  "status_lost",
  "unkillable",
  "agent_ended",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

const FAULTS_OF_COMMANDS: readonly FailureCode[] = [
  "command_not_found",
  "not_executable",
  "directory_not_found",
  "arguments_too_long",
  "user_not_found",
  "image_missing",
  "image_denied",
  "task_failed",
  "check_failed",
  "unsatisfiable",
];

/** Whether a failure is the fault of the command or of the infrastructure (api.md#blame). */
export function failureClass(code: FailureCode): "task" | "infrastructure" {
  return FAULTS_OF_COMMANDS.includes(code) ? "task" : "infrastructure";
}

/** The answer to every invalid signature. It does not reveal whether a worker with the claimed id exists. */
export function notKnown(): DroverError {
  return new DroverError("bad_signature", "the call is not signed by a known host or with a known code");
}

/** The answer to a body whose digest differs from the signed digest. */
export function otherBody(): DroverError {
  return new DroverError("bad_signature", "the body is not the one that was signed");
}
