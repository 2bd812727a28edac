// How is an archive compressed, and what is not worth it?
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

const gzipAsync = promisify(gzip);
const { Z_DEFAULT_COMPRESSION, Z_NO_COMPRESSION } = constants;
/** So many pieces are compressed at a time, on threads of their own. */
const AT_ONCE = 4;
/** So many bytes of a piece are looked at, spread over it. */
const SAMPLE_BYTES = 8 * 1024;
/**
 * From so many bits in a byte on, a piece is stored as it is. A sample of random bytes has 7.97, a program
 * about 6, and text about 5. To compress again what is compressed takes most of the time, and saves nothing.
 */
const DENSE_BITS = 7.9;

/**
 * Compresses each piece into a member of a gzip file (decisions/files.md#gzip). Its bytes alone decide how,
 * so the same pieces give the same file.
 */
export async function* gzipped(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const underWay: Promise<Buffer>[] = [];
  for await (const piece of pieces) {
    const level = isDense(piece) ? Z_NO_COMPRESSION : Z_DEFAULT_COMPRESSION;
    underWay.push(gzipAsync(piece, { level }));
    if (underWay.length < AT_ONCE) continue;
    const first = underWay.shift();
    if (first !== undefined) yield await first;
  }
  yield* underWay;
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
