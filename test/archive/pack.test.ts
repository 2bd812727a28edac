import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ArchiveFault } from "../../archive/faults.ts";
import { type Packable, type PackBounds, pack } from "../../archive/pack.ts";
import { unpack } from "../../archive/unpack.ts";
import type { Found } from "../../archive/walk.ts";

let dir: string;
let root: string;
let into: string;
let archive: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-pack-"));
  [root, into, archive] = [join(dir, "root"), join(dir, "into"), join(dir, "archive")];
  mkdirSync(root);
  mkdirSync(into);
});
afterEach(() => {
  execFileSync("chmod", ["-R", "u+rwx", dir]);
  rmSync(dir, { recursive: true, force: true });
});

const signal = AbortSignal.timeout(50_000);
const BOUNDS: PackBounds = { bytes: 1024 ** 2, contents: 1024 ** 2, entries: 100 };
const UNPACKED = { bytes: 1024 ** 2, entries: 100 };

function put(path: string, content = path, mode = 0o644): void {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, content);
  chmodSync(full, mode);
}

const packAll = (what: Partial<Packable> = { globs: ["**"] }, bounds: Partial<PackBounds> = {}) =>
  pack({ root, globs: ["**"], ...what }, archive, signal, { ...BOUNDS, ...bounds });

/** What lies below a folder: a name for each file and link, one with a slash for each empty directory. */
function below(folder: string, path = ""): string[] {
  const names = readdirSync(join(folder, path)).sort();
  if (names.length === 0 && path !== "") return [`${path}/`];
  return names.flatMap((name) => {
    const at = join(path, name);
    return lstatSync(join(folder, at)).isDirectory() ? below(folder, at) : [at];
  });
}

test("what is packed is unpacked as it was: contents, modes, times, links, empty directories", async () => {
  const long = `${"n".repeat(200)}/${"m".repeat(200)}`;
  for (const path of ["a", "b/c", "ä/ö", "two\nlines", long]) put(path);
  put("run", "#!/bin/sh\n", 0o755);
  put("read-only", "x", 0o400);
  put("nothing", "");
  put("block", "x".repeat(512));
  put("large", "x".repeat(700_001));
  mkdirSync(join(root, "empty", "inner"), { recursive: true });
  chmodSync(join(root, "empty", "inner"), 0o700);
  symlinkSync("../a", join(root, "b", "up"));
  symlinkSync("nowhere", join(root, "dangling"));
  linkSync(join(root, "a"), join(root, "second"));
  utimesSync(join(root, "a"), 1_000_000_000, 1_000_000_000);
  const made = await packAll();
  const bytes = readFileSync(archive);
  expect(made).toEqual({
    sha256: createHash("sha256").update(bytes).digest("hex"),
    bytes: bytes.length,
    files: 14,
  });

  await unpack(archive, into, signal, UNPACKED);
  expect(below(into)).toEqual(below(root));
  for (const path of ["a", "b/c", "ä/ö", long, "large", "block", "nothing"]) {
    expect(readFileSync(join(into, path)).equals(readFileSync(join(root, path)))).toBe(true);
  }
  const modes = ["run", "read-only", "empty/inner"].map((path) => statSync(join(into, path)).mode & 0o777);
  expect(modes).toEqual([0o755, 0o400, 0o700]);
  expect([readlinkSync(join(into, "b/up")), readlinkSync(join(into, "dangling"))]).toEqual([
    "../a",
    "nowhere",
  ]);
  expect(statSync(join(into, "a")).mtimeMs).toBe(1_000_000_000_000);
  expect(statSync(join(into, "a")).ino).toBe(statSync(join(into, "second")).ino);
});

test("modes survive, whatever was there: packed again it is the same archive", async () => {
  put("group", "x", 0o664);
  put("full/run.sh", "#!/bin/sh\n", 0o775);
  // What its owner may not read only root can pack.
  const closed = process.geteuid?.() === 0 ? 0o000 : 0o400;
  put("full/nobody", "x", closed);
  mkdirSync(join(root, "empty"));
  for (const [path, mode] of Object.entries({ empty: 0o777, full: 0o570 })) chmodSync(join(root, path), mode);
  symlinkSync("group", join(root, "link"));
  lutimesSync(join(root, "link"), 1_000, 1_000);
  mkdirSync(join(into, "full"), { mode: 0o700 });
  writeFileSync(join(into, "full", "run.sh"), "longer than the new one", { mode: 0o644 });
  writeFileSync(join(into, "link"), "", { mode: 0o600 });
  const first = await packAll();
  expect(await unpack(archive, into, signal, UNPACKED)).toEqual({ files: 5, skipped: [] });
  const modes = ["group", "full/run.sh", "full/nobody", "empty", "full"].map((path) => {
    return (lstatSync(join(into, path)).mode & 0o777).toString(8);
  });
  expect(modes).toEqual(["664", "775", closed.toString(8), "777", "570"]);
  root = into;
  expect(await packAll()).toEqual(first);
});

