import { MAX_TASK_ATTEMPTS } from "../../src/shared/limits.ts";
import { ApiError, UnreachableError } from "../errors.ts";
import { callStream, pause, type Target } from "../transport/http.ts";
import { callOf } from "../transport/operations.ts";
import { bytesFrom, startOf } from "../transport/ranges.ts";
import { backOffMs } from "../transport/retry.ts";
import { attemptsOf } from "./attempts.ts";

/** Which bytes of a run are wanted. */
export interface LogWish {
  task: string;
  stream: "stdout" | "stderr";
  /** The end of an attempt's id, such as `1.2`; the latest if absent. */
  attempt?: string | undefined;
  /** Go on until nothing more will ever come. Without it: what there is now. */
  follow?: boolean;
  /** Only the end, such as `64KiB`. */
  tail?: string;
  /** Only the last lines, so many. */
  tailLines?: number;
  signal?: AbortSignal;
  /** For how long nothing may answer before the caller gets the error. */
  unreachableMs?: number;
}

/** A stream may be followed for days; a break of the network is then ordinary. */
export const DEFAULT_UNREACHABLE_MS = 120_000;
/** What is read first for so many lines; if they are longer, more is read. */
const LEAST_TAIL_BYTES = 16 * 1_024;
const GUESSED_LINE_BYTES = 128;
const NEWLINE = 0x0a;
/** A connection that held for this long was a good one: the next break begins a new back-off. */
const STEADY_MS = 5_000;

interface Position {
  /**
   * The offset of the next byte wanted; `tail`: wherever the tail begins; `unknown`: in a tail that did not
   * say.
   */
  next: number | "tail" | "unknown";
  /** Of which attempt: the one wished for, or that of the first answer which has named one. */
  attempt: string | undefined;
  /** An answer began before there was any attempt, and so has named none: it is that of the first to come. */
  isFirst: boolean;
}

/**
 * The bytes of one stream of one attempt, as they come. A broken connection is made again, and continued at
 * the very byte at which it broke (`Range`), so that what comes out is what was written: nothing twice,
 * nothing missing.
 *
 * Only a body that ends in order ends the stream; its value then is the attempt, if an answer has named it.
 * The reader sets the pace. Throws `ApiError` for what cannot
 * get better, and `UnreachableError` when there has been no good connection for `unreachableMs`.
 */
export async function* readLog(
  target: Target,
  run: string,
  wish: LogWish,
): AsyncGenerator<Uint8Array, string | undefined> {
  const unreachableMs = wish.unreachableMs ?? DEFAULT_UNREACHABLE_MS;
  const position: Position = {
    next: wish.tail === undefined ? 0 : "tail",
    attempt: wish.attempt,
    isFirst: false,
  };
  let lines = wish.tailLines;
  let goodAt = performance.now();
  let tries = 0;
  for (;;) {
    const openedAt = performance.now();
    const before = position.next;
    try {
      if (position.isFirst) position.attempt ??= await firstAttempt(target, run, wish, position);
      if (lines !== undefined) position.next = await startOfLines(target, run, wish, position, lines);
      lines = undefined;
      const response = await open(target, run, wish, position);
      if (response === undefined) return position.attempt;
      yield* bodyOf(target, wish, response, position);
      return position.attempt;
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

/**
 * The attempt that an answer without a name was of, as soon as there is one: before it is asked for again,
 * when there may be others.
 */
async function firstAttempt(
  target: Target,
  run: string,
  { task, signal }: LogWish,
  { next }: Position,
): Promise<string | undefined> {
  const { names } = await attemptsOf(target, run, task, {
    signal,
    patience: { unreachableMs: 0, busyMs: 0 },
  });
  if (names.length < MAX_TASK_ATTEMPTS || next === 0) return names[0];
  throw new ApiError({
    status: 410,
    code: "expired_logs",
    temporary: false,
    detail: `the attempt whose log broke off at byte ${next} is not kept any more`,
  });
}

/**
 * Where the last lines of what there is now begin: more and more of its end is read until they are in it. The
 * end of a line that is not whole yet counts as a line.
 */
async function startOfLines(
  target: Target,
  run: string,
  wish: LogWish,
  position: Position,
  lines: number,
): Promise<number> {
  for (let bytes = Math.max(LEAST_TAIL_BYTES, lines * GUESSED_LINE_BYTES); ; bytes *= 4) {
    const end: LogWish = { ...wish, tail: String(bytes), follow: false };
    position.next = "tail";
    const response = await open(target, run, end, position);
    if (response === undefined) return 0;
    const from = startOf(response) ?? 0;
    const begins = [from];
    let at = from;
    for await (const piece of bytesFrom(target, wish, response, { what: "the log", from })) {
      for (let i = piece.indexOf(NEWLINE); i >= 0; i = piece.indexOf(NEWLINE, i + 1)) begins.push(at + i + 1);
      at += piece.length;
    }
    // Behind the last newline a line begins only if there is something of it.
    if (begins.at(-1) === at) begins.pop();
    const begin = lines === 0 ? at : begins.at(-lines);
    if (begin !== undefined && (begins.length > lines || from === 0)) return begin;
    if (from === 0) return 0;
  }
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
  const path = { id: run, task: wish.task, stream: wish.stream };
  const query = {
    attempt: position.attempt,
    follow: wish.follow ? ("1" as const) : undefined,
    tail: from === "tail" ? wish.tail : undefined,
  };
  const call = callOf("getRunLog", { path, query, headers }, { signal: wish.signal });
  try {
    const response = await callStream(target, call);
    position.attempt ??= response.headers.get("drover-attempt") ?? undefined;
    position.isFirst = position.attempt === undefined;
    return response;
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
  if (typeof position.next !== "number") position.next = startOf(response) ?? "unknown";
  const from = typeof position.next === "number" ? position.next : undefined;
  for await (const piece of bytesFrom(target, wish, response, { what: "the log", from })) {
    if (typeof position.next === "number") position.next += piece.length;
    yield piece;
  }
}
