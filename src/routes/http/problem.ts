// How every error becomes `application/problem+json`: an error of Drover, of the platform, or of a bug.
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Problem } from "../../schema/problem.ts";
import {
  DroverError,
  type ErrorCode,
  isDroverError,
  type PlainError,
  STATUS_OF_CODE,
} from "../../shared/errors.ts";
import type { EdgeContext } from "../edge.ts";

/** The default `Retry-After` of temporary errors. */
const DEFAULT_RETRY_AFTER_MS = 1_000;

/**
 * Renders any error as `application/problem+json` (RFC 9457). No other code renders errors. An error that is
 * not a `DroverError` comes from the platform (503, safe to repeat) or from a bug (500, details only in the
 * log). `more` are extra headers for this answer.
 */
export function renderError(error: unknown, c: EdgeContext, more: Record<string, string> = {}): Response {
  const known = classify(error, c);
  const instance = `urn:uuid:${c.env.requestId}`;
  if (known.code === "internal") logFault(error, c, instance);
  const again = known.temporary ? (known.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS) : known.retryAfterMs;
  const problem: Problem = {
    ...problemOf(known, instance),
    retryAfterMs: again,
    errors: known.fields?.map(({ pointer, detail }) => ({ pointer, detail })),
    ...known.extra,
  };
  const headers: Record<string, string> = { "content-type": "application/problem+json", ...more };
  if (again !== undefined) headers["retry-after"] = String(Math.ceil(again / 1_000));
  if (known.code === "unauthorized") headers["www-authenticate"] = 'Bearer realm="drover"';
  // Every status in STATUS_OF_CODE is 400 or higher, so the answer may have a body.
  return c.body(JSON.stringify(problem), problem.status as ContentfulStatusCode, headers);
}

/** The members that every error answer has. */
export function problemOf({ code, message, temporary }: PlainError, instance: string): Problem {
  const words = code.replaceAll("_", " ");
  return {
    type: `urn:drover:error:${code}`,
    title: words.charAt(0).toUpperCase() + words.slice(1),
    status: STATUS_OF_CODE[code],
    detail: message,
    instance,
    code,
    temporary,
  };
}

/** Whether an error has this code. */
export function hasCode(error: unknown, code: ErrorCode): boolean {
  return isDroverError(error) && error.code === code;
}

/** Turns any error into an error for clients. Tells outages, wrong requests and bugs apart. */
export function asDroverError(error: unknown): PlainError {
  if (isDroverError(error)) return error;
  if (isStorageFull(error)) {
    return new DroverError(
      "unavailable",
      "the disk of the control plane is full; stored data is safe, and Drover continues when there is space",
    );
  }
  if (isPlatformFault(error)) {
    return new DroverError(
      "unavailable",
      "a part of Drover could not be reached just now; nothing is lost, retry the same request",
    );
  }
  return new DroverError(
    "internal",
    "Drover failed unexpectedly; its log has the details under this `instance`",
  );
}

function classify(error: unknown, c: EdgeContext): PlainError {
  if (!(error instanceof HTTPException)) return asDroverError(error);
  if (error.status === 415) {
    const sent = c.req.header("content-type");
    return new DroverError(
      "unsupported_media_type",
      `the body must be JSON with the header "Content-Type: application/json"; this one ` +
        `${sent === undefined ? "has no content type" : `says "${sent}"`}`,
    );
  }
  // The only other HTTPException comes from Hono's JSON validator.
  return new DroverError(
    "malformed_json",
    "the body is not valid JSON; look for a missing quote, comma or brace",
  );
}

/** Messages of SQLite and the local bucket when the disk is full. */
const STORAGE_FULL = /SQLITE_FULL|SQLITE_IOERR|SQLITE_CANTOPEN|SQLITE_READONLY|No space left on device/;

/** Whether the disk below the objects is full. This happens only under `drover up`. */
function isStorageFull(error: unknown): boolean {
  return error instanceof Error && STORAGE_FULL.test(error.message);
}

/** R2's codes for "not now": internal error, unavailable, more than one write a second to a key. */
const R2_LATER = /\((?:10001|10043|10058)\)$/;

const PLATFORM_FAULT = new RegExp(
  "network connection lost|too much load|object has been reset|caused object to be reset" +
    "|(?:object|isolate) exceeded|^internal error; reference",
  "i",
);

/**
 * Recognizes faults of the platform by their flags, or else by their texts (platform.md#calls-and-faults,
 * platform.md#limits): an object was reset or overloaded, its connection broke, or the platform had an
 * unexplained internal error. All our calls may be repeated, so these faults are temporary.
 */
function isPlatformFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const flags = ["retryable", "overloaded", "durableObjectReset"];
  if (flags.some((flag) => Object.hasOwn(error, flag) && Reflect.get(error, flag) === true)) return true;
  if (R2_LATER.test(error.message)) return true;
  return PLATFORM_FAULT.test(error.message);
}

function logFault(error: unknown, c: EdgeContext, instance: string): void {
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
