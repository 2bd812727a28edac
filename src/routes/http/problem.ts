import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Problem } from "../../schema/problem.ts";
import { DroverError, type ErrorCode, STATUS_OF_CODE } from "../../shared/errors.ts";

/** What a client is told to wait when nobody knows better. */
const DEFAULT_RETRY_AFTER_MS = 1_000;

/**
 * What a DroverError still is after it has crossed an object's boundary: its properties, without its class.
 */
type PlainError = Omit<DroverError, "stack" | "cause">;

/**
 * Renders any error as `application/problem+json` (RFC 9457). This is the only place that does: what is no
 * `DroverError` is either the platform's (503, safe to repeat) or a fault of ours (500, told to the log
 * alone). `more` are headers that belong to this very answer.
 */
export function renderError(error: unknown, c: Context, more: Record<string, string> = {}): Response {
  const known = classify(error, c);
  const instance = `urn:uuid:${crypto.randomUUID()}`;
  if (known.code === "internal") logFault(error, c, instance);
  const status: number = STATUS_OF_CODE[known.code];
  const again = known.temporary ? (known.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS) : known.retryAfterMs;
  const problem: Problem = {
    type: `urn:drover:error:${known.code}`,
    title: titleOf(known.code),
    status,
    detail: known.message,
    instance,
    code: known.code,
    temporary: known.temporary,
    ...(again === undefined ? {} : { retryAfterMs: again }),
    ...(known.fields === undefined
      ? {}
      : { errors: known.fields.map(({ pointer, detail }) => ({ pointer, detail })) }),
    ...known.extra,
  };
  const headers: Record<string, string> = { "content-type": "application/problem+json", ...more };
  if (again !== undefined) headers["retry-after"] = String(Math.ceil(again / 1_000));
  if (known.code === "unauthorized") headers["www-authenticate"] = 'Bearer realm="drover"';
  // The codes of STATUS_OF_CODE are all above 400, where an answer may have a body.
  return c.body(JSON.stringify(problem), status as ContentfulStatusCode, headers);
}

/** Whether an error is one of ours, seen from either side of an object's boundary. */
export function isDroverError(error: unknown): error is PlainError {
  if (!(error instanceof Error) || error.name !== "DroverError" || !("code" in error)) return false;
  return typeof error.code === "string" && Object.hasOwn(STATUS_OF_CODE, error.code);
}

/** Whether an error has this code. */
export function hasCode(error: unknown, code: ErrorCode): boolean {
  return isDroverError(error) && error.code === code;
}

/**
 * Any error as one that a client can be told. What the request or the code did wrong stays apart from an
 * outage.
 */
export function asDroverError(error: unknown): PlainError {
  if (isDroverError(error)) return error;
  if (isStorageFull(error)) {
    return new DroverError(
      "unavailable",
      "the disk of the control plane is full; what is stored is safe, and Drover goes on when there is room",
    );
  }
  if (isPlatformFault(error)) {
    return new DroverError(
      "unavailable",
      "a part of Drover could not be reached just now; nothing is lost, send the same request again",
    );
  }
  return new DroverError(
    "internal",
    "Drover failed in a way that it should not; its log has the details under this `instance`",
  );
}

function classify(error: unknown, c: Context): PlainError {
  if (!(error instanceof HTTPException)) return asDroverError(error);
  if (error.status === 415) {
    const sent = c.req.header("content-type");
    return new DroverError(
      "unsupported_media_type",
      `the body must be JSON with the header "Content-Type: application/json"; this one ` +
        `${sent === undefined ? "has no content type" : `says "${sent}"`}`,
    );
  }
  // The only other one comes from Hono's JSON validator.
  return new DroverError("malformed_json", "the body is not JSON; look for a missing quote, comma or brace");
}

/** What SQLite and the local bucket say when the disk below them takes no more. */
const STORAGE_FULL = /SQLITE_FULL|SQLITE_IOERR|SQLITE_CANTOPEN|SQLITE_READONLY|No space left on device/;

/** Whether the storage below the objects takes nothing: only under `drover up`, whose disk is anybody's. */
function isStorageFull(error: unknown): boolean {
  return error instanceof Error && STORAGE_FULL.test(error.message);
}

/** How R2 says "not now": an internal error, no service, or too many writes of one key (1 a second). */
const R2_LATER = /\((?:10001|10043|10058)\)$/;

const PLATFORM_FAULT =
  /network connection lost|too much load|object has been reset|object exceeded|^internal error; reference/i;

/**
 * Faults of the platform, known by their flags, or by their texts if they carry none
 * (platform.md#calls-and-faults, platform.md#limits): an object was reset or overloaded, the connection to it
 * broke, or the platform had an internal error that it does not explain. Every call of ours may be repeated,
 * so all of them are temporary.
 */
function isPlatformFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const flags = ["retryable", "overloaded", "durableObjectReset"];
  if (flags.some((flag) => Object.hasOwn(error, flag) && Reflect.get(error, flag) === true)) return true;
  if (R2_LATER.test(error.message)) return true;
  return PLATFORM_FAULT.test(error.message);
}

function logFault(error: unknown, c: Context, instance: string): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  console.error({
    event: "internal_error",
    instance,
    method: c.req.method,
    path: c.req.path,
    name,
    message,
    stack,
  });
}

/** A code in words, for people. */
export function titleOf(code: ErrorCode): string {
  const words = code.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
