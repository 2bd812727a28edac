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
 * Makes one attempt. Never rejects: what goes wrong is part of the outcome. At most the first KiB of the
 * answer is read, and redirects are not followed.
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
    const { answer, isCut } = await beginningOf(response);
    const { status } = response;
    const retryAfterMs = retryAfterOf(response, now());
    return { status, durationMs: now() - began, problem: problemOf(response, isCut), answer, retryAfterMs };
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

/** What is wrong with an answer, or odd about it. Null: nothing. */
function problemOf({ status, headers }: Response, isCut: boolean): string | null {
  if (status >= 300 && status < 400) {
    const where = headers.get("location");
    const target = where === null ? "" : ` to ${where.slice(0, 200)}`;
    return `the receiver answered ${status}, a redirect${target}; redirects are not followed: change the URL`;
  }
  if (status < 200 || status >= 300) return `the receiver answered ${status}`;
  if (!isCut) return null;
  const length = headers.get("content-length");
  const size = length === null ? `more than ${MAX_ANSWER_BYTES}` : length;
  return `the receiver accepted it, but its answer has ${size} bytes: only ${MAX_ANSWER_BYTES} were read`;
}

/** The beginning of an answer's body. The rest is dropped unread. */
async function beginningOf({ body }: Response): Promise<{ answer: string | null; isCut: boolean }> {
  if (body === null) return { answer: null, isCut: false };
  const reader = body.getReader();
  const bytes = new Uint8Array(MAX_ANSWER_BYTES);
  let size = 0;
  let isCut = false;
  while (!isCut) {
    const { done, value } = await reader.read();
    if (done) break;
    const kept = value.subarray(0, MAX_ANSWER_BYTES - size);
    bytes.set(kept, size);
    size += kept.byteLength;
    isCut = kept.byteLength < value.byteLength;
  }
  // Not awaited: a receiver that goes on sending must not hold the object.
  if (isCut) void reader.cancel().catch(() => undefined);
  const text = new TextDecoder().decode(bytes.subarray(0, size));
  return { answer: text === "" ? null : text, isCut };
}

/** `Retry-After` (seconds, or a date by the receiver's clock, RFC 9110 §10.2.3) in milliseconds. */
function retryAfterOf({ headers }: Response, at: Instant): Millis | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  const theirNow = Date.parse(headers.get("date") ?? "") || at;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - theirNow;
  return Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : null;
}
