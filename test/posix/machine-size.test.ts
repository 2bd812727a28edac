import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { machineSize } from "../../posix/machine-size.ts";

// The size of a machine, and of a container: loopback.md#size.

const CACHE = join(import.meta.dirname, "..", "..", ".cache");
const GIB = 2 ** 30;
const WHOLE = { vcpus: 8, memoryBytes: 16 * GIB };

let dir = "";
beforeEach(() => {
  mkdirSync(CACHE, { recursive: true });
  dir = mkdtempSync(join(CACHE, "size-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Writes files as the kernel shows them, for containers that this test does not run in. */
function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
}

const ME = `1\n${process.pid}\n`;
const mount = (type: string, point: string, options = "rw") =>
  `30 23 0:28 / ${join(dir, point)} rw,relatime shared:9 - ${type} ${type} ${options}\n`;

/** A process in the cgroup /a/b of version 2, with the settings of its two cgroups. */
function inVersion2(own: Record<string, string>, above: Record<string, string>): void {
  put({
    mountinfo: mount("cgroup2", "fs"),
    cgroup: "0::/a/b\n",
    "fs/a/b/cgroup.procs": ME,
    "fs/a/cgroup.procs": "",
  });
  for (const [name, text] of Object.entries(own)) put({ [`fs/a/b/${name}`]: text });
  for (const [name, text] of Object.entries(above)) put({ [`fs/a/${name}`]: text });
}

test.each<[what: string, own: Record<string, string>, above: Record<string, string>, size: object]>([
  ["without limits: the whole machine", { "cpu.max": "max 100000\n", "memory.max": "max\n" }, {}, WHOLE],
  [
    "its own limits",
    { "cpu.max": "200000 100000\n", "memory.max": `${GIB}\n` },
    {},
    { vcpus: 2, memoryBytes: GIB },
  ],
  [
    "limits above",
    {},
    { "cpu.max": "300000 100000\n", "memory.max": `${2 * GIB}` },
    { vcpus: 3, memoryBytes: 2 * GIB },
  ],
  [
    "the smaller of both",
    { "memory.max": `${3 * GIB}` },
    { "memory.max": `${2 * GIB}` },
    { memoryBytes: 2 * GIB },
  ],
  [
    "limits that are larger than the machine",
    { "cpu.max": "6400000 100000", "memory.max": `${64 * GIB}` },
    {},
    WHOLE,
  ],
  ["one and a half processors", { "cpu.max": "150000 100000" }, {}, { vcpus: 1 }],
  ["half a processor", { "cpu.max": "50000 100000" }, {}, { vcpus: 1 }],
])("version 2, %s (loopback.md#size)", (_what, own, above, size) => {
  inVersion2(own, above);
  expect(machineSize(dir, WHOLE)).toEqual({ ...WHOLE, ...size });
});

test("version 1 has a hierarchy for each, and -1 for no limit", () => {
  put({
    mountinfo: mount("cgroup", "memory", "rw,memory") + mount("cgroup", "cpu", "rw,cpu"),
    cgroup: "5:memory:/box\n4:cpu:/box\n",
    "memory/box/cgroup.procs": ME,
    "memory/box/memory.limit_in_bytes": `${4 * GIB}\n`,
    "cpu/box/cgroup.procs": ME,
    "cpu/box/cpu.cfs_quota_us": "-1\n",
    "cpu/box/cpu.cfs_period_us": "100000\n",
  });
  expect(machineSize(dir, WHOLE)).toEqual({ vcpus: 8, memoryBytes: 4 * GIB });
});

test("without cgroups it is the whole machine", () => {
  expect(machineSize(dir, WHOLE)).toEqual(WHOLE);
});

test("this machine has at least one processor, and no more than the kernel counts", () => {
  const { vcpus, memoryBytes } = machineSize();
  expect(vcpus).toBeGreaterThanOrEqual(1);
  expect(vcpus).toBeLessThanOrEqual(availableParallelism());
  expect(memoryBytes).toBeGreaterThan(0);
  expect(memoryBytes).toBeLessThanOrEqual(totalmem());
});
