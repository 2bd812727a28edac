// When is a log uploaded in chunks instead of reports, and when is its disk space given back?
import type { StreamName } from "../../../src/schema/host.ts";
import { MAX_LOG_BYTES, MAX_LOG_CHUNK_BYTES } from "../../../src/shared/limits.ts";
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import type { HostEvent } from "../events.ts";
import type { HostMessage } from "../messages.ts";
import { LONGEST_NEEDLE_BYTES } from "../redaction/needles.ts";
import type { AttemptState, HostState, StreamState } from "../types.ts";
import { STREAMS, streamsOf, travelsInReports, unackedBytes } from "./logs.ts";
import { retryDelayMs, withNews } from "./pace.ts";

/** After a failed chunk the next chunk has half the size, but at least this size. */
export const LEAST_CHUNK_BYTES = 256 * 1024;
/**
 * The largest number of chunks of one host in flight at the same time: each chunk takes memory in the control
 * plane.
 */
export const MAX_CHUNKS_IN_FLIGHT = 2;
/** A stream uses reports for this long after one of its chunks was refused for good. */
export const CHUNK_REFUSED_MS: Millis = 30_000;
/** The disk space of stored bytes is given back in steps of this size: each step starts a process. */
export const PUNCH_STEP_BYTES = 16 * 1024 * 1024;

export type ChunkEvent = Extract<
  HostEvent,
  { type: "chunk_sent" | "chunk_stored" | "chunk_failed" | "punched" | "punch_failed" }
>;

/**
 * The chunks to send: the next chunk of each stream that has outgrown reports, for a few streams at the same
 * time. The stream that sent longest ago comes first, so that a flooding stream cannot silence the others. No
 * chunk is due before the first answer, which says how much is already stored. No chunk is due while a report
 * with log bytes is in flight, since the report may contain the same bytes.
 */
export function dueChunks(state: HostState): HostMessage[] {
  const { setup, exchange, ending } = state;
  const url = setup?.logsUrl;
  const early = state.ordersSeen === 0 || exchange.sent?.withLogs === true;
  if (url === undefined || early || ending?.silent === true) return [];
  const streams = streamsOf(...Object.values(state.attempts));
  const underWay = streams.filter(({ log }) => log.chunk?.sent !== undefined).length;
  return streams
    .filter((one) => one.log.chunk?.sent === undefined && !travelsInReports(state, one))
    .sort((a, b) => (a.log.chunk?.turnAt ?? 0) - (b.log.chunk?.turnAt ?? 0))
    .slice(0, Math.max(0, MAX_CHUNKS_IN_FLIGHT - underWay))
    .map(({ attempt: { id, startedAt }, stream, log }) => {
      const bytes = Math.min(unackedBytes(log), log.chunk?.limit ?? MAX_LOG_CHUNK_BYTES);
      const piece = { id, stream, from: log.acked, bytes };
      // An older control plane refuses a chunk with stamps (host-protocol.md#stamps), or with lines.
      const stamped = setup?.logStamps ? { startedAt } : {};
      const counted = setup?.logLines ? { counted: true as const } : {};
      return { to: `${id} ${stream}`, kind: "ship_log", url, ...piece, ...stamped, ...counted };
    });
}

/** When the next stream whose chunk has failed may use chunks again; undefined if there is no such stream. */
export function chunkRetryAt(state: HostState): Instant | undefined {
  return earliest(...streamsOf(...Object.values(state.attempts)).map(({ log }) => log.chunk?.notBefore));
}

/** Ends the waits that are over: these streams may use chunks again. */
export function elapseChunks(attempt: AttemptState, now: Instant): AttemptState {
  return STREAMS.reduce((next, stream) => {
    const { chunk } = next.logs[stream];
    if (chunk?.notBefore === undefined || chunk.notBefore > now) return next;
    return withStream(next, stream, { ...next.logs[stream], chunk: { ...chunk, notBefore: undefined } });
  }, attempt);
}

/** Applies an event of a chunk, or of disk space that was given back. */
export function applyToStream(state: HostState, event: ChunkEvent, now: Instant): HostState {
  if (event.type === "punch_failed") return { ...state, punches: false };
  const attempt = state.attempts[event.id];
  if (attempt === undefined) return state;
  const before = attempt.logs[event.stream];
  const after = streamAfter(before, event, now);
  const next = withStream(attempt, event.stream, after);
  const changed = { ...state, attempts: { ...state.attempts, [event.id]: next } };
  const isStored = next.treeGone && STREAMS.every((stream) => unackedBytes(next.logs[stream]) === 0);
  // Only a report tells the worker that the last byte of an ended attempt is stored.
  return isStored && after.acked > before.acked ? withNews(changed, now) : changed;
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
        return { ...log, chunk: backedOff(chunk, retryDelayMs(chunk.failures, 1), now) };
      const limit = Math.min(MAX_LOG_CHUNK_BYTES, chunk.limit * 2);
      const size = Math.max(log.size, event.stored);
      return { ...log, size, acked: event.stored, chunk: { ...chunk, failures: 0, limit } };
    }
    case "chunk_failed": {
      const delayMs = event.refused ? CHUNK_REFUSED_MS : retryDelayMs(chunk.failures, event.random);
      return { ...log, chunk: backedOff(chunk, Math.max(delayMs, event.retryAfterMs ?? 0), now) };
    }
    case "punched":
      return event.from < MAX_LOG_BYTES ? { ...log, punched: event.end } : { ...log, dropped: event.end };
  }
}

/** Makes the next chunk smaller: even over a slow network, a chunk must arrive before its timeout. */
function backedOff(chunk: NonNullable<StreamState["chunk"]>, delayMs: number, now: Instant) {
  const limit = Math.max(LEAST_CHUNK_BYTES, Math.floor(chunk.limit / 2));
  return { ...chunk, failures: chunk.failures + 1, limit, notBefore: now + delayMs };
}

function withStream(attempt: AttemptState, stream: StreamName, log: StreamState): AttemptState {
  return { ...attempt, logs: { ...attempt.logs, [stream]: log } };
}

/**
 * The messages that give back the disk space of log bytes that the control plane has stored, and of log bytes
 * beyond the cap. Bytes next to bytes that are still to be sent stay on the disk, since one secret may span
 * both (redaction.md#re-reading). Attempts that are about to be deleted are left out.
 */
export function duePunches(state: HostState): HostMessage[] {
  if (!state.punches) return [];
  return streamsOf(...Object.values(state.attempts)).flatMap(
    ({ attempt: { id, wanted }, stream, log }): HostMessage[] => {
      if (wanted === "nothing") return [];
      const stored = { from: log.punched ?? 0, end: log.acked - LONGEST_NEEDLE_BYTES };
      const beyond = { from: log.dropped ?? MAX_LOG_BYTES + LONGEST_NEEDLE_BYTES, end: log.size };
      const range = [stored, beyond].find(({ from, end }) => end - from >= PUNCH_STEP_BYTES);
      return range === undefined ? [] : [{ to: `${id} ${stream}`, kind: "punch", id, stream, ...range }];
    },
  );
}
