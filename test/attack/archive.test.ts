import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { UNPACK_BOUNDS } from "../../archive/bounds.ts";
import { isOwnName } from "../../archive/own-paths.ts";
import { ALL_BUT_OWN, resultOf } from "../../archive/result.ts";
import { unpack } from "../../archive/unpack.ts";

// An archive of somebody else's may have names as long as it likes.

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-archive-"));
  mkdirSync(join(dir, "into"));
  writeFileSync(join(dir, "x"), "");
});
afterEach(() => rmSync(dir, { recursive: true }));

const signal = AbortSignal.timeout(60_000);
const LONG = 100_000;

test.each<[string, string]>([
  ["many dots at its end, but for one letter", `${".".repeat(LONG)}x`],
  ["many directories", "a/".repeat(LONG / 2)],
  ["many letters", "a".repeat(LONG)],
])("X14: a path with %s is refused before anything is compared with it", async (_, path) => {
  const archive = join(dir, "archive.tar");
  const options = [`--transform=s,x,${path},`, "-P", "-C", dir, "-cf", archive];
  execFileSync("tar", [...options, "x"]);
  for (const filter of [ALL_BUT_OWN, resultOf(["*a*a*a*a*b", "**/x"])]) {
    const unpacked = unpack(archive, join(dir, "into"), signal, UNPACK_BOUNDS, { filter });
    await expect(unpacked).rejects.toThrow("longer than any file system allows");
  }
  expect(readdirSync(join(dir, "into"))).toEqual([]);
});

test.each(["\u0301\u0323".repeat(500_000), `${" .".repeat(500_000)}x`])(
  "X14: a name without end is not that of a repository, and nobody looks for long",
  (name) => {
    expect(isOwnName(`.git${name}`)).toBe(false);
  },
);
