import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isInternal, openWorkerLog } from "../../local/runtime/worker-log.ts";
import { scratchDir } from "./support/scratch.ts";
import { mountDisk, NO_MOUNT } from "./support/small-disk.ts";

test("P4: lines that the disk does not take are counted, and end nothing", (context) => {
  const dir = join(scratchDir(), "disk");
  const disk = mountDisk(dir, "size=64k");
  if (disk === undefined) return context.skip(NO_MOUNT);
  onTestFinished(disk.unmount);
  const path = join(dir, "worker.log");
  const log = openWorkerLog(path);
  onTestFinished(log.close);
  log.write("info", "first");
  disk.fill();
  // The page of the file that is there has room for more: this line needs another.
  for (let n = 0; n < 3; n += 1) log.write("error", "x".repeat(8_000));
  disk.free();
  log.write("info", "last");
  const text = readFileSync(path, "utf8");
  expect(text).toMatch(/info first\n/);
  expect(text).toMatch(/[12345] lines that could not be written are missing here\.\n.* info last\n$/);
});

test("P4: a log that cannot be opened is opened as soon as it can be", () => {
  const dir = join(scratchDir(), "later");
  const log = openWorkerLog(join(dir, "worker.log"));
  onTestFinished(log.close);
  log.write("info", "nobody reads this");
  mkdirSync(dir);
  log.write("info", "this is read");
  const text = readFileSync(join(dir, "worker.log"), "utf8");
  expect(text).toMatch(/^2 lines that could not be written are missing here\.\n.* info this is read\n$/);
});

test("P4: a log holds 16 MiB of bytes, whatever the letters are", () => {
  const path = join(scratchDir(), "worker.log");
  const log = openWorkerLog(path);
  onTestFinished(log.close);
  for (let mib = 0; mib < 20; mib += 1) log.write("info", "é".repeat(512 * 1_024));
  const { size } = statSync(path);
  expect(size).toBeLessThanOrEqual(16 * 1_024 * 1_024);
  expect(size).toBeGreaterThan(15 * 1_024 * 1_024);
});

test.each([
  ["e = rust/worker/ffi.rs:110: failed: look-up\nstack: a@1; sentryErrorContext = jsgInternalError", true],
  ["Uncaught Error: e = 3", false],
  ["disk I/O error", false],
])("P9: a line of workerd's insides stays in the log: %s", (text, internal) => {
  expect(isInternal(text)).toBe(internal);
});
