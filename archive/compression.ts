// How is an archive compressed, and how is it read without knowing that?
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { type Duplex, pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import { ArchiveFault } from "./faults.ts";

/** How an archive is packed. */
type Compression = "none" | "gzip" | "zstd";

const MAGIC: [Exclude<Compression, "none">, Buffer][] = [
  ["gzip", Buffer.from([0x1f, 0x8b])],
  ["zstd", Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
];
const LONGEST_MAGIC = 4;

/** Tells how an archive is packed by its first bytes: a name can be wrong, and a snapshot has none. */
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

/** Makes what decompresses one frame of zstd. `bytesWritten`: how long the frame was. */
type MakeZstd = () => Duplex & { readonly bytesWritten: number };

/**
 * The bytes of a file without their compression. `makeZstd`: null where Node has none, which is so before
 * 22.15. Then this throws an `ArchiveFault`.
 */
export async function openDecompressed(
  file: string,
  makeZstd: MakeZstd | null = zlib.createZstdDecompress ?? null,
): Promise<Readable> {
  const compression = await compressionOf(file);
  if (compression === "none") return createReadStream(file);
  if (compression === "gzip") return into(createReadStream(file), zlib.createGunzip());
  if (makeZstd !== null) return Readable.from(framesOf(file, makeZstd), { objectMode: false });
  const text = `it is packed by zstd, which Node ${process.version} of this machine cannot read`;
  throw new ArchiveFault(`${text}: give the machine Node 22.15 or later, or pack it by gzip`);
}

/** Node ends at the end of the first frame of zstd without a word, and a file may have more of them. */
async function* framesOf(file: string, makeZstd: MakeZstd): AsyncGenerator<Buffer> {
  const { size } = await stat(file);
  for (let start = 0; start < size; ) {
    const source = createReadStream(file, { start });
    const frame = into(source, makeZstd());
    yield* frame;
    source.destroy();
    start += frame.bytesWritten;
  }
}

/** Joins two streams, so that the second one fails when the first one does. */
function into<To extends Duplex>(from: Readable, to: To): To {
  pipeline(from, to, () => undefined);
  return to;
}
