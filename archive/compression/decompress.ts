// How is the compression of an archive detected, and how is the archive read?
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { type Duplex, pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import { ArchiveFault } from "../faults.ts";
import { MAX_BLOCK_BYTES, withinFrames } from "./frames.ts";
import { decompressedByLibrary } from "./zstd-library.ts";

type Compression = "none" | "gzip" | "zstd";

const MAGIC: [Exclude<Compression, "none">, Buffer][] = [
  ["gzip", Buffer.from([0x1f, 0x8b])],
  ["zstd", Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
];
const LONGEST_MAGIC = 4;
/** What is read and decompressed at a time, on a thread of its own. */
const PART_BYTES = 256 * 1024;

/** The compression, judged by the first bytes: a file name can be wrong, and a snapshot has no name. */
async function compressionOf(file: string): Promise<Compression> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LONGEST_MAGIC), 0, LONGEST_MAGIC, 0);
    const first = buffer.subarray(0, bytesRead);
    return MAGIC.find(([, magic]) => first.subarray(0, magic.length).equals(magic))?.[0] ?? "none";
  } finally {
    await handle.close();
  }
}

/** Creates Node's stream that decompresses zstd. `bytesWritten`: the compressed bytes that it has used. */
type MakeZstd = (options: { chunkSize: number }) => Duplex & { readonly bytesWritten: number };

/**
 * The decompressed bytes of a file. Zstd is decompressed by Node, or by a library if `makeZstd` is null: Node
 * does it from 22.15 on. What is cut or damaged is an error of the stream.
 */
export async function openDecompressed(
  file: string,
  makeZstd: MakeZstd | null = zlib.createZstdDecompress ?? null,
): Promise<Readable> {
  const compression = await compressionOf(file);
  const source = createReadStream(file, { highWaterMark: PART_BYTES });
  if (compression === "none") return source;
  if (compression === "gzip") return pipe(source, zlib.createGunzip({ chunkSize: PART_BYTES }));
  const frames = withinFrames(source);
  const parts = makeZstd === null ? decompressedByLibrary(frames) : decompressedByNode(frames, makeZstd);
  return Readable.from(parts, { objectMode: false });
}

/** All frames, by one stream of Node. It goes on with the next frame if no part goes beyond a frame. */
async function* decompressedByNode(
  frames: AsyncIterable<Buffer>,
  makeZstd: MakeZstd,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  async function* counted() {
    for await (const part of frames) {
      bytes += part.length;
      yield part;
    }
  }
  const zstd = makeZstd({ chunkSize: MAX_BLOCK_BYTES });
  yield* pipe(Readable.from(counted(), { objectMode: false }), zstd);
  // Another Node might end its stream with each frame. Parts that are left out would look like success.
  if (zstd.bytesWritten !== bytes) throw new ArchiveFault(`only ${zstd.bytesWritten} of its bytes were read`);
}

/** Pipes one stream into another. The second stream fails when the first one does. */
function pipe<To extends Duplex>(from: Readable, to: To): To {
  pipeline(from, to, () => undefined);
  return to;
}
