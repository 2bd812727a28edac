// In which pieces does a search get the bytes of a log?
import type { LogWindow } from "../bytes/window.ts";
import { type OpenLog, readLog } from "../read/log-reading.ts";

/** The largest piece: a search answers after each of them. */
export const MAX_PIECE_BYTES = 1024 * 1024;
/** How much one request reads. */
const RANGE_BYTES = 8 * 1024 * 1024;

/** The next bytes; `isLast`: nothing follows, so a line without an end is whole. */
export interface Piece {
  bytes: Uint8Array;
  isLast: boolean;
}

/** What is in memory. */
export function* piecesInMemory({ blocks }: LogWindow): Generator<Piece> {
  let begin = 0;
  let length = 0;
  for (const [index, { bytes }] of blocks.entries()) {
    length += bytes.length;
    const isLast = index === blocks.length - 1;
    if (!isLast && length < MAX_PIECE_BYTES) continue;
    const piece = new Uint8Array(length);
    let at = 0;
    for (const block of blocks.slice(begin, index + 1)) {
      piece.set(block.bytes, at);
      at += block.bytes.length;
    }
    yield { bytes: piece, isLast };
    begin = index + 1;
    length = 0;
  }
}

/**
 * What a log has from an offset on, read range by range up to its end as it is then. Throws when the
 * connection breaks, what is final, and the signal's reason.
 */
export async function* piecesOfLog(
  from: number,
  { open, signal }: { open: OpenLog; signal: AbortSignal },
): AsyncGenerator<Piece> {
  for (let at = from; ; ) {
    const to = at + RANGE_BYTES;
    for await (const news of readLog({ from: at, to }, { open, signal, pause: rethrow })) {
      if (news.is === "broken") throw news.error;
      if (news.is !== "bytes") continue;
      at = news.at + news.bytes.length;
      for (let cut = 0; cut < news.bytes.length; cut += MAX_PIECE_BYTES) {
        yield { bytes: news.bytes.subarray(cut, cut + MAX_PIECE_BYTES), isLast: false };
      }
    }
    if (at < to) break;
  }
  yield { bytes: new Uint8Array(), isLast: true };
}

/** A search that breaks ends: whoever wants goes on by the button. */
async function rethrow(): Promise<never> {
  throw new Error("the connection broke");
}
