// How is an archive compressed, and what is not worth it?
import { promisify } from "node:util";
import * as zlib from "node:zlib";

export type Format = "gzip" | "zstd";

const { Z_DEFAULT_COMPRESSION, Z_NO_COMPRESSION, ZSTD_c_checksumFlag, ZSTD_c_compressionLevel } =
  zlib.constants;
/** With this level zstd gives up on a piece at once: it looks at few of its bytes, and stores it. */
const ZSTD_FASTEST = -100;
/** So many pieces are compressed at a time, on threads of their own. */
const AT_ONCE = 4;
/** The compressor passes its bytes on in parts of this size. Each part is a job for a thread. */
const PART_BYTES = 256 * 1024;
/** So many bytes of a piece are looked at, spread over it. */
const SAMPLE_BYTES = 8 * 1024;
/**
 * From so many bits in a byte on, a piece is stored as it is. A sample of random bytes has 7.97, a program
 * about 6, and text about 5. To compress again what is compressed takes most of the time, and saves nothing.
 */
const DENSE_BITS = 7.9;

/**
 * How a Node packs archives: all readers of Drover read zstd, but Node writes it from 22.15 on
 * (decisions/files.md#zstd).
 */
export function formatOf(node: object = zlib): Format {
  return "zstdCompress" in node ? "zstd" : "gzip";
}

/**
 * Compresses each piece into a frame of a zstd file, or a member of a gzip file (decisions/files.md#pieces).
 * Its bytes alone decide how, so the same pieces give the same file. Default: what this Node writes.
 */
export async function* compressed(
  pieces: AsyncIterable<Buffer>,
  format: Format = formatOf(),
): AsyncGenerator<Buffer> {
  const compress = format === "zstd" ? byZstd : byGzip;
  const underWay: Promise<Buffer>[] = [];
  for await (const piece of pieces) {
    underWay.push(compress(piece));
    if (underWay.length < AT_ONCE) continue;
    const first = underWay.shift();
    if (first !== undefined) yield await first;
  }
  yield* underWay;
}

/** One frame, with a checksum. It says how long its content is, so that readers need no larger window. */
function byZstd(piece: Buffer): Promise<Buffer> {
  const level = isDense(piece) ? { [ZSTD_c_compressionLevel]: ZSTD_FASTEST } : {};
  const params = { ...level, [ZSTD_c_checksumFlag]: 1 };
  return promisify(zlib.zstdCompress)(piece, {
    params,
    chunkSize: PART_BYTES,
    pledgedSrcSize: piece.length,
  });
}

function byGzip(piece: Buffer): Promise<Buffer> {
  const level = isDense(piece) ? Z_NO_COMPRESSION : Z_DEFAULT_COMPRESSION;
  return promisify(zlib.gzip)(piece, { level, chunkSize: PART_BYTES });
}

/** Whether the bytes of a piece are distributed as if by chance, as those of an archive or a film are. */
export function isDense(piece: Buffer): boolean {
  if (piece.length < SAMPLE_BYTES) return false;
  const counts = new Uint32Array(256);
  const step = piece.length / SAMPLE_BYTES;
  for (let n = 0; n < SAMPLE_BYTES; n += 1) {
    const byte = piece[Math.floor(n * step)] ?? 0;
    counts[byte] = (counts[byte] ?? 0) + 1;
  }
  let bits = 0;
  for (const count of counts) {
    if (count > 0) bits -= (count / SAMPLE_BYTES) * Math.log2(count / SAMPLE_BYTES);
  }
  return bits >= DENSE_BITS;
}
