// How one log is read. A log can be followed, resumed at the exact byte after a break, or limited to its
// tail.
import { MAX_TASK_ATTEMPTS } from "../../src/shared/limits.ts";
import { parseSize } from "../../src/shared/size.ts";
import { ApiError } from "../errors.ts";
import { type CallOptions, callStream, pause, type Target } from "../transport/http.ts";
import { callOf, flag } from "../transport/operations.ts";
import { bytesFrom, startOf } from "../transport/ranges.ts";
import { DEFAULT_PATIENCE, retryDelayMs } from "../transport/retry.ts";
import { attemptsOf } from "./attempts.ts";

/** Which bytes of a run to read. */
export interface LogSelection {
  task: string;
  stream: "stdout" | "stderr";
  /** The end of an attempt's id, such as `1.2`. Absent: the latest attempt. */
  attempt?: string | undefined;
  /** Without `attempt`: begin with the oldest attempt that is known, not with the latest. */
  fromFirst?: boolean;
  /** Continue until no more bytes can come. Default: only the bytes that exist now. */
  follow?: boolean;
  /** Only the end, such as `64KiB`. */
  tail?: string;
  /** Only this many lines at the end. */
  tailLines?: number;
  signal?: AbortSignal;
  /** How long to retry without an answer before an error is thrown. */
  unreachableMs?: number;
}

/** The default of `unreachableMs`. A stream may be followed for days, so network failures are ordinary. */
export const DEFAULT_UNREACHABLE_MS = 120_000;
/** A first guess at how many bytes the last lines have. If the lines are longer, more bytes are read. */
const LEAST_TAIL_BYTES = 16 * 1_024;
const GUESSED_LINE_BYTES = 128;
const NEWLINE = 0x0a;
/** The first attempt of a task that was started where it was first placed. */
const FIRST = "1.1";
/** A connection that lasted this long was good: the next break starts a new back-off. */
const STEADY_MS = 5_000;

/** From which byte to which byte to read, if not from the beginning to the end. */
interface Span {
  from?: number;
  /** The offset after the last byte. All bytes before it are stored. */
  to?: number | undefined;
}

interface Position {
  /**
   * The offset of the next byte; `tail`: the beginning of the tail; `unknown`: inside a tail, if the
   * answer named no offset.
   */
  next: number | "tail" | "unknown";
  to?: number | undefined;
  /** The attempt that is read: the requested attempt, or the attempt that the first answer named. */
  attempt: string | undefined;
  /** Whether the answer began before the first attempt existed, and therefore did not name the attempt. */
  isFirst: boolean;
}

/**
 * Yields one stream of one attempt as it comes. After a broken connection, reading resumes at the exact byte
 * (`Range`), so that no byte comes twice and no byte is missing.
 *
 * The stream ends only when a body ends cleanly. The generator then returns the attempt, if the attempt is
 * known. The reader sets the pace. Throws `ApiError` for final errors, and `UnreachableError` after
 * `unreachableMs` without a good connection.
 */
export async function* readLog(
  target: Target,
  run: string,
  selection: LogSelection,
  span: Span = {},
): AsyncGenerator<Uint8Array, string | undefined> {
  const unreachableMs = selection.unreachableMs ?? DEFAULT_UNREACHABLE_MS;
  const position: Position = {
    next: selection.tail === undefined ? (span.from ?? 0) : "tail",
    to: span.to,
    attempt: selection.attempt,
    isFirst: false,
  };
  let lines = selection.tailLines;
  let goodAt = performance.now();
  let tries = 0;
  for (;;) {
    const openedAt = performance.now();
    const before = position.next;
    try {
      if (position.isFirst) position.attempt ??= await firstAttempt(target, run, selection, position);
      if (lines !== undefined) position.next = await startOfLines(target, run, selection, position, lines);
      lines = undefined;
      const response = await open(target, run, selection, position);
      if (response === undefined) return position.attempt;
      yield* bodyOf(target, selection, response, position);
      return position.attempt;
    } catch (error) {
      selection.signal?.throwIfAborted();
      const now = performance.now();
      const good = position.next !== before || now - openedAt > STEADY_MS;
      if (good) goodAt = now;
      tries = good ? 1 : tries + 1;
      const patience = { unreachableMs, busyMs: Math.max(unreachableMs, DEFAULT_PATIENCE.busyMs) };
      const delayMs = retryDelayMs(error, tries, now - goodAt, patience);
      // A broken tail without a known offset cannot be resumed at the right byte.
      if (delayMs === undefined || position.next === "unknown") throw error;
      await pause(delayMs, selection.signal);
    }
  }
}

