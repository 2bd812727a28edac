import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { list, Pax } from "tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TarReader } from "../../archive/tar/reader.ts";
import { END, entry } from "./support/tar.ts";

// What our own reader finds in an archive is what another reader finds, in whatever parts the bytes come.

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-reader-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Found {
  path: string;
  type: string;
  linkpath: string;
  mode: number;
  seconds: number;
  content: string;
}

/** Reads an archive in parts of this many bytes. */
function read(archive: Buffer, partBytes: number): Found[] {
  const found: Found[] = [];
  const reader = new TarReader({
    begin: ({ path, type, linkpath = "", mode = 0, mtime }) => {
      found.push({
        ...{ path, type, linkpath, mode: mode & 0o777 },
        ...{ seconds: Math.floor((mtime?.getTime() ?? 0) / 1_000), content: "" },
      });
    },
    content: (bytes) => {
      const last = found.at(-1);
      if (last !== undefined) last.content += bytes.toString("latin1");
    },
    end: () => undefined,
  });
  for (let at = 0; at < archive.length; at += partBytes) reader.write(archive.subarray(at, at + partBytes));
  reader.end();
  return found;
}

/** What the library `tar` finds. */
async function readByLibrary(archive: Buffer): Promise<Found[]> {
  const found: Found[] = [];
  const reader = list({
    strict: true,
    onReadEntry: (one) => {
      const { path, type, linkpath = "", mode = 0, mtime } = one;
      const seconds = Math.floor((mtime?.getTime() ?? 0) / 1_000);
      const entry: Found = { path, type, linkpath, mode: mode & 0o777, seconds, content: "" };
      found.push(entry);
      one.on("data", (bytes) => {
        entry.content += bytes.toString("latin1");
      });
    },
  });
  const ended = new Promise((resolve, reject) => reader.on("end", resolve).on("error", reject));
  reader.end(archive);
  await ended;
  return found;
}

/** A directory with all that an archive can have. */
function fill(): void {
  const long = join("n".repeat(120), "m".repeat(120));
  for (const folder of ["a", long, "empty"]) mkdirSync(join(dir, "root", folder), { recursive: true });
  for (const [path, bytes] of [
    ["a/none", 0],
    ["a/one", 1],
    ["a/block", 512],
    ["a/more", 1_300],
    ["ä", 3],
    [`${long}/x`, 5],
  ] as const) {
    writeFileSync(join(dir, "root", path), "x".repeat(bytes));
  }
  symlinkSync("a/one", join(dir, "root", "link"));
  symlinkSync("z".repeat(150), join(dir, "root", "long link"));
  symlinkSync("z".repeat(150), join(dir, "root", long, "link with a long name and a long target"));
  linkSync(join(dir, "root", "a/one"), join(dir, "root", "second"));
}

test.each(["v7", "ustar", "gnu", "oldgnu", "posix"])("an archive of the format %s", async (format) => {
  fill();
  const isShort = format === "v7" || format === "ustar";
  if (isShort) execFileSync("sh", ["-c", "rm -rf n* 'long link'"], { cwd: join(dir, "root") });
  const options = [`--format=${format}`, "--sort=name", "-C", join(dir, "root"), "-cf", "-", "."];
  const archive = execFileSync("tar", options, { maxBuffer: 2 ** 24 });
  const expected = await readByLibrary(archive);
  expect(expected.length).toBeGreaterThan(7);
  for (const partBytes of [1, 7, 511, 512, 513, 1_536, archive.length]) {
    expect(read(archive, partBytes)).toEqual(expected);
  }
});

describe("extended headers", () => {
  const pax = (values: ConstructorParameters<typeof Pax>[0], all = false) => new Pax(values, all).encode();
  const file = entry({ path: "x", content: "hello" });

  test("one for the next entry ends with it and is the stronger one, one for all goes on", () => {
    const time = new Date(1_000_000_000_000);
    const archive = Buffer.concat([
      ...[pax({ mtime: time }, true), pax({ path: "y" }), file, file],
      ...[pax({ mtime: new Date(2_000_000_000_000) }), file, END],
    ]);
    const found = read(archive, 100);
    expect(found.map(({ path, seconds }) => [path, seconds])).toEqual([
      ["y", 1_000_000_000],
      ["x", 1_000_000_000],
      ["x", 2_000_000_000],
    ]);
  });

  test("a size in it is that of the entry, and not of a header between them", () => {
    const name = `${"long/".repeat(50)}y`;
    const between = entry({ path: "././@LongLink", type: "NextFileHasLongPath", content: name });
    const archive = Buffer.concat([pax({ size: 5 }), between, entry({ path: "x", size: 0 })]);
    const body = Buffer.alloc(512, "hello".padEnd(512, "\0"));
    const found = read(Buffer.concat([archive, body, file, END]), 512);
    expect(found.map(({ path, content }) => [path, content])).toEqual([
      [name, "hello"],
      ["x", "hello"],
    ]);
  });

  test("a name may have any byte in it, for records have lengths", () => {
    const name = `${"a".repeat(110)}\n12 path=evil\n\u{1f600}`;
    const found = read(Buffer.concat([pax({ path: name }), file, END]), 512);
    expect(found.map(({ path }) => path)).toEqual([name]);
  });

  test.each<[string, string, string]>([
    ["a record with a wrong length", "99 path=x\n", "wrong length"],
    ["a record without a length", "path=x\n", "wrong length"],
    ["a record without a key", "8 path\nx", "wrong length"],
    ["a size that is no number", "12 size=ten\n", 'no number for "size"'],
    ["a sparse file, whose holes are elsewhere", "22 GNU.sparse.major=1\n", "a sparse file"],
  ])("with %s it is damaged", (_what, content, words) => {
    const header = entry({ path: "x", type: "ExtendedHeader", content });
    expect(() => read(Buffer.concat([header, file, END]), 512)).toThrow(words);
  });

  test("one that is too long is refused, and not read", () => {
    const large = entry({ path: "x", type: "ExtendedHeader", size: 2 ** 30 });
    expect(() => read(Buffer.concat([large, file]), 512)).toThrow("an extended header has 1073741824 bytes");
  });
});

test("a name of a volume is no file, and what follows the end mark is nothing", () => {
  const volume = entry({ path: "backup 7", type: "TapeVolumeHeader" });
  const file = entry({ path: "x", content: "x" });
  const found = read(Buffer.concat([volume, file, END, Buffer.from("garbage")]), 700);
  expect(found.map(({ path }) => path)).toEqual(["x"]);
});

test.each<[string, Buffer, string]>([
  ["within a header", entry({ path: "x" }).subarray(0, 300), "truncated"],
  ["within a file", entry({ path: "x", content: "x" }).subarray(0, 512), "truncated"],
  ["within the bytes that fill a block", entry({ path: "x", content: "x" }).subarray(0, 600), "truncated"],
  ["before it begins", Buffer.alloc(0), "no tar archive"],
])("an archive that ends %s is damaged", (_, archive, words) => {
  expect(() => read(archive, 512)).toThrow(words);
});
