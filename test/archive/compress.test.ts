import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { compressed, type Format, formatOf, isDense } from "../../archive/compression/compress.ts";
import { Pieces } from "../../archive/compression/pieces.ts";

// How archives are compressed (decisions/files.md#pieces).

const PIECE = 256 * 1024;
/** Bytes as if by chance, the same each time. */
function dense(size: number): Buffer {
  const parts = Array.from({ length: size / 64 }, (_, n) => createHash("sha512").update(`${n}`).digest());
  return Buffer.concat(parts);
}
const text = (size: number) => Buffer.alloc(size, "the quick brown fox jumps over the lazy dog\n");

/** What each piece becomes. */
async function compress(pieces: Buffer[], format?: Format): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for await (const part of compressed(Readable.from(pieces), format)) parts.push(part);
  return parts;
}

test.each([
  ["text", text(PIECE), false],
  ["zeros", Buffer.alloc(PIECE), false],
  ["all bytes in turn, twice as often the first half", Buffer.from([...skewed(PIECE)]), false],
  ["bytes as if by chance", dense(PIECE), true],
  ["such bytes in base64", Buffer.from(dense(PIECE).toString("base64")), false],
  ["too few bytes to say", dense(4_096), false],
])("what is dense already is told by its bytes: %s", (_, piece, expected) => {
  expect(isDense(piece)).toBe(expected);
});

function* skewed(size: number): Generator<number> {
  for (let n = 0; n < size; n += 1) yield n % 3 === 0 ? n % 256 : n % 128;
}

test("zstd is packed where Node has it, else gzip (decisions/files.md#zstd)", async () => {
  expect([formatOf(), formatOf(zlib), formatOf({ gzip: zlib.gzip })]).toEqual(["zstd", "zstd", "gzip"]);
  const [part = Buffer.alloc(0)] = await compress([text(PIECE)]);
  expect(zlib.zstdDecompressSync(part).equals(text(PIECE))).toBe(true);
});

describe.each<[Format, (part: Buffer) => Buffer]>([
  ["gzip", zlib.gunzipSync],
  ["zstd", zlib.zstdDecompressSync],
])("by %s", (format, decompress) => {
  test("any reader gets the bytes back, in order, stored or compressed", async () => {
    const pieces = [
      text(PIECE),
      dense(PIECE),
      dense(PIECE),
      text(PIECE),
      dense(64),
      Buffer.alloc(7),
      text(9),
    ];
    const parts = await compress(pieces, format);
    expect(parts.map(decompress)).toEqual(pieces);
    expect(await compress(pieces, format)).toEqual(parts);
  });

  test("a dense piece is stored and not compressed: it grows by less than a thousandth", async () => {
    const [stored, packed] = await compress([dense(PIECE), text(PIECE)], format);
    expect(stored?.length).toBeGreaterThan(PIECE);
    expect(stored?.length).toBeLessThan(PIECE * 1.001);
    expect(packed?.length).toBeLessThan(PIECE / 100);
  });

  test("a damaged byte is noticed wherever it is, also in what is only stored", async () => {
    for (const piece of [text(PIECE), dense(PIECE)]) {
      const [part = Buffer.alloc(0)] = await compress([piece], format);
      for (const share of [0.2, 0.5, 0.9]) {
        const damaged = Buffer.from(part);
        damaged.writeUInt8(
          255 - (damaged[Math.floor(part.length * share)] ?? 0),
          Math.floor(part.length * share),
        );
        expect(() => decompress(damaged)).toThrow();
      }
    }
  });
});

test("a frame of zstd says how long it is, so that who reads it needs no large window", async () => {
  const [part = Buffer.alloc(0)] = await compress([text(PIECE)], "zstd");
  const isSingleSegment = ((part[4] ?? 0) & 0x20) !== 0;
  expect([isSingleSegment, part.readUInt32LE(5)]).toEqual([true, PIECE]);
});

test("a fault of what is compressed is the fault of the whole", async () => {
  const failing = Readable.from(
    (function* () {
      yield text(PIECE);
      throw new Error("the disk is gone");
    })(),
  );
  const read = async () => {
    for await (const _ of compressed(failing));
  };
  await expect(read()).rejects.toThrow("the disk is gone");
});

test("pieces have one size, whatever parts they are made of, and keep the order", () => {
  const pieces = new Pieces(8);
  const full = ["abc", "", "defghijklmnopqrstu", "v"].flatMap((part) => {
    pieces.add(Buffer.from(part));
    return pieces.takeFull();
  });
  expect([...full, pieces.rest].map(String)).toEqual(["abcdefgh", "ijklmnop", "qrstuv"]);
});
