import { setTimeout as sleep } from "node:timers/promises";
import { errorOf, notDrover, StrangerError, UnreachableError } from "../errors.ts";
import { type Patience, patienceOf, retryDelayMs } from "./retry.ts";
import type { ServerClock } from "./server-clock.ts";

/** Where a Drover is, who asks, and how patiently. */
export interface Target {
  url: string;
  token: string;
  userAgent: string;
  patience: Patience;
  clock: ServerClock;
  fetch: typeof fetch;
}

/** What the caller of any route may say about the call itself. */
export interface CallOptions {
  /** Ends the call: it then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Differs from the client's own for this call. */
  patience?: Partial<Patience>;
  /** How long the server shall hold its answer while what was asked for does not hold yet. */
  waitMs?: number;
}

/** One request, before it becomes HTTP (`operations.ts` makes it). `waitMs` stands in it already. */
export interface Call extends CallOptions {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | readonly (string | number)[] | undefined>;
  headers?: Record<string, string>;
  body?: unknown;
  /** Bytes to send in the place of a body. */
  content?: Content;
  /** For so long a try may be without an answer, beyond `waitMs`; half a minute if nothing is said. */
  answerWithinMs?: number | undefined;
  /** Sending it twice does no more than sending it once: only then is it tried again. */
  repeatable: boolean;
}

/** Bytes that are sent as they come, and how many they are. They are opened anew for each try. */
export interface Content {
  bytes: number;
  open(): AsyncIterable<Uint8Array>;
}

/** A try without an answer is given up after this, beyond what the server was asked to wait. */
const REQUEST_TIMEOUT_MS = 30_000;

/** The same of a call that is about up to a thousand runs: a busy Drover asks each of them. */
export const MANY_TIMEOUT_MS = 120_000;

/** A try that sends bytes, of which none has been taken for so long, or that has no answer then. */
const STALL_TIMEOUT_MS = 120_000;

/** Sends a call and reads its JSON. `tries` tells an answer to a repetition from a first one. */
export async function callJson<T>(
  target: Target,
  call: Call,
): Promise<{ value: T; headers: Headers; tries: number }> {
  return await persistently(target, call, async (tries) => {
    const { waitMs = 0, answerWithinMs = REQUEST_TIMEOUT_MS } = call;
    const timeout = AbortSignal.timeout(answerWithinMs + waitMs);
    const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
    const response = await exchange(target, call, signal);
    const text = await broken(target, call, response.text());
    // The server derives its answers from the very schema that T comes from.
    const value = (await parsed(response, text)) as T;
    return { value, headers: response.headers, tries };
  });
}

/** The value of an answer, for who needs nothing else of it. */
export async function callValue<T>(target: Target, call: Call): Promise<T> {
  return (await callJson<T>(target, call)).value;
}

/** Sends a call with bytes and reads the JSON of its answer. It may take as long as the bytes flow. */
export async function callContent<T>(target: Target, call: Call & { content: Content }): Promise<T> {
  return await persistently(target, call, async () => {
    const stall = new AbortController();
    const timer = setTimeout(() => stall.abort(new DOMException("", "TimeoutError")), STALL_TIMEOUT_MS);
    const { open } = call.content;
    const watched = async function* () {
      for await (const piece of open()) {
        yield piece;
        timer.refresh();
      }
    };
    const content = { ...call.content, open: watched };
    const signal = call.signal === undefined ? stall.signal : AbortSignal.any([call.signal, stall.signal]);
    try {
      const response = await exchange(target, { ...call, content }, signal);
      return (await parsed(response, await broken(target, call, response.text()))) as T; // as in `callJson`
    } finally {
      clearTimeout(timer);
    }
  });
}

/**
 * Sends a call once and returns the answer with its body unread. Rejects on any status that is no success.
 */
export async function callStream(target: Target, call: Call): Promise<Response> {
  return await exchange(target, call, call.signal);
}

/** The same, tried again as any call that may be repeated. */
export async function callStreamPatiently(target: Target, call: Call): Promise<Response> {
  return await persistently(target, call, () => exchange(target, call, call.signal));
}

/** Turns any failure below HTTP into an `UnreachableError`, and leaves the caller's own abort alone. */
export async function broken<T>(target: Target, call: CallOptions, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    call.signal?.throwIfAborted();
    if (error instanceof StrangerError) throw error;
    throw new UnreachableError(target.url, error);
  }
}

/**
 * Tries until there is an answer, or the patience is over. Patience runs from the first try that failed: what
 * an answer was waited for before that, and how long bytes have flowed, was no trouble, and a wait that is
 * held for half a minute may break as any other call.
 */
async function persistently<T>(
  target: Target,
  call: Call,
  attempt: (tries: number) => Promise<T>,
): Promise<T> {
  const patience = patienceOf(target.patience, call.patience);
  let failedAt: number | undefined;
  let maybeDone = false;
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt(tries);
    } catch (error) {
      call.signal?.throwIfAborted();
      const now = performance.now();
      failedAt ??= now;
      const delayMs = call.repeatable ? retryDelayMs(error, tries, now - failedAt, patience) : undefined;
      if (error instanceof UnreachableError) {
        maybeDone ||= !error.neverSent;
        error.neverSent = !maybeDone;
      }
      if (delayMs === undefined) throw error;
      await pause(delayMs, call.signal);
    }
  }
}

/** Waits; rejects with the signal's reason when that comes first. */
export async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

async function exchange(target: Target, call: Call, signal: AbortSignal | undefined): Promise<Response> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${target.token}`,
    "user-agent": target.userAgent,
    ...call.headers,
  };
  if (call.body !== undefined) headers["content-type"] = "application/json";
  if (call.content !== undefined) {
    headers["content-type"] = "application/octet-stream";
    headers["content-length"] = String(call.content.bytes);
  }
  const sent = target.fetch(urlOf(target, call), {
    method: call.method,
    headers,
    ...bodyOf(call),
    // A redirected POST would silently become a GET, and the token must not travel to another host.
    redirect: "manual",
    signal: signal ?? null,
  });
  const response = await broken(target, call, sent);
  target.clock.learn(response);
  if (!response.ok) throw await broken(target, call, errorOf(response));
  return response;
}

function bodyOf({ body, content }: Call) {
  if (content === undefined) return { body: body === undefined ? null : JSON.stringify(body) };
  return { body: ReadableStream.from(content.open()), duplex: "half" as const };
}

async function parsed(response: Response, text: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    throw notDrover(response);
  }
}

function urlOf(target: Target, call: Call): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value === undefined) continue;
    const values = typeof value === "object" ? value : [String(value)];
    for (const one of values) query.append(name, String(one));
  }
  const search = query.size === 0 ? "" : `?${query}`;
  return `${target.url.replace(/\/+$/, "")}${call.path}${search}`;
}
