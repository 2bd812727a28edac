// The errors of the client: an error that Drover answered with, or no answer at all.
import { serverNowOf } from "./transport/server-clock.ts";
import type { Problem } from "./types.ts";

/**
 * The code of Drover's error; `unexpected_answer` if something else answered; `tunnel_ended` if a tunnel was
 * lost, or could not start what it was to lead to.
 */
export type ApiErrorCode = Problem["code"] | "unexpected_answer" | "tunnel_ended";

/** An error that Drover answered with: the members of its problem document (RFC 9457). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ApiErrorCode;
  /** Whether the same request can succeed later. */
  readonly temporary: boolean;
  readonly detail: string;
  /** The wrong fields: JSON pointers into the request, and what is allowed there. */
  readonly errors: { pointer: string; detail: string }[];
  readonly retryAfterMs: number | undefined;
  /** The ids that the error is about, for a request that named several runs. */
  readonly runs: readonly string[];
  /** Identifies this answer in the log of the control plane; absent if something else answered. */
  readonly instance: string | undefined;

  constructor(
    problem: Pick<Problem, "status" | "detail" | "temporary" | "errors" | "retryAfterMs" | "runs"> & {
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
    this.runs = problem.runs ?? [];
    this.instance = problem.instance;
  }
}

/** No answer, or only a part of an answer: it is unknown whether the request took effect. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  readonly url: string;
  /** The cause in a few words, such as `connection refused`. */
  readonly reason: string;
  /** True if no try has sent anything: then the request did not take effect. */
  neverSent: boolean;

  constructor(url: string, cause: unknown) {
    const reason = reasonOf(cause);
    super(`no answer from ${url}: ${reason}`, { cause });
    this.url = url;
    this.reason = reason;
    this.neverSent = NEVER_SENT.includes(codeOf(cause) ?? "");
  }
}

/**
 * The program that listens at a local Drover's address does not know the token. The token was not sent to it.
 */
export class StrangerError extends Error {
  override readonly name = "StrangerError";
  /** `host:port`. */
  readonly address: string;

  constructor(address: string) {
    super(`the program listening on ${address} does not know your token; the token was not sent to it`);
    this.address = address;
  }
}

/** Statuses that mean "not now", even from a proxy without a problem document. */
const TEMPORARY_STATUSES: readonly number[] = [429, 502, 503, 504];

/**
 * Reads an error answer. An answer without a problem document does not come from Drover, but perhaps from a
 * proxy. Then the error names the URL that answered.
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
      ? `${response.url} answered ${status} without a reason; it may not be Drover`
      : `${response.url} redirects to ${location}; use that address`;
  return new ApiError({ status, code: "unexpected_answer", temporary, retryAfterMs, detail });
}

/** The error for a successful answer that does not come from Drover, but from a proxy or a wrong address. */
export function notDrover(response: Response): ApiError {
  const type = response.headers.get("content-type") ?? "no content type";
  const detail = `${response.url} answered with ${type} instead of JSON; it may not be Drover`;
  return new ApiError({ status: response.status, code: "unexpected_answer", temporary: false, detail });
}

type KnownProblem = Pick<Problem, "code" | "detail"> & Partial<Problem>;

function problemOf(text: string): KnownProblem | undefined {
  try {
    const value = Object(JSON.parse(text));
    // These two members are enough to recognize a problem document. The server makes the others by the
    // schema.
    return typeof value.code === "string" && typeof value.detail === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The wait in milliseconds from `Retry-After`, which is in seconds or a date (RFC 9110 §10.2.3). */
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
  EAI_AGAIN: "the host name cannot be resolved right now",
  EHOSTUNREACH: "no route to that host",
  ENETUNREACH: "no network",
  ETIMEDOUT: "timed out",
  UND_ERR_CONNECT_TIMEOUT: "timed out",
  UND_ERR_HEADERS_TIMEOUT: "timed out",
  UND_ERR_BODY_TIMEOUT: "timed out",
};

/** Failures before a connection was made. */
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

/** The system's code for a failure. `fetch` nests the code inside one or two levels of `cause`. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = "code" in error ? String(error.code) : "";
  return code in REASONS ? code : codeOf(error.cause);
}
