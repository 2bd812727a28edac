// How is the compression of an archive detected, and how is the archive read?
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { type Duplex, pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import { ArchiveFault } from "../faults.ts";

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

/** Creates a stream that decompresses one frame of zstd. `bytesWritten`: compressed bytes of that frame. */
type MakeZstd = () => Duplex & { readonly bytesWritten: number };

/**
 * The decompressed bytes of a file. Throws an `ArchiveFault` for zstd if `makeZstd` is null: Node
 * decompresses zstd from 22.15 on.
 */
export async function openDecompressed(
  file: string,
  makeZstd: MakeZstd | null = zlib.createZstdDecompress ?? null,
): Promise<Readable> {
  const compression = await compressionOf(file);
  if (compression === "none") return createReadStream(file, { highWaterMark: PART_BYTES });
  if (compression === "gzip") {
    const source = createReadStream(file, { highWaterMark: PART_BYTES });
    return pipe(source, zlib.createGunzip({ chunkSize: PART_BYTES }));
  }
  if (makeZstd !== null) return Readable.from(framesOf(file, makeZstd), { objectMode: false });
  const text = `it is compressed with zstd, which Node ${process.version} on this machine cannot read`;
  throw new ArchiveFault(`${text}: install Node 22.15 or later there, or compress the archive with gzip`);
}

/** All frames of a zstd file, one after the other: Node's stream silently ends after the first frame. */
async function* framesOf(file: string, makeZstd: MakeZstd): AsyncGenerator<Buffer> {
  const { size } = await stat(file);
  for (let start = 0; start < size; ) {
    const source = createReadStream(file, { start });
    const frame = pipe(source, makeZstd());
    yield* frame;
    source.destroy();
    start += frame.bytesWritten;
  }
}

/** Pipes one stream into another. The second stream fails when the first one does. */
function pipe<To extends Duplex>(from: Readable, to: To): To {
  pipeline(from, to, () => undefined);
  return to;
}