/**
 * Finds the attempt for an answer that named no attempt: the first attempt of the task. Reading must resume
 * in this attempt, even if later attempts exist now. Throws `expired_logs` if the attempt is no longer kept.
 */
async function firstAttempt(
  target: Target,
  run: string,
  selection: LogSelection,
  { next }: Position,
): Promise<string | undefined> {
  const { names } = await attemptsOf(target, run, selection.task, onceOnly(selection));
  if (names.length < MAX_TASK_ATTEMPTS || next === 0) return names[0];
  throw new ApiError({
    status: 410,
    code: "expired_logs",
    temporary: false,
    detail: `the attempt whose log broke off at byte ${next} is no longer kept`,
  });
}

/** A call that `readLog` itself repeats. */
function onceOnly({ signal }: LogSelection): CallOptions {
  return { signal, patience: { unreachableMs: 0, busyMs: 0 } };
}

/**
 * The offset at which the last lines begin. Reads longer and longer tails until a tail has all these lines.
 * An incomplete last line counts as a line.
 */
async function startOfLines(
  target: Target,
  run: string,
  selection: LogSelection,
  position: Position,
  lines: number,
): Promise<number> {
  for (let bytes = Math.max(LEAST_TAIL_BYTES, lines * GUESSED_LINE_BYTES); ; bytes *= 4) {
    const end: LogSelection = { ...selection, tail: String(bytes), follow: false };
    position.next = "tail";
    const response = await open(target, run, end, position);
    if (response === undefined) return 0;
    const from = startOf(response) ?? 0;
    const begins = [from];
    let at = from;
    for await (const piece of bytesFrom(target, selection, response, { what: "the log", from })) {
      for (let i = piece.indexOf(NEWLINE); i >= 0; i = piece.indexOf(NEWLINE, i + 1)) begins.push(at + i + 1);
      at += piece.length;
    }
    // A newline at the very end begins no further line.
    if (begins.at(-1) === at) begins.pop();
    const begin = lines === 0 ? at : begins.at(-lines);
    if (begin !== undefined && (begins.length > lines || from === 0)) return begin;
    if (from === 0) return 0;
  }
}

/**
 * The offset at which the last lines or bytes of an attempt's stream begin, if the selection asks for them.
 * `stored`: how many bytes it has.
 */
export async function startOfTail(
  target: Target,
  run: string,
  { tail, tailLines, ...selection }: LogSelection & { attempt: string },
  stored: number,
): Promise<number> {
  if (tailLines !== undefined) {
    const position: Position = { next: 0, attempt: selection.attempt, isFirst: false };
    return stored === 0 ? 0 : startOfLines(target, run, selection, position, tailLines);
  }
  return tail === undefined ? 0 : Math.max(0, stored - (parseSize(tail) ?? stored));
}

/** Opens the stream at the position. Undefined if no bytes can follow the position. */
async function open(
  target: Target,
  run: string,
  selection: LogSelection,
  position: Position,
): Promise<Response | undefined> {
  const from = position.next;
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (from === position.to) return undefined;
  const last = position.to === undefined ? "" : String(position.to - 1);
  if (typeof from === "number" && from + last.length > 0) headers.range = `bytes=${from}-${last}`;
  const path = { id: run, task: selection.task, stream: selection.stream };
  const query = {
    attempt: position.attempt,
    follow: flag(selection.follow),
    tail: from === "tail" ? selection.tail : undefined,
  };
  const call = callOf("getRunLog", { path, query, headers }, { signal: selection.signal });
  try {
    const response = await callStream(target, call);
    const named = response.headers.get("drover-attempt") ?? undefined;
    if (selection.fromFirst && position.attempt === undefined && named !== undefined && named !== FIRST) {
      // The task was started more than once before this request.
      await response.body?.cancel();
      position.attempt =
        (await attemptsOf(target, run, selection.task, onceOnly(selection))).names[0] ?? named;
      return await open(target, run, selection, position);
    }
    position.attempt ??= named;
    position.isFirst = position.attempt === undefined;
    return response;
  } catch (error) {
    const atEnd = error instanceof ApiError && error.status === 416 && from !== 0;
    if (atEnd) return undefined;
    throw error;
  }
}

/** Yields the body from the position on, and advances the position with it. */
async function* bodyOf(
  target: Target,
  selection: LogSelection,
  response: Response,
  position: Position,
): AsyncGenerator<Uint8Array> {
  if (typeof position.next !== "number") position.next = startOf(response) ?? "unknown";
  const from = typeof position.next === "number" ? position.next : undefined;
  for await (const piece of bytesFrom(target, selection, response, { what: "the log", from })) {
    if (typeof position.next === "number") position.next += piece.length;
    yield piece;
  }
}
