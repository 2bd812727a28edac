// How is a cloud called over HTTP, so that every outcome is an answer or a classified failure?
import type { ZodType } from "zod";
import type { ProviderFailure } from "../core/provider-answers.ts";
import { jsonOf } from "../schema/json.ts";
import { formatDuration } from "../shared/duration.ts";
import { MAX_PROVIDER_ANSWER_BYTES, MAX_RETRY_AFTER_MS } from "../shared/limits.ts";
import { because, errorText } from "../shared/words.ts";
import type { Veil } from "./veil.ts";

/** The timeout of one call, or of a listing with all its pages. Later listings show what a late call did. */
export const CALL_TIMEOUT_MS = 30_000;

/** The longest description of a fault that is reported. It may contain the name of a tag, however long. */
const MAX_FAULT_CHARS = 512;

/** A complete answer, of whatever status. */
export interface Answered {
  status: number;
  headers: Headers;
  body: string;
}

/** A request. `veil` hides the secrets that it sends. `service`: the address of the service, for texts. */
export interface Request {
  service: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  veil: Veil;
}

/** Runs the work with a signal that aborts after `ms`. */
export async function withDeadline<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  // Not `AbortSignal.timeout`: its timer cannot be cleared, and would keep the object awake and billed.
  const controller = new AbortController();
  const late = new Fault(`took too long to answer: more than ${formatDuration(ms)}`);
  const timer = setTimeout(() => controller.abort(late), ms);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Makes one call. Never repeats it, and resolves with the answer, or with the failure to get one. */
export async function callOnce(
  { service, method, url, headers, body, veil }: Request,
  signal: AbortSignal,
): Promise<Answered | { failure: ProviderFailure }> {
  try {
    // A secret is for this address only, and a redirect can turn the POST of a create into a GET.
    const response = await fetch(url, { method, headers, signal, redirect: "manual", body: body ?? null });
    return { status: response.status, headers: response.headers, body: await boundedText(response) };
  } catch (error) {
    return { failure: unreached(service, signal.aborted ? signal.reason : error, veil) };
  }
}

/** A fault of the service. Its message is the end of a sentence that begins with "the provider at …". */
class Fault extends Error {}

/** The platform's unhelpful messages for a refused or lost connection. */
const NO_CONNECTION = /^(network connection lost|fetch failed|terminated)\b/i;

/**
 * The failure of a call without an answer. workerd reports an unresolvable name and a failed TLS handshake as
 * an internal error; both happen before the request is sent.
 */
function unreached(url: string, error: unknown, veil: Veil): ProviderFailure {
  const { protocol, hostname, origin, pathname } = new URL(url);
  const where = `${origin}${pathname.replace(/\/$/, "")}`;
  if (error instanceof Fault)
    return { class: "temporary", text: `the provider at ${where} ${error.message}`, unreached: true };
  const reason = errorText(error);
  if (!/^internal error/i.test(reason)) {
    const text = because(`nobody answered at ${where}`, NO_CONNECTION.test(reason) ? "" : veil(reason));
    return { class: "temporary", text, unreached: true };
  }
  const unnamed = `its name ${hostname} cannot be resolved`;
  const why = protocol === "https:" ? `${unnamed}, or its certificate is not accepted` : unnamed;
  const text = `the provider could not be reached: ${why}`;
  return { class: "temporary", text, refused: true, unreached: true };
}

/** Reads an answer as text. Rejects as soon as the answer is too long. */
async function boundedText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_PROVIDER_ANSWER_BYTES) {
      throw new Fault(`gave an answer of more than ${MAX_PROVIDER_ANSWER_BYTES} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Whether a status proves, whoever answers, that the call had no effect. Timeouts and conflicts prove
 * nothing.
 */
export function provesRefusal(status: number): boolean {
  return status >= 300 && status < 500 && ![408, 409, 425, 499].includes(status);
}

/** A pause that a provider asks for: bounded, and in whole milliseconds, as all stored instants are. */
export function pauseOf(retryAfterMs: number): number {
  return Math.ceil(Math.min(Math.max(0, retryAfterMs), MAX_RETRY_AFTER_MS));
}

/** `Retry-After` (seconds, or a date by the provider's clock, RFC 9110 §10.2.3) in milliseconds. */
export function retryAfterOf({ headers }: Pick<Response, "headers">, at: number): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const theirNow = Date.parse(headers.get("date") ?? "") || at;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - theirNow;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

export type Parsed<T> = { data: T } | { fault: string };

/** Parses an answer, or says what is wrong with it. Never quotes the answer, which may repeat a secret. */
export function parsed<T>(schema: ZodType<T>, body: string, veil: Veil): Parsed<T> {
  const json = jsonOf(body);
  if (json === undefined) return { fault: body === "" ? "it is empty" : "it is not valid JSON" };
  return checked(schema, json, veil);
}

/** Checks a part of an answer, or says what is wrong with it. */
export function checked<T>(schema: ZodType<T>, value: unknown, veil: Veil): Parsed<T> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { data };
  const [issue] = error.issues;
  const fault = veil(`\`${issue?.path.join(".")}\` ${issue?.message}`);
  return { fault: fault.slice(0, MAX_FAULT_CHARS) };
}

/** The failure for an invalid answer. A later listing shows whether the call took effect. */
export function unreadable(call: string, fault: string): { kind: "failed"; failure: ProviderFailure } {
  const text = `the provider's answer to ${call} is invalid: ${fault}`;
  return { kind: "failed", failure: { class: "temporary", text } };
}
