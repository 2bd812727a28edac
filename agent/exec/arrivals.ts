// When did which bytes of an attempt's output arrive, as far as this agent has looked?
import { appendFileSync, existsSync } from "node:fs";
import { replaceFile } from "../../disk/atomic.ts";
import { readIfThere } from "../../posix/files.ts";
import type { StreamName } from "../../src/schema/host.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { cutStamps, packStamps, type Stamp, stampedBytes, thinStamps } from "../../src/shared/time/stamps.ts";
import { STREAMS } from "../core/reports/logs.ts";
import type { AttemptStore } from "./processes/dirs.ts";

/** The most stamps of one stream in memory. Where more are needed, they become coarser. */
export const MAX_HELD_STAMPS = 2_048;
/** A file with this many lines is written anew, from what is in memory. */
export const MAX_STAMP_LINES = 4 * MAX_HELD_STAMPS;

/** A line of the file: the number of the stream, the size of the stream, and when it had this size. */
const LINE = /^([01]) (\d{1,15}) (\d{1,15})$/;

/** The size of a file, and how long ago it was written last. */
export interface Grown {
  size: number;
  agoMs: Millis;
}

/** The stamps of the bytes from `begin` up to `end`. */
interface Arrived {
  begin: number;
  end: number;
  stamps: Stamp[];
  /** The latest offset from which stamps were asked for: what lies before is stored. */
  asked: number;
}

interface Known {
  streams: Record<StreamName, Arrived>;
  lookedAt: Instant;
  lines: number;
}

/**
 * Stamps the output of attempts, and keeps the stamps beside it, so that they survive this agent
 * (host-protocol.md#stamps). A file that cannot be written costs only that.
 */
export class Arrivals {
  readonly #store: AttemptStore;
  readonly #now: () => Instant;
  readonly #known = new Map<string, Known>();

  constructor(store: AttemptStore, now: () => Instant) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Begins to stamp an attempt, or goes on where an earlier start of the agent has stopped: whatever has come
   * since then was not looked at.
   */
  begin(id: string): void {
    if (this.#known.has(id)) return;
    const { stamps: file, stdout } = this.#store.dirsOf(id);
    const known: Known = { streams: { stdout: none(), stderr: none() }, lookedAt: 0, lines: 0 };
    const text = readIfThere(file);
    for (const line of text?.split("\n") ?? []) {
      const [, index, size, ms] = LINE.exec(line) ?? [];
      const stream = STREAMS[Number(index)];
      if (stream === undefined) continue;
      resize(known.streams[stream], Number(size), Number(ms));
      known.lookedAt = Math.max(known.lookedAt, Number(ms));
      known.lines += 1;
    }
    this.#known.set(id, known);
    if (text === undefined && !existsSync(stdout)) {
      known.lookedAt = this.#now();
      return;
    }
    const left = STREAMS.filter((stream) => !isUnwatched(known.streams[stream]));
    for (const stream of left) resize(known.streams[stream], known.streams[stream].end, known.lookedAt);
    this.#keep(id, known, left);
  }

  /** Stamps what has come since the latest look. Two streams that grew meanwhile are told by their files. */
  look(id: string, grown: Record<StreamName, Grown>, lookedAt: Instant): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    const news = STREAMS.filter((stream) => {
      return grown[stream].size !== known.streams[stream].end || isUnwatched(known.streams[stream]);
    });
    const before = known.lookedAt;
    const moments = news.map((stream) => {
      return Math.round(Math.max(before, Math.min(lookedAt, lookedAt - grown[stream].agoMs)));
    });
    known.lookedAt = Math.max(before, lookedAt);
    for (const [index, stream] of news.entries()) {
      resize(known.streams[stream], grown[stream].size, moments[index] ?? lookedAt);
    }
    if (news.length > 0) this.#keep(id, known, news);
  }

