// How is a delivery sent, and what is the outcome of the attempt (webhooks.md#attempts)?

import type { Outcome } from "../../core/webhook/deliveries.ts";
import { refusalOfAddress } from "../../shared/access/outgoing.ts";
import { formatDuration } from "../../shared/duration.ts";
import { MAX_TEXT_CHARS } from "../../shared/limits.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { because, errorText } from "../../shared/words.ts";
import { webhookHeaders } from "../../signing/standard-webhooks.ts";

/** How long a receiver may take to answer. */
export const ATTEMPT_TIMEOUT_MS = 20_000;
/** How much of an answer is read and kept. */
export const MAX_ANSWER_BYTES = 1_024;

/** A delivery on its way. `secrets`: those that sign it. */
export interface Parcel {
  id: string;
  body: string;
  url: string;
  secrets: readonly string[];
  /** Loopback and private addresses are allowed. */
  allowLocal: boolean;
}

/** Sends a request. In production the global `fetch`, on a laptop a network without private addresses. */
export type Send = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Makes one attempt. Never rejects: what goes wrong is part of the outcome. The status decides; of the body,
 * which is only shown, the first KiB is read at most, and what does not come in time is left out. Redirects
 * are not followed.
 */
export async function attempt(
  parcel: Parcel,
  send: Send,
  now: () => Instant,
  timeoutMs: Millis = ATTEMPT_TIMEOUT_MS,
): Promise<Outcome> {
  const refusal = refusalOfAddress(parcel.url, parcel.allowLocal);
  if (refusal !== undefined) return failure(0, `the URL of the endpoint ${refusal}`);
  const began = now();
  // Not `AbortSignal.timeout`: its timer cannot be cleared, and would keep the object awake and billed.
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    const response = await send(parcel.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "Drover-Webhooks",
        ...webhookHeaders({ id: parcel.id, at: began, body: parcel.body }, parcel.secrets),
      },
      body: parcel.body,
      redirect: "manual",
      signal: controller.signal,
    });
    const { status } = response;
    const retryAfterMs = retryAfterOf(response, now());
    const { answer, end } = await beginningOf(response, controller.signal);
    const problem = problemOf(response, end, timeoutMs);
    return { status, durationMs: now() - began, problem, answer, retryAfterMs };
  } catch (error) {
    const late = `the receiver did not answer within ${formatDuration(timeoutMs)}`;
    return failure(now() - began, controller.signal.aborted ? late : unreached(error));
  } finally {
    clearTimeout(timer);
  }
}

function failure(durationMs: Millis, problem: string): Outcome {
  const text = problem.slice(0, MAX_TEXT_CHARS);
  return { status: null, durationMs, problem: text, answer: null, retryAfterMs: null };
}

/** The platform's unhelpful messages for a refused or lost connection. */
const NO_CONNECTION = /^(network connection lost|fetch failed|terminated)\b/i;

function unreached(error: unknown): string {
  const reason = errorText(error);
  if (/^internal error/i.test(reason))
    return (
      "the receiver could not be reached: its name cannot be resolved, its certificate is not accepted, " +
      "or its address is not public"
    );
  return because("the receiver could not be reached", NO_CONNECTION.test(reason) ? "" : reason);
}

/** How the reading of a body ended: with all of it, or what was missing. */
type BodyEnd = "whole" | "too_long" | "late" | "lost";

/** What is wrong with an answer, or odd about it. Null: nothing. */
function problemOf({ status, headers }: Response, end: BodyEnd, timeoutMs: Millis): string | null {
  if (status >= 300 && status < 400) {
    const where = headers.get("location");
    const target = where === null ? "" : ` to ${where.slice(0, 200)}`;
    return `the receiver answered ${status}, a redirect${target}; redirects are not followed: change the URL`;
  }
  if (status < 200 || status >= 300) return `the receiver answered ${status}`;
  const odd = oddityOf(end, headers.get("content-length"), timeoutMs);
  return odd === null ? null : `the receiver accepted it, but its answer ${odd}`;
}

/** What is odd about the body of an answer. Null: nothing. */
function oddityOf(end: BodyEnd, length: string | null, timeoutMs: Millis): string | null {
  switch (end) {
    case "whole":
      return null;
    case "too_long": {
      const size = length === null ? `more than ${MAX_ANSWER_BYTES}` : length;
      return `has ${size} bytes: only ${MAX_ANSWER_BYTES} were read`;
    }
    case "late":
      return `did not end within ${formatDuration(timeoutMs)}: only what came before was read`;
    case "lost":
      return "was cut off: only what came before was read";
  }
}

/** The beginning of an answer's body, as far as it comes before the signal. The rest is dropped unread. */
async function beginningOf(
  { body }: Response,
  signal: AbortSignal,
): Promise<{ answer: string | null; end: BodyEnd }> {
  if (body === null) return { answer: null, end: "whole" };
  const reader = body.getReader();
  const timeIsUp = new Promise<"late">((resolve) => {
    if (signal.aborted) resolve("late");
    signal.addEventListener("abort", () => resolve("late"));
  });
  const bytes = new Uint8Array(MAX_ANSWER_BYTES);
  let size = 0;
  let end: BodyEnd | undefined;
  while (end === undefined) {
    // A receiver that is silent from here on must not hold the delivery: the signal ends the wait for it.
    const part = await Promise.race([timeIsUp, reader.read().catch(() => "lost" as const)]);
    if (typeof part === "string") end = signal.aborted ? "late" : part;
    else if (part.done) end = "whole";
    else {
      const kept = part.value.subarray(0, MAX_ANSWER_BYTES - size);
      bytes.set(kept, size);
      size += kept.byteLength;
      if (kept.byteLength < part.value.byteLength) end = "too_long";
    }
  }
  // Not awaited: a receiver that goes on sending must not hold the object.
  if (end !== "whole") void reader.cancel().catch(() => undefined);
  const text = new TextDecoder().decode(bytes.subarray(0, size));
  return { answer: text === "" ? null : text, end };
}

/** `Retry-After` (seconds, or a date by the receiver's clock, RFC 9110 §10.2.3) in milliseconds. */
function retryAfterOf({ headers }: Response, at: Instant): Millis | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  const theirNow = Date.parse(headers.get("date") ?? "") || at;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - theirNow;
  return Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : null;
}
