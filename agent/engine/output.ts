// How do the bytes of a connection become the output of a process?
import type { Readable } from "node:stream";
import { errorText } from "../../src/shared/words.ts";
import { EngineError } from "./errors.ts";
import { Demultiplexer } from "./frames.ts";
import type { Frame } from "./types.ts";

/** The frames in these pieces (engine.md#frames). Throws `cut` if they end in the middle of one. */
export async function* framesOf(
  what: string,
  pieces: AsyncIterable<Buffer>,
  tty: boolean,
): AsyncGenerator<Frame> {
  const demultiplexer = new Demultiplexer();
  for await (const piece of pieces) {
    if (tty) yield { stream: "stdout", data: piece };
    else yield* demultiplexer.push(piece);
  }
  if (demultiplexer.whole) return;
  throw new EngineError("cut", `The container engine stopped to ${what} in the middle of a frame.`);
}

/** The same for a connection that was taken over. */
export function outputOf(what: string, connection: Readable, tty: boolean): AsyncGenerator<Frame> {
  return framesOf(what, rawPieces(what, connection), tty);
}

/** Reads on without ending what is written to the connection. */
async function* rawPieces(what: string, connection: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const piece of connection.iterator({ destroyOnReturn: false })) yield piece;
  } catch (error) {
    throw new EngineError("cut", `The container engine stopped to ${what}: ${errorText(error)}.`);
  }
}
