import fc from "fast-check";
import { Header, Pax } from "tar";
import { expect, test } from "vitest";
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
