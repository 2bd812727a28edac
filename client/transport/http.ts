// How the client sends a call by HTTP, retries a repeatable call, limits the time, and reads the answer.
import { setTimeout as sleep } from "node:timers/promises";
import { errorOf, notDrover, StrangerError, UnreachableError } from "../errors.ts";
import { type Call, type CallOptions, type Content, pathOf } from "./call.ts";
import { type Patience, patienceOf, retryDelayMs } from "./retry.ts";
import type { ServerClock } from "./server-clock.ts";

export type { Call, CallOptions, Content } from "./call.ts";

/** A Drover, with the credentials and patience to call it with. */
export interface Target {
  url: string;
  token: string;
  userAgent: string;
  /** Sent with each call, for a caller that belongs to no project. */
  project?: string | undefined;
  patience: Patience;
  clock: ServerClock;
  fetch: typeof fetch;
}

/** Timeout of a try, in addition to the wait that the call asks of the server. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Timeout of a call about up to a thousand runs: a busy Drover must ask each run. */
export const MANY_TIMEOUT_MS = 120_000;

/** Timeout of an upload. It counts from the latest progress or, after the last byte, until the answer. */
const STALL_TIMEOUT_MS = 120_000;

/** Sends a call and reads its JSON. `tries` is 1 unless the call was retried. */
export async function callJson<T>(
  target: Target,
  call: Call,
): Promise<{ value: T; headers: Headers; tries: number }> {
  return await withRetries(target, call, async (tries) => {
    const { waitMs = 0, answerWithinMs = REQUEST_TIMEOUT_MS } = call;
    const timeout = AbortSignal.timeout(answerWithinMs + waitMs);
    const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
    return { ...(await exchangeJson<T>(target, call, signal)), tries };
  });
}

/** Sends a call and returns only the value of its answer. */
export async function callValue<T>(target: Target, call: Call): Promise<T> {
  return (await callJson<T>(target, call)).value;
}

/** Uploads bytes, without a timeout while bytes flow. Rejects unless the answer is JSON. */
export async function callContent(target: Target, call: Call & { content: Content }): Promise<void> {
  await withRetries(target, call, async () => {
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
      await exchangeJson(target, { ...call, content }, signal);
    } finally {
      clearTimeout(timer);
    }
  });
}

/** Sends a call once and returns the answer with its body unread. Rejects on any error status. */
export async function callStream(target: Target, call: Call): Promise<Response> {
  return await exchange(target, call, call.signal);
}

/** Like `callStream`, but retried if the call is repeatable. */
export async function callStreamPatiently(target: Target, call: Call): Promise<Response> {
  return await withRetries(target, call, () => exchange(target, call, call.signal));
}

/** Turns failures below HTTP into an `UnreachableError`, except for the caller's own abort. */
export async function asUnreachable<T>(target: Target, call: CallOptions, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    call.signal?.throwIfAborted();
    if (error instanceof StrangerError) throw error;
    throw new UnreachableError(target.url, error);
  }
}

/**
 * Retries until there is an answer or patience runs out. Patience counts from the first failure, so neither a
 * long wait nor a long transfer uses patience up.
 */
async function withRetries<T>(
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

/** Waits; rejects with the signal's reason if the signal is aborted. */
export async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

async function exchangeJson<T>(
  target: Target,
  call: Call,
  signal: AbortSignal,
): Promise<{ value: T; headers: Headers }> {
  const response = await exchange(target, call, signal);
  const text = await asUnreachable(target, call, response.text());
  try {
    // T is generated from the schema of the server's answer.
    return { value: JSON.parse(text) as T, headers: response.headers };
  } catch {
    throw notDrover(response);
  }
}

async function exchange(target: Target, call: Call, signal: AbortSignal | undefined): Promise<Response> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${target.token}`,
    "user-agent": target.userAgent,
    ...(target.project === undefined ? {} : { "drover-project": target.project }),
    ...call.headers,
  };
  if (call.body !== undefined) headers["content-type"] = "application/json";
  if (call.content !== undefined) {
    headers["content-type"] = "application/octet-stream";
    headers["content-length"] = String(call.content.bytes);
  }
  const learn = target.clock.ask();
  const sent = target.fetch(urlOf(target, call), {
    method: call.method,
    headers,
    ...bodyOf(call),
    // A redirected POST would silently become a GET, and the token must not travel to another host.
    redirect: "manual",
    signal: signal ?? null,
  });
  const response = await asUnreachable(target, call, sent);
  learn(response);
  if (!response.ok) throw await asUnreachable(target, call, errorOf(response));
  return response;
}

function bodyOf({ body, content }: Call) {
  if (content === undefined) return { body: body === undefined ? null : JSON.stringify(body) };
  return { body: ReadableStream.from(content.open()), duplex: "half" as const };
}

/** The URL of a call. */
export function urlOf(target: Target, call: Call): string {
  return `${target.url.replace(/\/+$/, "")}${pathOf(call)}`;
}
