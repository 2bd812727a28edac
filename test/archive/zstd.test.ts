import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Transform, type TransformOptions } from "node:stream";
import { constants, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDecompressed } from "../../archive/compression/decompress.ts";
import { MAX_BLOCK_BYTES, withinFrames } from "../../archive/compression/frames.ts";
import { ArchiveFault } from "../../archive/faults.ts";

// How zstd is read, with and without a Node that has it (decisions/files.md#reading-zstd).

const { ZSTD_c_checksumFlag, ZSTD_c_compressionLevel, ZSTD_c_contentSizeFlag, ZSTD_c_windowLog } = constants;
const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** A frame's only block: 3 bytes as they are. */
const BLOCK = [0x19, 0, 0, 0x61, 0x62, 0x63];

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-zstd-"));
  file = join(dir, "file");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function frame(content: Buffer, params: { [key: number]: number } = {}): Buffer {
  return zstdCompressSync(content, { params: { [ZSTD_c_checksumFlag]: 1, ...params } });
}

/** Every reader passes over it. */
function skippable(size: number, kind = 0): Buffer {
  const bytes = Buffer.alloc(8 + size, 0xfd);
  bytes.writeUInt32LE(0x184d2a50 + kind, 0);
  bytes.writeUInt32LE(size, 4);
  return bytes;
}

/** Bytes as if by chance, the same each time. */
function dense(size: number): Buffer {
  const parts = Array.from({ length: size / 64 }, (_, n) => createHash("sha512").update(`${n}`).digest());
  return Buffer.concat(parts);
}
const text = (size: number) => Buffer.from(dense(size / 2).toString("hex"));

