import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pax } from "tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Modes } from "../../archive/modes.ts";
import { pack } from "../../archive/pack.ts";
import { Placer } from "../../archive/placer.ts";
import { TarReader } from "../../archive/tar/reader.ts";
import { unpack } from "../../archive/unpack.ts";
import { END, entry } from "./support/tar.ts";

// How entries become files, on systems that name open directories (`/proc/self/fd`), and on others.

let dir: string;
let into: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-placer-"));
  into = join(dir, "into");
  mkdirSync(into);
  writeFileSync(join(dir, "secret"), "");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const signal = AbortSignal.timeout(60_000);
const BOUNDS = { bytes: 1024 ** 2, entries: 1_000 };
const file = (path: string, content = "x") => entry({ path, content });
const folder = (path: string) => entry({ path, type: "Directory", mode: 0o755 });
const link = (path: string, linkpath: string) => entry({ path, linkpath, type: "SymbolicLink" });
const name = (path: string, linkpath: string) => entry({ path, linkpath, type: "Link" });

describe.each([
  ["with names of open directories", true],
  ["without", false],
])("%s", (_, hasDescriptors) => {
  function place(entries: Buffer[], links: string[] = []): void {
    const placer = new Placer(into, new Modes(into, 0o022), new Set(links), () => true, hasDescriptors);
    try {
      new TarReader(placer).write(Buffer.concat([...entries, END]));
    } finally {
      placer.close();
    }
  }
  const outside = () => [readdirSync(dir).sort(), statSync(join(dir, "secret")).nlink];
  const UNTOUCHED = [["into", "secret"], 1];

  test("an error names the file that is in the way, and not how it was opened", () => {
    const entries = [file("t"), file("full/x"), name("full", "t")];
    expect(() => place(entries)).toThrow(new RegExp(`directory not empty, .*'${into}/full'$`));
  });

  test("missing directories are created, and others are used", () => {
    mkdirSync(join(into, "there"));
    place([file("a/b/c"), file("there/x"), file("a/b/d"), folder("e/f/")]);
    expect([readdirSync(join(into, "a/b")), readdirSync(join(into, "there"))]).toEqual([["c", "d"], ["x"]]);
    expect(statSync(join(into, "e/f")).isDirectory()).toBe(true);
  });

  test.each<[string, Buffer[]]>([
    ["a file", [file("left/secret")]],
    ["a file, after others", [file("a/b"), file("left/a/secret")]],
    ["a directory", [folder("left/new/")]],
    ["a directory, in place of the link itself", [folder("left/")]],
    ["a link", [link("left/x", "y")]],
    ["a second name", [file("y"), name("left/x", "y")]],
    ["a second name of what is behind it", [name("x", "left/secret")]],
    ["a link to what is behind it", [link("x", "left/secret")]],
    ["a link to it", [link("x", "left")]],
    ["a file that goes up", [file("a/../../secret")]],
  ])("nothing goes through a link that was there: %s", (_what, entries) => {
    symlinkSync("..", join(into, "left"));
    expect(() => place(entries)).toThrow();
    expect(readlinkSync(join(into, "left"))).toBe("..");
    expect(existsSync(join(into, "x"))).toBe(false);
    expect(outside()).toEqual(UNTOUCHED);
  });

  test.each([
    ["at once", [folder("d/"), link("d", "../"), file("d/secret")]],
    [
      "after a file in the directory's neighbor",
      [folder("d/"), file("x"), link("d", ".."), file("d/secret")],
    ],
  ])("a directory that became a link is not used: %s", (_what, entries) => {
    expect(() => place(entries, ["d"])).toThrow('"d" is not a directory');
    expect(lstatSync(join(into, "d")).isSymbolicLink()).toBe(true);
    expect(outside()).toEqual(UNTOUCHED);
  });

  test("what is in the way of a file is replaced, except a directory with entries", () => {
    symlinkSync("../secret", join(into, "link"));
    mkdirSync(join(into, "empty"));
    writeFileSync(join(into, "old"), "longer than the new one");
    const { ino } = statSync(join(into, "old"));
    place([file("link", "1"), file("empty", "2"), file("old", "3")]);
    const contents = ["link", "empty", "old"].map((one) => readFileSync(join(into, one), "utf8"));
    expect(contents).toEqual(["1", "2", "3"]);
    expect([lstatSync(join(into, "link")).isFile(), statSync(join(into, "old")).ino]).toEqual([true, ino]);
    expect(readFileSync(join(dir, "secret"), "utf8")).toBe("");
    mkdirSync(join(into, "full/x"), { recursive: true });
    expect(() => place([file("full")])).toThrow("ENOTEMPTY");
  });

  test("a file with a second name elsewhere is replaced, and not written into", () => {
    place([file("a", "first"), name("b", "a"), file("b", "second")]);
    expect([readFileSync(join(into, "a"), "utf8"), readFileSync(join(into, "b"), "utf8")]).toEqual([
      "first",
      "second",
    ]);
  });

  test.each<[string, Buffer[]]>([
    ["itself", [file("a"), name("a", "./a")]],
    ["a directory", [folder("d/"), name("a", "d")]],
    ["a link", [link("l", "x"), name("a", "l")]],
    ["nothing", [name("a", "none")]],
  ])("a second name of %s is refused", (_what, entries) => {
    expect(() => place(entries, ["l"])).toThrow();
  });

  test("an error names the real path", () => {
    writeFileSync(join(into, "f"), "");
    expect(() => place([file("f/x")])).toThrow('"f" is not a directory');
    const long = "é".repeat(200);
    const entries = [new Pax({ path: long }).encode(), file("short")];
    expect(() => place(entries)).toThrow(`ENAMETOOLONG: name too long, open '${into}/${long}'`);
  });
});

test("S8: links to links are packed and unpacked, also where the same was unpacked before", async () => {
  const root = join(dir, "root");
  mkdirSync(join(root, "releases/5/bin"), { recursive: true });
  writeFileSync(join(root, "releases/5/bin/x"), "x");
  for (const [path, target] of [
    ["current", "releases/5"],
    ["bin", "current/bin"],
    ["z", "current/bin/x"],
    ["a", "z"],
  ] as const) {
    symlinkSync(target, join(root, path));
  }
  const archive = join(dir, "archive");
  const bounds = { bytes: 2 ** 20, contents: 2 ** 20, entries: 100 };
  const first = await pack({ root, globs: ["**"] }, archive, signal, bounds);
  await unpack(archive, into, signal, BOUNDS);
  await unpack(archive, into, signal, BOUNDS);
  for (const path of ["bin/x", "z", "a"]) expect(readFileSync(join(into, path), "utf8")).toBe("x");
  expect((await pack({ root: into, globs: ["**"] }, archive, signal, bounds)).sha256).toBe(first.sha256);
});

test("a deep path is opened once for each directory on it, and all descriptors are closed", async () => {
  const open = () => readdirSync("/proc/self/fd").length;
  const deep = `${"d/".repeat(1_000)}x`;
  writeFileSync(join(dir, "a.tar"), Buffer.concat([file("a"), END]));
  await unpack(join(dir, "a.tar"), into, signal, BOUNDS);
  const before = open();
  const placer = new Placer(into, new Modes(into, 0o022), new Set(), () => true);
  placer.begin({ path: deep, type: "File", size: 0 });
  placer.end();
  expect(open() - before).toBe(3);
  placer.close();
  expect(open()).toBe(before);
});
