import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { gzipped, isDense } from "../../archive/gzip/gzip.ts";
import { Pieces } from "../../archive/gzip/pieces.ts";

// How archives are compressed (decisions/files.md#gzip).

const PIECE = 256 * 1024;
/** Bytes as if by chance, the same each time. */
function dense(size: number): Buffer {
  const parts = Array.from({ length: size / 64 }, (_, n) => createHash("sha512").update(`${n}`).digest());
  return Buffer.concat(parts);
}
const text = (size: number) => Buffer.alloc(size, "the quick brown fox jumps over the lazy dog\n");

async function compressed(pieces: Buffer[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of gzipped(Readable.from(pieces))) parts.push(part);
  return Buffer.concat(parts);
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

test("any reader of gzip gets the bytes back, in order, stored or compressed", async () => {
  const pieces = [text(PIECE), dense(PIECE), dense(PIECE), text(PIECE), dense(64), Buffer.alloc(7), text(99)];
  expect(gunzipSync(await compressed(pieces)).equals(Buffer.concat(pieces))).toBe(true);
  expect(await compressed(pieces)).toEqual(await compressed(pieces));
});

test("a dense piece is stored and not compressed: it grows by less than a thousandth", async () => {
  const [stored, packed] = await Promise.all([compressed([dense(PIECE)]), compressed([text(PIECE)])]);
  expect(stored.length - PIECE).toBeGreaterThan(0);
  expect(stored.length - PIECE).toBeLessThan(PIECE / 1_000);
  expect(packed.length).toBeLessThan(PIECE / 100);
});

test("a fault of what is compressed is the fault of the whole", async () => {
  const failing = Readable.from(
    (function* () {
      yield text(PIECE);
      throw new Error("the disk is gone");
    })(),
  );
  const read = async () => {
    for await (const _ of gzipped(failing));
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
