import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replaceFile, writeAtomically } from "../../disk/atomic.ts";
import { readIfThere } from "../../posix/files.ts";
import { scratchDir } from "../local/support/scratch.ts";

describe.each([
  ["replaceFile", replaceFile],
  ["writeAtomically", writeAtomically],
])("%s", (_, write) => {
  it("writes a file for its owner alone, and leaves nothing else", () => {
    const dir = scratchDir();
    for (const text of ["one", "other"]) write(join(dir, "file"), text);
    expect(readdirSync(dir)).toEqual(["file"]);
    expect(readFileSync(join(dir, "file"), "utf8")).toBe("other");
    expect(statSync(join(dir, "file")).mode & 0o777).toBe(0o600);
  });

  it("takes the place of a draft that a crash has left, and follows no link", () => {
    const dir = scratchDir();
    writeFileSync(join(dir, "elsewhere"), "untouched");
    symlinkSync(join(dir, "elsewhere"), join(dir, "file.new"));
    write(join(dir, "file"), "text");
    expect(readFileSync(join(dir, "elsewhere"), "utf8")).toBe("untouched");
    expect(readdirSync(dir).sort()).toEqual(["elsewhere", "file"]);
  });

  it("leaves the old text, and no draft, where the new one cannot take its place", () => {
    const dir = scratchDir();
    mkdirSync(join(dir, "file"));
    expect(() => write(join(dir, "file"), "text")).toThrow();
    expect(existsSync(join(dir, "file.new"))).toBe(false);
  });
});

it("reads a file that is not there as nothing, and throws what else is wrong", () => {
  const dir = scratchDir();
  expect(readIfThere(join(dir, "none"))).toBeUndefined();
  expect(() => readIfThere(dir)).toThrow(/EISDIR/);
});
