import fc from "fast-check";
import { Header, Pax } from "tar";
import { describe, expect, test } from "vitest";
import { decodeHeader } from "../../archive/tar/decode.ts";
import { type EntryHeader, headerOf } from "../../archive/tar/header.ts";

// A header by our own hand has the bytes of the library's: the name of a snapshot is the digest of its bytes.

function byLibrary({ mtime: seconds, size = 0, ...entry }: EntryHeader): Buffer {
  const { path, linkpath } = entry;
  const mtime = new Date(seconds * 1_000);
  const block = Buffer.alloc(512);
  const needsMore = new Header({ ...entry, size, mtime, uid: 0, gid: 0 }).encode(block);
  return needsMore ? Buffer.concat([new Pax({ path, linkpath, mtime, size }).encode(), block]) : block;
}

const path = fc.oneof(
  fc.string({ minLength: 1, maxLength: 300 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
  fc.integer({ min: 95, max: 105 }).map((length) => "x".repeat(length)),
);
const headers = fc.record<EntryHeader>(
  {
    path,
    type: fc.constantFrom("File", "Directory", "Link", "SymbolicLink"),
    mode: fc.integer({ min: 0, max: 0o777 }),
    mtime: fc.oneof(fc.integer({ min: -100, max: 100 }), fc.integer({ min: 0, max: 0o100000000000 })),
    linkpath: path,
    size: fc.oneof(fc.nat(), fc.constantFrom(0o77777777777, 0o100000000000)),
  },
  { requiredKeys: ["path", "type", "mode", "mtime"] },
);

test("a header has the bytes that the library writes, whatever is in it", () => {
  fc.assert(
    fc.property(headers, (entry) => {
      expect(Buffer.from(headerOf(entry)).equals(byLibrary(entry))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

describe("a header is read as the library reads it", () => {
  /** What both say of a block; undefined if it is damaged. */
  function both(block: Buffer): [ours: object | undefined, library: object | undefined] {
    const { nullBlock, cksumValid, path, type, linkpath, size, mode, mtime } = new Header(block, 0);
    const library = cksumValid ? { path, type, linkpath, size, mode, mtime } : undefined;
    try {
      const ours = decodeHeader(block, 0, undefined, undefined);
      return ours === "zeros" ? [{ zeros: true }, { zeros: nullBlock }] : [ours, library];
    } catch {
      return [undefined, library];
    }
  }

  test("whatever is in it", () => {
    fc.assert(
      fc.property(headers, (entry) => {
        const block = Buffer.from(headerOf(entry)).subarray(-512);
        const [ours, library] = both(block);
        expect(ours).toEqual(library);
      }),
      { numRuns: 2_000 },
    );
  });

  test("also if bytes of it are others, and the sum is right or wrong", () => {
    // Of owners, devices and other times nothing is read.
    const field = fc.nat(256).filter((at) => at < 108 || at >= 124);
    // The library goes on reading a name behind its end if there is a new line.
    const byte = fc.oneof(fc.nat(255), fc.constantFrom(0, 32, 48, 55)).filter((one) => one !== 10);
    const changes = fc.array(fc.tuple(field, byte), { maxLength: 4 });
    fc.assert(
      fc.property(headers, changes, fc.boolean(), (entry, changed, isSummed) => {
        const block = Buffer.from(headerOf(entry).subarray(-512));
        for (const [at, byte] of changed) block[at] = byte;
        if (isSummed) {
          block.fill(" ", 148, 156);
          const sum = block.reduce((all, byte) => all + byte, 0);
          block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
        }
        let expected: [object | undefined, object | undefined];
        try {
          expected = both(block);
        } catch {
          // The library throws for numbers that are none.
          expect(() => decodeHeader(block, 0, undefined, undefined)).toThrow("damaged");
          return;
        }
        expect(expected[0]).toEqual(expected[1]);
      }),
      { numRuns: 5_000 },
    );
  });
});
