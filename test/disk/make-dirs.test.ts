import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeDirs } from "../../disk/make-dirs.ts";

let dir: string;
beforeEach(() => {
  const cache = join(import.meta.dirname, "../../.cache");
  mkdirSync(cache, { recursive: true });
  dir = mkdtempSync(join(cache, "dirs-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("directories are made with those above them, and may be there", () => {
  for (const _ of [1, 2]) makeDirs(join(dir, "a/b/../b/c"), 0o700);
  expect(statSync(join(dir, "a/b/c")).mode & 0o777).toBe(0o700);
  symlinkSync(join(dir, "a"), join(dir, "link"));
  makeDirs(join(dir, "link/d"));
  expect(statSync(join(dir, "a/d")).isDirectory()).toBe(true);
});

const REFUSED: [string, string, RegExp][] = [
  ["a file system that takes no directories", "/proc/x/y", /ENOENT/],
  ["its own directory of a process", "/proc/self/x", /ENOENT/],
  ["a device", "/dev/null/x", /EEXIST/],
  ["a name that is too long", `${"x".repeat(300)}/y`, /ENAMETOOLONG/],
  ["a file in the way", "file/x", /EEXIST/],
  ["a file of that name", "file", /EEXIST/],
  ["a link to nothing", "dangling", /EEXIST/],
  ["a loop of links", "loop/x", /EEXIST|ELOOP/],
];

test.each(REFUSED)("P37: %s is refused at once", (_, path, error) => {
  writeFileSync(join(dir, "file"), "");
  symlinkSync("nowhere", join(dir, "dangling"));
  symlinkSync("loop", join(dir, "loop"));
  expect(() => makeDirs(path.startsWith("/") ? path : join(dir, path))).toThrow(error);
});

test("P37: drover up says that such a directory cannot be made", () => {
  const command = join(import.meta.dirname, "../local/support/run-up.ts");
  const run = () =>
    execFileSync(process.execPath, [command, "/proc/drover"], { encoding: "utf8", timeout: 60_000 });
  expect(run).toThrow(
    /drover: The state directory \/proc\/drover cannot be created or written: .*ENOENT.*--state/,
  );
});
