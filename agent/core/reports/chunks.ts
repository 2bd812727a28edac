// When is a log shipped in chunks instead of reports, and what became of each chunk?
import type { StreamName } from "../../../src/schema/host.ts";
import { MAX_LOG_BYTES, MAX_LOG_CHUNK_BYTES } from "../../../src/shared/limits.ts";
import { earliest, type Instant } from "../../../src/shared/machine.ts";
import { CHUNK_REFUSED_MS, LEAST_CHUNK_BYTES, MAX_CHUNKS_IN_FLIGHT, PUNCH_STEP_BYTES } from "../bounds.ts";
import type { HostEvent } from "../events.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, StreamState } from "../types.ts";
import { ridesInReports, unackedBytes } from "./logs.ts";
import { retryDelayMs, withNews } from "./pace.ts";

const STREAMS: readonly StreamName[] = ["stdout", "stderr"];

export type ChunkEvent = Extract<
  HostEvent,
  { type: "chunk_sent" | "chunk_stored" | "chunk_failed" | "punched" | "punch_failed" }
>;

interface Found {
  attempt: AttemptState;
  stream: StreamName;
  log: StreamState;
}

function streamsOf(state: HostState): Found[] {
  return Object.values(state.attempts).flatMap((attempt) =>
    STREAMS.map((stream) => ({ attempt, stream, log: attempt.logs[stream] })),
  );
}

/**
 * The chunks that are owed: of each stream that has outgrown reports what comes next, one at a time. A few
 * are under way at once, the stream whose turn was longest ago first, so that one that floods cannot silence
 * the others. None before the first answer, which says what is stored already; and none while a report with
 * log bytes is on its way, because these bytes may be in it.
 */
export function dueChunks(state: HostState): HostMessage[] {
  const { setup, exchange, ending } = state;
  const url = setup?.logsUrl;
  const early = state.ordersSeen === 0 || exchange.sent?.withLogs === true;
  if (url === undefined || early || ending?.silent === true) return [];
  const streams = streamsOf(state);
  const underWay = streams.filter(({ log }) => log.chunk?.sent !== undefined).length;
  return streams
    .filter(({ attempt, log }) => log.chunk?.sent === undefined && !ridesInReports(state, attempt, log))
    .filter(({ attempt }) => attempt.wanted !== "nothing")
    .sort((a, b) => (a.log.chunk?.turnAt ?? 0) - (b.log.chunk?.turnAt ?? 0))
    .slice(0, Math.max(0, MAX_CHUNKS_IN_FLIGHT - underWay))
    .map(({ attempt: { id }, stream, log }) => {
      const bytes = Math.min(unackedBytes(log), log.chunk?.limit ?? MAX_LOG_CHUNK_BYTES);
      const envelope = { to: `${id} ${stream}`, repeatedBy: "self" as const };
      return { ...envelope, kind: "ship_log", url, id, stream, from: log.acked, bytes };
    });
}

/** When a stream whose chunk has failed may try another; undefined if none waits for that. */
export function chunkRetryAt(state: HostState): Instant | undefined {
  return earliest(...streamsOf(state).map(({ log }) => log.chunk?.notBefore));
}

/** The wait of a stream is over: it may go by chunk again. */
export function elapseChunks(attempt: AttemptState, now: Instant): AttemptState {
  return STREAMS.reduce((next, stream) => {
    const { chunk } = next.logs[stream];
    if (chunk?.notBefore === undefined || chunk.notBefore > now) return next;
    const { notBefore: _, ...rest } = chunk;
    return withStream(next, stream, { ...next.logs[stream], chunk: rest });
  }, attempt);
}

/** Folds in what became of a chunk, or of giving back the disk. */
export function applyToStream(state: HostState, event: ChunkEvent, now: Instant): HostState {
  if (event.type === "punch_failed") return { ...state, punches: false };
  const attempt = state.attempts[event.id];
  if (attempt === undefined) return state;
  const before = attempt.logs[event.stream];
  const after = streamAfter(before, event, now);
  const next = withStream(attempt, event.stream, after);
  const changed = { ...state, attempts: { ...state.attempts, [event.id]: next } };
  const whole = next.treeGone && STREAMS.every((stream) => unackedBytes(next.logs[stream]) === 0);
  // The worker hears from nobody else that the last byte of what has ended is stored.
  return whole && after.acked > before.acked ? withNews(changed, now) : changed;
}

function streamAfter(
  log: StreamState,
  event: Exclude<ChunkEvent, { type: "punch_failed" }>,
  now: Instant,
): StreamState {
  const { sent: _, ...chunk } = log.chunk ?? { failures: 0, limit: MAX_LOG_CHUNK_BYTES };
  switch (event.type) {
    case "chunk_sent":
      return { ...log, chunk: { ...chunk, turnAt: now, sent: { from: event.from, bytes: event.bytes } } };
    case "chunk_stored": {
      if (event.stored <= log.acked)
        return { ...log, chunk: failed(chunk, retryDelayMs(chunk.failures, 1), now) };
      const limit = Math.min(MAX_LOG_CHUNK_BYTES, chunk.limit * 2);
      const size = Math.max(log.size, event.stored);
      return { ...log, size, acked: event.stored, chunk: { ...chunk, failures: 0, limit } };
    }
    case "chunk_failed": {
      const delayMs = event.refused ? CHUNK_REFUSED_MS : retryDelayMs(chunk.failures, event.random);
      return { ...log, chunk: failed(chunk, Math.max(delayMs, event.retryAfterMs ?? 0), now) };
    }
    case "punched":
      return event.from < MAX_LOG_BYTES ? { ...log, punched: event.end } : { ...log, dropped: event.end };
  }
}

/** A smaller one next time: a slow network must get one through before its time is over. */
function failed(chunk: NonNullable<StreamState["chunk"]>, delayMs: number, now: Instant) {
  const limit = Math.max(LEAST_CHUNK_BYTES, Math.floor(chunk.limit / 2));
  return { ...chunk, failures: chunk.failures + 1, limit, notBefore: now + delayMs };
}

function withStream(attempt: AttemptState, stream: StreamName, log: StreamState): AttemptState {
  return { ...attempt, logs: { ...attempt.logs, [stream]: log } };
}

/**
 * The disk that is owed back: of each stream what is stored elsewhere, and what lies beyond the cap. Not for
 * less than a step, because each takes a process; and not of what is about to be deleted.
 */
export function duePunches(state: HostState): HostMessage[] {
  if (!state.punches) return [];
  return streamsOf(state).flatMap(({ attempt: { id, wanted }, stream, log }): HostMessage[] => {
    if (wanted === "nothing") return [];
    const stored = { from: log.punched ?? 0, end: log.acked };
    const beyond = { from: log.dropped ?? MAX_LOG_BYTES, end: log.size };
    const range = [stored, beyond].find(({ from, end }) => end - from >= PUNCH_STEP_BYTES);
    const envelope = { to: `${id} ${stream}`, repeatedBy: "self" as const };
    return range === undefined ? [] : [{ ...envelope, kind: "punch", id, stream, ...range }];
  });
}