test("a mode is not set through a link, nor on the directory that all goes into", async () => {
  const script = "echo x >f; chmod 777 . f; tar -cf $0 .; rm f; ln -s other f; tar -rf $0 ./f";
  execFileSync("sh", ["-c", script, archive], { cwd: root });
  writeFileSync(join(into, "other"), "", { mode: 0o600 });
  chmodSync(into, 0o700);
  await unpack(archive, into, signal, UNPACKED);
  expect(readlinkSync(join(into, "f"))).toBe("other");
  expect([into, join(into, "other")].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
});

test("it is zstd, any tar can read it, and it names no owner (decisions/files.md#zstd)", async () => {
  put("a/b");
  await packAll();
  const input = zstdDecompressSync(readFileSync(archive));
  const listed = execFileSync("tar", ["--numeric-owner", "-tvf", "-"], { encoding: "utf8", input });
  expect(listed).toMatch(/^drwxr-xr-x 0\/0 .* a\/\n-rw-r--r-- 0\/0 +3 .* a\/b\n$/);
});

test("the same files make the same archive, in whatever order they were made", async () => {
  const when = 1_700_000_000;
  const digests: string[] = [];
  for (const names of [
    ["a", "b/c", "b.c", "B"],
    ["B", "b.c", "b/c", "a"],
  ]) {
    rmSync(root, { recursive: true });
    for (const name of names) put(name);
    for (const name of names) utimesSync(join(root, name), when, when);
    digests.push((await packAll()).sha256);
  }
  expect(digests[0]).toBe(digests[1]);
});

describe("what is packed is what fits", () => {
  const leaf = (path: string): Found => ({ path, kind: "file" });
  test.each<[string, Partial<Packable>, string[]]>([
    ["globs", { globs: ["b/*.txt", "a"] }, ["a", "b/x.txt"]],
    ["a directory, with all below it", { globs: ["b"] }, ["b/d/", "b/x.txt", "b/y"]],
    ["no way through a link", { globs: ["l/*", "l/**/x.txt", "**/x.txt"] }, ["b/x.txt"]],
    ["a link, as one", { globs: ["l"] }, ["l"]],
    ["nothing above the directory", { globs: ["../*", "../../**"] }, []],
    ["nothing that fits", { globs: ["z"] }, []],
    [
      "files by name, each alone",
      { globs: undefined, files: [leaf("b/y"), leaf("a"), { path: "b/d", kind: "directory" }, leaf("b/y")] },
      ["a", "b/d/", "b/y"],
    ],
  ])("%s", async (_, what, names) => {
    for (const path of ["a", "b/x.txt", "b/y"]) put(path);
    mkdirSync(join(root, "b/d"));
    symlinkSync("b", join(root, "l"));
    writeFileSync(join(dir, "above"), "");
    const { globs, files } = { files: [], ...what } as { globs?: string[]; files: Found[] };
    const made = await pack(
      { root, ...(globs === undefined ? { files } : { globs }) },
      archive,
      signal,
      BOUNDS,
    );
    await unpack(archive, into, signal, UNPACKED);
    expect([made.files, below(into)]).toEqual([names.length, names]);
  });
});

describe("what cannot be packed is said, and no file is left", () => {
  const attempts: [string, () => void, Partial<PackBounds>, string | RegExp][] = [
    [
      "a link out of the directory",
      () => symlinkSync("/etc/passwd", join(root, "l")),
      {},
      '"l" is a link to',
    ],
    ["a name as of a drive", () => put("c:x"), {}, '"c:x" is, or links to'],
    ["a directory as of a drive", () => mkdirSync(join(root, "c:")), {}, '"c:/" is, or links to'],
    ["a name that begins with a backslash", () => put("\\x"), {}, '"\\x" is, or links to'],
    ["a link to such a name", () => symlinkSync("\\x", join(root, "l")), {}, '"l" is, or links to'],
    [
      "a link to no text",
      () => symlinkSync(Buffer.from("\xff", "latin1"), join(root, "l")),
      {},
      "the target of",
    ],
    ["too many", () => ["a", "b", "c"].forEach((one) => void put(one)), { entries: 2 }, "more than 2 files"],
    ["too much", () => put("a", "x".repeat(2_000)), { contents: 1_999 }, "more than 1999 bytes"],
    ["too large an archive", () => put("a"), { bytes: 40 }, "larger than 40 bytes"],
    [
      "a name that is no text",
      () => writeFileSync(Buffer.from(`${root}/\xff`, "latin1"), ""),
      {},
      "not UTF-8",
    ],
  ];
  test.each(attempts)("%s", async (_, make, bounds, words) => {
    make();
    const failed = packAll({ globs: ["**"] }, bounds);
    await expect(failed).rejects.toThrow(words);
    await expect(failed).rejects.toBeInstanceOf(ArchiveFault);
    expect(existsSync(archive)).toBe(false);
  });

  test("a file that a link has taken the place of, or one above it", async () => {
    put("a/b");
    mkdirSync(join(dir, "elsewhere"));
    writeFileSync(join(dir, "elsewhere", "b"), "secret");
    rmSync(join(root, "a"), { recursive: true });
    symlinkSync("../elsewhere", join(root, "a"));
    const failed = pack({ root, files: [{ path: "a/b", kind: "file" }] }, archive, signal, BOUNDS);
    await expect(failed).rejects.toThrow('"a/b" has changed');
  });

  test("a pipe, which nobody writes to, is no file", async () => {
    execFileSync("mkfifo", [join(root, "p")]);
    for (const kind of ["file", "link", "directory"] as const) {
      const failed = pack({ root, files: [{ path: "p", kind }] }, archive, signal, BOUNDS);
      await expect(failed).rejects.toThrow('"p" has changed');
    }
    expect((await packAll()).files).toBe(0);
  });

  test("when it is told to stop it stops, and says why", async () => {
    put("a");
    const stop = new AbortController();
    stop.abort(new Error("enough"));
    await expect(pack({ root, globs: ["**"] }, archive, stop.signal, BOUNDS)).rejects.toThrow("enough");
    expect(existsSync(archive)).toBe(false);
  });
});

describe("an archive is told by its first bytes", () => {
  const plain = () => {
    put("a", "content");
    execFileSync("tar", ["-cf", archive, "-C", root, "a"]);
    return readFileSync(archive);
  };
  test.each<[string, (tar: Buffer) => Buffer]>([
    ["not compressed", (tar) => tar],
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
    [
      "gzip in two parts",
      (tar) => Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]),
    ],
    [
      "zstd in two parts",
      (tar) => Buffer.concat([zstdCompressSync(tar.subarray(0, 700)), zstdCompressSync(tar.subarray(700))]),
    ],
  ])("%s", async (_, packed) => {
    writeFileSync(archive, packed(plain()));
    await unpack(archive, into, signal, UNPACKED);
    expect(readFileSync(join(into, "a"), "utf8")).toBe("content");
  });

  test("one without entries is one", async () => {
    writeFileSync(archive, Buffer.alloc(10_240));
    await unpack(archive, into, signal, UNPACKED);
    expect(readdirSync(into)).toEqual([]);
  });

  test("one that is long and has nothing in it is ended by a signal, and its reason is told", async () => {
    const nothing = zstdCompressSync("");
    writeFileSync(archive, Buffer.concat(Array.from({ length: 100_000 }, () => nothing)));
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error("enough")));
    await expect(unpack(archive, into, stop.signal, UNPACKED)).rejects.toThrow("enough");
  });

  test.each<[string, (tar: Buffer) => Buffer]>([
    ["zstd that is cut", (tar) => zstdCompressSync(tar).subarray(0, 60)],
    [
      "zstd that is broken",
      (tar) => Buffer.concat([zstdCompressSync(tar).subarray(0, 8), Buffer.alloc(90, 7)]),
    ],
    ["nothing", () => Buffer.alloc(0)],
    ["a zero", () => Buffer.alloc(1)],
    ["text", () => Buffer.from("hello, this is not an archive".repeat(100))],
    ["gzip of text", () => gzipSync("hello".repeat(1_000))],
  ])("what is none is said to be: %s", async (_, broken) => {
    writeFileSync(archive, broken(plain()));
    await expect(unpack(archive, into, signal, UNPACKED)).rejects.toBeInstanceOf(ArchiveFault);
    expect(readdirSync(into)).toEqual([]);
  });

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("what unpacks without end is ended, although no entry says so: %s", async (_, compress) => {
    writeFileSync(archive, compress(Buffer.concat([plain(), Buffer.alloc(64 * 1024 ** 2)])));
    const failed = unpack(archive, into, signal, { bytes: 1_000, entries: 10 });
    await expect(failed).rejects.toThrow("more than 1000 bytes");
    expect(readdirSync(into)).toEqual([]);
  });
});