  /**
   * The stamps of `bytes` of a stream from offset `from` on, at most `most` of them, counted from the start
   * of the attempt; undefined if they are not known.
   */
  of(
    id: string,
    stream: StreamName,
    {
      from,
      bytes,
      startedAt,
      most,
    }: { from: number; bytes: number; startedAt?: Instant | undefined; most: number },
  ): number[] | undefined {
    const arrived = this.#known.get(id)?.streams[stream];
    if (arrived === undefined || startedAt === undefined || most < 2) return undefined;
    const { begin, end, stamps } = arrived;
    if (from < begin || from + bytes > end) return undefined;
    arrived.asked = from;
    const cut = cutStamps(stamps, from - begin, from + bytes - begin);
    const since = cut.map((one) => ({ bytes: one.bytes, ms: Math.max(0, one.ms - startedAt) }));
    return packStamps(thinStamps(since, most));
  }

  /** Forgets an attempt whose files are deleted. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Notes the latest stamps of these streams in the file. */
  #keep(id: string, known: Known, streams: readonly StreamName[]): void {
    const { stamps: file } = this.#store.dirsOf(id);
    for (const stream of streams) bound(known.streams[stream]);
    known.lines += streams.length;
    try {
      if (known.lines > MAX_STAMP_LINES) {
        const lines = STREAMS.flatMap((stream) => linesOf(stream, known.streams[stream]));
        replaceFile(file, lines.join(""));
        known.lines = lines.length;
        return;
      }
      const latest = streams.map((stream) => {
        const { end, stamps } = known.streams[stream];
        return lineOf(stream, end, stamps.at(-1)?.ms ?? 0);
      });
      appendFileSync(file, latest.join(""), { mode: 0o600 });
    } catch {
      // Without this line, the bytes count as not looked at after a restart of the agent. They still arrive.
    }
  }
}

function none(): Arrived {
  return { begin: 0, end: 0, stamps: [], asked: 0 };
}

/** Whether nobody has looked at a stream since its latest stamp. */
function isUnwatched({ stamps }: Arrived): boolean {
  return stamps.at(-1)?.bytes === 0;
}

/**
 * Notes that a stream had `size` bytes at `ms`. The size of before: nobody looked from then on or, if that is
 * so, somebody looks again, and nothing has come. A smaller size: its task has cut the stream off there.
 */
function resize(arrived: Arrived, size: number, ms: Instant): void {
  const isCut = size < arrived.end;
  while (arrived.end > size) {
    const last = arrived.stamps.pop();
    if (last === undefined) arrived.begin = size;
    arrived.end = last === undefined ? size : arrived.end - last.bytes;
  }
  if (isCut && arrived.end === size) return;
  if (arrived.end === size && isUnwatched(arrived)) {
    arrived.stamps.pop();
    return;
  }
  arrived.stamps.push({ bytes: size - arrived.end, ms });
  arrived.end = size;
}

/** Keeps the stamps of a stream below their bound: those of stored bytes go first. */
function bound(arrived: Arrived): void {
  if (arrived.stamps.length <= MAX_HELD_STAMPS) return;
  const from = Math.max(0, arrived.asked - arrived.begin);
  arrived.stamps = thinStamps(cutStamps(arrived.stamps, from, arrived.end), MAX_HELD_STAMPS / 2);
  arrived.begin = arrived.end - stampedBytes(arrived.stamps);
}

/** The lines of a stream's stamps. What lies before the first of them was not looked at. */
function linesOf(stream: StreamName, { begin, stamps }: Arrived): string[] {
  let end = begin;
  return [
    lineOf(stream, 0, 0),
    lineOf(stream, begin, stamps.at(0)?.ms ?? 0),
    ...stamps.map(({ bytes, ms }) => {
      end += bytes;
      return lineOf(stream, end, ms);
    }),
  ];
}

function lineOf(stream: StreamName, end: number, ms: Instant): string {
  return `${STREAMS.indexOf(stream)} ${end} ${ms}\n`;
}
