import { serverNowOf } from "./transport/server-clock.ts";
import type { Problem } from "./types.ts";

/** Why Drover says no, or `unexpected_answer` if something else answered. */
export type ApiErrorCode = Problem["code"] | "unexpected_answer";

/** An answer of Drover that says no: the members of its problem document (RFC 9457). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ApiErrorCode;
  /** Whether the same request can succeed later without a change. */
  readonly temporary: boolean;
  readonly detail: string;
  /** The fields that are wrong: JSON pointers into what was sent, and what is allowed there. */
  readonly errors: { pointer: string; detail: string }[];
  readonly retryAfterMs: number | undefined;
  /** Names this very answer in the log of the control plane; absent if something else answered. */
  readonly instance: string | undefined;

  constructor(
    problem: Pick<Problem, "status" | "detail" | "temporary" | "errors" | "retryAfterMs"> & {
      code: ApiErrorCode;
      instance?: string | undefined;
    },
  ) {
    super(problem.detail);
    this.status = problem.status;
    this.code = problem.code;
    this.temporary = problem.temporary;
    this.detail = problem.detail;
    this.errors = problem.errors ?? [];
    this.retryAfterMs = problem.retryAfterMs;
    this.instance = problem.instance;
  }
}

/** No answer, or only a part of one: nothing is known about what the other side did. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  readonly url: string;
  /** The cause in a few words, such as `connection refused`. */
  readonly reason: string;
  /** Nothing was sent, in this try and all before it: what was asked for has not been done. */
  neverSent: boolean;

  constructor(url: string, cause: unknown) {
    const reason = reasonOf(cause);
    super(`no answer from ${url}: ${reason}`, { cause });
    this.url = url;
    this.reason = reason;
    this.neverSent = NEVER_SENT.includes(codeOf(cause) ?? "");
  }
}

/** What listens where a local Drover should be does not know its token. Nothing was sent to it. */
export class StrangerError extends Error {
  override readonly name = "StrangerError";
  /** `host:port`. */
  readonly address: string;

  constructor(address: string) {
    super(`what listens on ${address} does not know the token of this Drover; it was not sent there`);
    this.address = address;
  }
}

/** Statuses that say "not now" even when a proxy gives them, which knows no problem documents. */
const TEMPORARY_STATUSES: readonly number[] = [429, 502, 503, 504];

/**
 * Reads an answer that is not a success. What is no problem document comes from something that is not Drover,
 * or stands before it; the error then says what was met instead.
 */
export async function errorOf(response: Response): Promise<ApiError> {
  const { status } = response;
  const retryAfterMs = retryAfterOf(response);
  const temporary = TEMPORARY_STATUSES.includes(status);
  const location = response.headers.get("location");
  const text = await response.text();
  const problem = problemOf(text);
  if (problem !== undefined) {
    return new ApiError({ temporary, retryAfterMs, ...problem, status });
  }
  const detail =
    location === null
      ? `${response.url} answered ${status} without saying why; it may not be Drover`
      : `${response.url} sends on to ${location}; use that address`;
  return new ApiError({ status, code: "unexpected_answer", temporary, retryAfterMs, detail });
}

/** A success that is not what Drover answers: a proxy, or a wrong address. */
export function notDrover(response: Response): ApiError {
  const type = response.headers.get("content-type") ?? "no content type";
  const detail = `${response.url} answered with ${type} where JSON was due; it may not be Drover`;
  return new ApiError({ status: response.status, code: "unexpected_answer", temporary: false, detail });
}

type KnownProblem = Pick<Problem, "code" | "detail"> & Partial<Problem>;

function problemOf(text: string): KnownProblem | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (!("code" in value) || typeof value.code !== "string") return undefined;
  if (!("detail" in value) || typeof value.detail !== "string") return undefined;
  // The server derives its documents from the same schema; `code` and `detail` have told that it is one.
  return value as KnownProblem;
}

/** `Retry-After` in seconds or as a date of the server's clock (RFC 9110 §10.2.3), in milliseconds. */
function retryAfterOf(response: Response): number | undefined {
  const text = response.headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = Number(text);
  if (!Number.isNaN(seconds)) return Math.max(0, seconds * 1_000);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - serverNowOf(response));
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection broke",
  UND_ERR_SOCKET: "the connection broke",
  EPIPE: "the connection broke",
  ENOTFOUND: "no such host name",
  EAI_AGAIN: "the host name cannot be looked up now",
  EHOSTUNREACH: "no way to that host",
  ENETUNREACH: "no network",
  ETIMEDOUT: "timed out",
  UND_ERR_CONNECT_TIMEOUT: "timed out",
  UND_ERR_HEADERS_TIMEOUT: "timed out",
  UND_ERR_BODY_TIMEOUT: "timed out",
};

/** Failures before there was a connection to send anything through. */
const NEVER_SENT: readonly string[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === "TimeoutError") return "timed out";
  const known = REASONS[codeOf(error) ?? ""];
  return known ?? (error instanceof Error ? error.message : String(error));
}

/** The system's name for a failure: `fetch` hides it below one or two causes. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = "code" in error ? String(error.code) : "";
  return code in REASONS ? code : codeOf(error.cause);
}
