import { ApiError, UnreachableError } from "./errors.ts";
import { broken, type Call, callStream, pause, type Target } from "./http.ts";
import { backOffMs } from "./retry.ts";

/** Which bytes of a run are wanted. */
export interface LogWish {
  task: string;
  stream: "stdout" | "stderr";
  /** Go on until nothing more will ever come. Without it: what there is now. */
  follow?: boolean;
  /** Only the end, such as `64KiB`. */
  tail?: string;
  signal?: AbortSignal;
  /** For how long nothing may answer before the caller gets the error. */
  unreachableMs?: number;
}

/** A stream may be followed for days; a break of the network is then ordinary. */
const DEFAULT_UNREACHABLE_MS = 120_000;
/** A connection that held for this long was a good one: the next break begins a new back-off. */
const STEADY_MS = 5_000;

interface Position {
  /**
   * The offset of the next byte wanted; `tail`: wherever the tail begins; `unknown`: in a tail that did not
   * say.
   */
  next: number | "tail" | "unknown";
}

/**
 * The bytes of one stream of one task, as they come. A broken connection is made again, and continued at the
 * very byte at which it broke (`Range`), so that what comes out is what was written: nothing twice, nothing
 * missing.
 *
 * Only a body that ends in order ends the stream. The reader sets the pace. Throws `ApiError` for what cannot
 * get better, and `UnreachableError` when there has been no good connection for `unreachableMs`.
 */
export async function* readLog(target: Target, run: string, wish: LogWish): AsyncGenerator<Uint8Array> {
  const unreachableMs = wish.unreachableMs ?? DEFAULT_UNREACHABLE_MS;
  const position: Position = { next: wish.tail === undefined ? 0 : "tail" };
  let goodAt = performance.now();
  let tries = 0;
  for (;;) {
    const openedAt = performance.now();
    const before = position.next;
    try {
      const response = await open(target, run, wish, position);
      if (response === undefined) return;
      yield* bodyOf(target, wish, response, position);
      return;
    } catch (error) {
      wish.signal?.throwIfAborted();
      const now = performance.now();
      const good = position.next !== before || now - openedAt > STEADY_MS;
      if (good) goodAt = now;
      tries = good ? 1 : tries + 1;
      if (!mayContinue(error, position) || now - goodAt > unreachableMs) throw error;
      const leastMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      await pause(Math.max(leastMs, backOffMs(tries)), wish.signal);
    }
  }
}

/** A tail that broke in the middle and never said where it began cannot be continued at the right byte. */
function mayContinue(error: unknown, position: Position): boolean {
  if (position.next === "unknown") return false;
  return error instanceof UnreachableError || (error instanceof ApiError && error.temporary);
}

/** Opens the stream at the position. Undefined: there is nothing after it, and never will be. */
async function open(
  target: Target,
  run: string,
  wish: LogWish,
  position: Position,
): Promise<Response | undefined> {
  const from = position.next;
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (typeof from === "number" && from > 0) headers.range = `bytes=${from}-`;
  const call: Call = {
    method: "GET",
    path: `/v1/runs/${encodeURIComponent(run)}/logs/${encodeURIComponent(wish.task)}/${wish.stream}`,
    query: { follow: wish.follow ? 1 : undefined, tail: from === "tail" ? wish.tail : undefined },
    headers,
    repeatable: true,
    signal: wish.signal,
  };
  try {
    return await callStream(target, call);
  } catch (error) {
    const atEnd = error instanceof ApiError && error.status === 416 && from !== 0;
    if (atEnd) return undefined;
    throw error;
  }
}

/**
 * Yields the body from the wanted position on, and keeps the position in step with what has been handed out.
 */
async function* bodyOf(
  target: Target,
  wish: LogWish,
  response: Response,
  position: Position,
): AsyncGenerator<Uint8Array> {
  let surplus = alignTo(response, position);
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await broken(target, wish, reader.read());
      if (done) return;
      const skipped = Math.min(surplus, value.length);
      surplus -= skipped;
      if (skipped === value.length) continue;
      if (typeof position.next === "number") position.next += value.length - skipped;
      yield value.subarray(skipped);
    }
  } finally {
    // A reader that has gone, or a body that has ended, needs no connection. Nothing is left to report an
    // error to.
    reader.cancel().catch(() => {});
  }
}

/** How many bytes of the body come before the wanted position: some servers and caches ignore `Range`. */
function alignTo(response: Response, position: Position): number {
  const start = startOf(response);
  if (typeof position.next !== "number") {
    position.next = start ?? "unknown";
    return 0;
  }
  const surplus = position.next - (start ?? 0);
  if (surplus >= 0) return surplus;
  throw new ApiError({
    status: response.status,
    code: "unexpected_answer",
    temporary: false,
    detail: `the log was asked for from byte ${position.next} on, and came from byte ${start}`,
  });
}

/** The offset of the first byte of an answer: 0 for a whole one, undefined for a part that does not say. */
function startOf(response: Response): number | undefined {
  const range = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "");
  if (range !== null) return Number(range[1]);
  return response.status === 206 ? undefined : 0;
}
