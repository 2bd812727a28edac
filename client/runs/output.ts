// How are both streams of a task read in the order in which they arrived?
import type { CallOptions, Target } from "../transport/http.ts";
import { pause } from "../transport/http.ts";
import { type AnswerOf, ask } from "../transport/operations.ts";
import { attemptsOf } from "./attempts.ts";
import { nextAttempt } from "./follow.ts";
import { DEFAULT_UNREACHABLE_MS, type LogSelection, readLog, startOfTail } from "./logs.ts";
import { LEAST_STEP_MS, WAIT_STEP_MS } from "./until-done.ts";

/** Which output of a run to read. */
export interface OutputSelection extends Omit<LogSelection, "stream" | "fromFirst"> {
  /** Only this stream. Absent: both. */
  stream?: LogSelection["stream"] | undefined;
  /** Only what arrived at this instant (RFC 3339) or later, and what has no time. */
  since?: string | undefined;
}

/** Bytes that arrived together. */
export interface OutputPiece {
  stream: LogSelection["stream"];
  bytes: Uint8Array;
  /** When they had arrived on their machine. Null: its agent does not say. */
  at: string | null;
  /** If the agent did not run in between: they arrived after this, and before `at`. */
  after: string | null;
}

type Page = AnswerOf<"getLogArrivals">;
type Offsets = Page["next"];

/** The beginning of both streams. */
const START: Offsets = { stdout: 0, stderr: 0 };

/**
 * Yields the output of one attempt, both streams in the order in which they arrived (api.md#arrivals). With
 * `follow` and without `attempt`, the following attempts come as well. Rejects like `readLog`.
 */
export async function* readOutput(
  target: Target,
  run: string,
  { tail, tailLines, since, ...selection }: OutputSelection,
): AsyncGenerator<OutputPiece> {
  let attempt = yield* readAttempt(target, run, { ...selection, tail, tailLines, since });
  while (selection.follow && selection.attempt === undefined) {
    attempt = await nextAttempt(target, run, selection, attempt);
    if (attempt === undefined) return;
    yield* readAttempt(target, run, { ...selection, attempt, since });
  }
}

/** Yields the output of one attempt, and returns the attempt, if there is one. */
async function* readAttempt(
  target: Target,
  run: string,
  selection: OutputSelection,
): AsyncGenerator<OutputPiece, string | undefined> {
  const first = await firstPage(target, run, selection);
  const { attempt, stored } = first;
  if (attempt === null) return undefined;
  const pinned = { ...selection, attempt };
  const streams = streamsOf(selection);
  const hasTail = selection.tail !== undefined || selection.tailLines !== undefined;
  let from = hasTail ? await tailsOf(target, run, pinned, stored) : START;
  let ready = hasTail ? undefined : first;
  for (;;) {
    const askedAt = performance.now();
    const page = ready ?? (await pageOf(target, run, pinned, from));
    ready = undefined;
    yield* piecesOf(target, run, pinned, page);
    const before = from;
    from = page.next;
    const isMoved = streams.some((stream) => from[stream] > before[stream]);
    const end = selection.follow ? page.stored : stored;
    const isAtEnd = streams.every((stream) => from[stream] >= end[stream]);
    if ((isAtEnd || !isMoved) && (page.ended || selection.follow !== true)) return attempt;
    // Each page costs up to three requests, so what is followed comes in steps, however often it grows. If
    // nothing has come, the server may not hold the call.
    const isCaughtUp = selection.follow === true && isAtEnd;
    if (isCaughtUp || !isMoved)
      await pause(Math.max(0, LEAST_STEP_MS - (performance.now() - askedAt)), selection.signal);
  }
}

/** A page of the attempt that is read. Waits for the first attempt, if the output is followed. */
async function firstPage(target: Target, run: string, selection: OutputSelection): Promise<Page> {
  let page = await pageOf(target, run, { ...selection, follow: false });
  if (page.attempt !== null || !selection.follow) return page;
  // Offsets count within one attempt: if there was none, the first one is meant, even if there are more now.
  for (;;) {
    const askedAt = performance.now();
    page = await pageOf(target, run, selection);
    if (page.ended && page.attempt === null) return page;
    const [attempt] = (await attemptsOf(target, run, selection.task, patienceOf(selection))).names;
    if (attempt !== undefined) return pageOf(target, run, { ...selection, attempt, follow: false });
    await pause(Math.max(0, LEAST_STEP_MS - (performance.now() - askedAt)), selection.signal);
  }
}

/** Where each stream begins: at the end that was asked for, else at its beginning. */
async function tailsOf(
  target: Target,
  run: string,
  { stream: _, ...selection }: OutputSelection & { attempt: string },
  stored: Offsets,
): Promise<Offsets> {
  const start = (stream: keyof Offsets) => startOfTail(target, run, { ...selection, stream }, stored[stream]);
  const [stdout, stderr] = await Promise.all([start("stdout"), start("stderr")]);
  return { stdout, stderr };
}

/** Asks what arrived from these offsets on. A followed output waits for more. */
async function pageOf(
  target: Target,
  run: string,
  selection: OutputSelection,
  from?: Offsets,
): Promise<Page> {
  const { task, stream, attempt, since, follow } = selection;
  const input = { path: { id: run, task }, query: { attempt, stream, since, ...from } };
  const wait = follow === true ? { waitMs: WAIT_STEP_MS } : {};
  return await ask(target, "getLogArrivals", input, { ...patienceOf(selection), ...wait });
}

/** The bytes of a page, stretch by stretch. */
async function* piecesOf(
  target: Target,
  run: string,
  selection: OutputSelection & { attempt: string },
  { items }: Page,
): AsyncGenerator<OutputPiece> {
  const open = (stream: keyof Offsets) => {
    const own = items.filter((item) => item.stream === stream);
    const { stream: _, tail: _t, tailLines: _l, since: _s, ...rest } = selection;
    const span = { from: own.at(0)?.from ?? 0, to: own.at(-1)?.to ?? 0 };
    return new Source(readLog(target, run, { ...rest, stream, follow: false }, span));
  };
  const sources = { stdout: open("stdout"), stderr: open("stderr") };
  try {
    for (const { stream, from, to, at, after } of items) {
      for (let left = to - from; left > 0; ) {
        const bytes = await sources[stream].take(left);
        left -= bytes.length;
        yield { stream, bytes, at, after };
      }
    }
  } finally {
    await Promise.all([sources.stdout.close(), sources.stderr.close()]);
  }
}

/** Bytes that come in pieces, and are taken in others. */
class Source {
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #ready: Uint8Array = new Uint8Array();

  constructor(pieces: AsyncGenerator<Uint8Array>) {
    this.#pieces = pieces;
  }

  /** At most `most` bytes, and at least one. */
  async take(most: number): Promise<Uint8Array> {
    while (this.#ready.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done === true) throw new Error("the log is shorter than the control plane says");
      this.#ready = value;
    }
    const taken = this.#ready.subarray(0, most);
    this.#ready = this.#ready.subarray(taken.length);
    return taken;
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}

function streamsOf({ stream }: OutputSelection): LogSelection["stream"][] {
  return stream === undefined ? ["stdout", "stderr"] : [stream];
}

function patienceOf({ signal, unreachableMs = DEFAULT_UNREACHABLE_MS }: OutputSelection): CallOptions {
  const patience = { unreachableMs, busyMs: unreachableMs };
  return signal === undefined ? { patience } : { patience, signal };
}