describe.each<[string, null | undefined]>([
  ["by Node", undefined],
  ["by the library", null],
])("%s", (_, makeZstd) => {
  async function read(...bytes: Buffer[]): Promise<Buffer> {
    writeFileSync(file, Buffer.concat(bytes));
    const parts: Buffer[] = [];
    for await (const part of await openDecompressed(file, makeZstd)) parts.push(part);
    return Buffer.concat(parts);
  }

  test.each<[string, Buffer, { [key: number]: number }]>([
    ["text", text(3 * 2 ** 20), {}],
    ["text, compressed well", text(2 ** 18), { [ZSTD_c_compressionLevel]: 19 }],
    ["text, compressed badly", text(2 ** 20), { [ZSTD_c_compressionLevel]: -100 }],
    ["text, with a small window", text(2 ** 20), { [ZSTD_c_contentSizeFlag]: 0, [ZSTD_c_windowLog]: 10 }],
    ["zeros, which become blocks of one byte", Buffer.alloc(40 * 2 ** 20), {}],
    ["bytes as if by chance, which are stored", dense(3 * 2 ** 20), {}],
    ["256 bytes", dense(256), {}],
    ["nothing", Buffer.alloc(0), {}],
  ])("a frame is read: %s", async (_, content, params) => {
    for (const checksum of [0, 1]) {
      const bytes = frame(content, { [ZSTD_c_checksumFlag]: checksum, ...params });
      expect((await read(bytes)).equals(content)).toBe(true);
    }
  });

  test("all frames are read, wherever the parts of the file end, and what is to be skipped is", async () => {
    const all = text(2 ** 19);
    const contents = [1, 256 * 1024, 0, 70_000, 300_000, 64].map((size) => all.subarray(0, size));
    const frames = contents.flatMap((content, n) => [frame(content), skippable(n * 50_000, n)]);
    expect((await read(...frames)).equals(Buffer.concat(contents))).toBe(true);
  });

  test("frames of zeros come out in parts: nobody has to hold all of them", async () => {
    const bomb = frame(Buffer.alloc(64 * 2 ** 20));
    writeFileSync(file, Buffer.concat([bomb, bomb, bomb]));
    let largest = 0;
    for await (const part of await openDecompressed(file, makeZstd)) largest = Math.max(largest, part.length);
    expect(largest).toBeLessThanOrEqual(MAX_BLOCK_BYTES);
  });

  test("who has enough stops reading", async () => {
    writeFileSync(file, frame(Buffer.alloc(64 * 2 ** 20)));
    const stream = await openDecompressed(file, makeZstd);
    for await (const part of stream) {
      expect(part.length).toBeGreaterThan(0);
      break;
    }
    expect(stream.destroyed).toBe(true);
  });

  test("one that is cut is a fault, wherever it is cut", async () => {
    const [first, second] = [frame(text(128)), frame(dense(64))];
    const whole = Buffer.concat([first, skippable(9), second]);
    const ends = [first.length, first.length + 17];
    for (let length = 4; length < whole.length; length += 1) {
      if (ends.includes(length)) continue;
      await expect(read(whole.subarray(0, length)), `${length} bytes`).rejects.toThrow("it is cut");
    }
  });

  test("a damaged byte is a fault, or does not matter, but never gives another content", async () => {
    const whole = Buffer.concat([frame(text(128)), frame(dense(64))]);
    const content = await read(whole);
    let faults = 0;
    for (let at = 4; at < whole.length; at += 1) {
      const damaged = Buffer.from(whole);
      damaged.writeUInt8((damaged[at] ?? 0) ^ (1 << (at % 8)), at);
      const found = await read(damaged).catch(() => undefined);
      if (found === undefined) faults += 1;
      else expect(found.equals(content), `byte ${at}`).toBe(true);
    }
    expect(faults).toBeGreaterThan(whole.length - 8);
  });

  test.each<[string, Buffer]>([
    ["zeros", Buffer.alloc(512)],
    ["gzip", Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])],
    ["text", Buffer.from("text")],
  ])("what follows a frame and is none is a fault: %s", async (_, rest) => {
    const failed = read(frame(text(512)), rest);
    await expect(failed).rejects.toBeInstanceOf(ArchiveFault);
    await expect(failed).rejects.toThrow("something else between its frames of zstd, or behind them");
  });

  test("a window of 128 MiB is the largest: what needs more is refused, and takes no memory", async () => {
    const withWindow = (log: number) => Buffer.from([...MAGIC, 0, (log - 10) << 3, ...BLOCK]);
    expect(String(await read(withWindow(27)))).toBe("abc");
    for (const log of [28, 31, 41]) await expect(read(withWindow(log))).rejects.toThrow(/memory/);
    const ofOneSegment = Buffer.from([...MAGIC, 0xe0, 0, 0, 0, 0, 0xff, 0, 0, 0, ...BLOCK]);
    await expect(read(ofOneSegment)).rejects.toThrow(/memory/);
  });

  test("what needs a dictionary is refused", async () => {
    await expect(read(Buffer.from([...MAGIC, 0x21, 7, 3, ...BLOCK]))).rejects.toThrow(/[Dd]ictionary/);
  });

  test("a block of a kind that does not exist is a fault", async () => {
    const bytes = Buffer.from([...MAGIC, 0x20, 3, 0x1f, 0, 0, 0x61, 0x62, 0x63]);
    await expect(read(bytes)).rejects.toThrow();
  });
});

test("an archive has a million frames at most: those without content would keep a host busy", async () => {
  const parts = (count: number) => Readable.from([Buffer.concat([frame(text(128)), ...skips(count - 1)])]);
  const skips = (count: number) => Array.from({ length: count }, () => skippable(0));
  const read = async (count: number, most?: number) => {
    let bytes = 0;
    for await (const part of withinFrames(parts(count), most)) bytes += part.length;
    return bytes;
  };
  expect(await read(3, 3)).toBe(frame(text(128)).length + 2 * 8);
  await expect(read(4, 3)).rejects.toThrow("more than 3 frames");
  await expect(read(1_000_001)).rejects.toThrow("more than 1000000 frames");
});

test("a Node whose stream ended with a frame would be noticed: nothing is left out in silence", async () => {
  writeFileSync(file, Buffer.concat([frame(text(512)), frame(text(512))]));
  const transform: TransformOptions["transform"] = (_part, _encoding, done) => done(null, Buffer.alloc(1));
  const early = () => Object.assign(new Transform({ transform }), { bytesWritten: 0 });
  const read = async () => {
    for await (const part of await openDecompressed(file, early)) expect(part.length).toBeGreaterThan(0);
  };
  await expect(read()).rejects.toThrow("only 0 of its bytes were read");
});
