import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { diskUse } from "../../agent/exec/processes/disk-use.ts";

// How the files of a task are counted: tasks.md#peaks.

const MIB = 2 ** 20;
const CACHE = join(import.meta.dirname, "..", "..", ".cache");
let dir = "";
beforeEach(() => {
  mkdirSync(CACHE, { recursive: true });
  dir = mkdtempSync(join(CACHE, "disk-"));
  mkdirSync(join(dir, "task"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const inTask = (...names: string[]) => join(dir, "task", ...names);
const write = (path: string | Buffer, bytes: number) => writeFileSync(path, Buffer.alloc(bytes, 7));

test("files at all depths count, and names that are not UTF-8 (tasks.md#peaks)", async () => {
  mkdirSync(inTask("a", "b"), { recursive: true });
  write(inTask("a", "b", "deep"), 2 * MIB);
  write(Buffer.concat([Buffer.from(`${inTask()}/`), Buffer.from([0xff, 0x41])]), MIB);
  const { bytes, isLeast } = await diskUse([inTask()]);
  expect(bytes).toBeGreaterThanOrEqual(3 * MIB);
  expect(bytes).toBeLessThan(3.5 * MIB);
  expect(isLeast).toBe(false);
});

test("a file with two names counts once, and what a link points to does not count", async () => {
  write(inTask("one"), MIB);
  linkSync(inTask("one"), inTask("two"));
  write(join(dir, "outside"), 4 * MIB);
  mkdirSync(join(dir, "others"));
  write(join(dir, "others", "file"), 4 * MIB);
  symlinkSync(join(dir, "outside"), inTask("link"));
  symlinkSync(join(dir, "others"), inTask("folder"));
  const { bytes } = await diskUse([inTask(), join(dir, "task", "folder")]);
  expect(bytes).toBeGreaterThanOrEqual(MIB);
  expect(bytes).toBeLessThan(2 * MIB);
});

test.each([
  [9, true],
  [10, false],
])("of ten files at most %i are counted: the answer is a lower bound: %s", async (most, isLeast) => {
  for (let n = 0; n < 10; n += 1) write(inTask(`file-${n}`), MIB / 8);
  const all = (await diskUse([inTask()])).bytes;
  const some = await diskUse([inTask()], most);
  expect(some.isLeast).toBe(isLeast);
  expect(some.bytes === all).toBe(!isLeast);
});

test("a directory that is not there takes nothing", async () => {
  expect(await diskUse([inTask("missing")])).toEqual({ bytes: 0, isLeast: false });
});
