import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Pax } from "tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ArchiveFault } from "../../archive/faults.ts";
import { unpack } from "../../archive/unpack.ts";
import { END, entry } from "./support/tar.ts";

// Archives that no packer makes, header by header. What is said of one entry alone is in
// test/archive/entries.test.ts, what becomes of the task in test/agent/artifacts.test.ts.

let dir: string;
let into: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-archives-"));
  into = join(dir, "into");
  mkdirSync(into);
  writeFileSync(join(dir, "secret"), "");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const BOUNDS = { bytes: 1024 ** 3, entries: 1_000 };

const file = (path: string, content = "x") => entry({ path, content });
const link = (path: string, linkpath: string) => entry({ path, linkpath, type: "SymbolicLink" });
const name = (path: string, linkpath: string) => entry({ path, linkpath, type: "Link" });
const special = (type: "CharacterDevice" | "BlockDevice" | "FIFO") => entry({ path: "x", type });
const long = (path: string) => Buffer.concat([new Pax({ path }).encode(), file("short")]);

async function faultOf(archive: Buffer): Promise<string | undefined> {
  const path = join(dir, "a.tar");
  writeFileSync(path, archive);
  const signal = AbortSignal.timeout(30_000);
  const error: unknown = await unpack(path, into, signal, BOUNDS).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error !== undefined && !(error instanceof ArchiveFault)) throw error;
  return error?.message;
}

/** What lies beside the folder that it was unpacked into, and whether it has a second name. */
const outside = () => [readdirSync(dir).sort(), statSync(join(dir, "secret")).nlink];

describe("what may leave its directory leaves nothing behind, inside neither", () => {
  test.each<[string, Buffer[], string]>([
    ["a second name of what lies above", [name("x", "../secret")], "out of its directory"],
    ["a second name of an absolute file", [name("x", "/etc/passwd")], "out of its directory"],
    ["a file above", [file("../x")], "leads out"],
    ["a file above, in a name of 300 bytes", [long(`${"a/".repeat(150)}${"../".repeat(151)}x`)], "leads out"],
    ["a device of characters", [special("CharacterDevice")], "neither a file"],
    ["a device of blocks", [special("BlockDevice")], "neither a file"],
    ["a pipe", [special("FIFO")], "neither a file"],
  ])("%s", async (_, entries, words) => {
    expect(await faultOf(Buffer.concat([file("first"), ...entries, END]))).toContain(words);
    expect(readdirSync(into)).toEqual([]);
    expect(outside()).toEqual([["a.tar", "into", "secret"], 1]);
  });
});

describe("what goes through a link is not unpacked", () => {
  test.each<[string, Buffer[]]>([
    ["a file below a link of the archive", [link("x", "real"), file("real/a"), file("x/secret")]],
    ["a file below a link that was there", [file("left/secret")]],
    ["a second name, by a link that was there", [name("x", "left/secret")]],
    ["a link below a link that was there", [link("left/x", "y")]],
  ])("%s", async (_, entries) => {
    symlinkSync("..", join(into, "left"));
    await faultOf(Buffer.concat([...entries, END]));
    expect(existsSync(join(into, "real", "secret"))).toBe(false);
    expect(outside()).toEqual([["a.tar", "into", "secret"], 1]);
  });
});

describe("what is broken is said to be", () => {
  test.each<[string, Buffer]>([
    [
      "one that is cut within a file",
      Buffer.concat([file("a"), file("b", "x".repeat(5_000))]).subarray(0, 2_000),
    ],
    ["one that is cut within gzip", gzipSync(Buffer.concat([file("a"), END])).subarray(0, 60)],
    ["a file that says to be larger than it is", Buffer.concat([entry({ path: "a", size: 2 ** 33 }), END])],
    ["a header whose sum is wrong", Buffer.concat([file("a").fill("y", 0, 1), END])],
    ["a name that no disk takes", Buffer.concat([long("x".repeat(300)), END])],
    ["a file below a file", Buffer.concat([file("a"), file("a/b"), END])],
  ])("%s", async (_, archive) => {
    expect(await faultOf(archive)).toMatch(/\S/);
    expect(outside()).toEqual([["a.tar", "into", "secret"], 1]);
  });
});

test("odd names are names", async () => {
  const names = ["two\nlines", "-rf", "*", " ", "\u0001", "é"];
  expect(await faultOf(Buffer.concat([...names.map((one) => file(one)), END]))).toBeUndefined();
  expect(readdirSync(into).sort()).toEqual([...names].sort());
});

test("nobody gets another's rights by an archive: setuid, setgid, owners", async () => {
  const mode = 0o6755;
  const folder = entry({ path: "d/", type: "Directory", mode: 0o7777, uid: 1, gid: 1 });
  expect(
    await faultOf(Buffer.concat([folder, entry({ path: "x", mode, uid: 1, gid: 1 }), END])),
  ).toBeUndefined();
  for (const path of ["d", "x"]) {
    const { mode: got, uid } = statSync(join(into, path));
    expect([got & 0o7000, uid]).toEqual([0, process.getuid?.()]);
  }
});
