import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { PeakKeeper } from "../../agent/exec/processes/peaks.ts";
import { measure } from "../../agent/exec/processes/usage.ts";
import { readProc } from "../../posix/proc.ts";
import { type Bench, openBench, run, stop } from "./support/bench.ts";

// The most that real processes have used: tasks.md#peaks.

const ID = "build-17/main/1.1";
const MIB = 2 ** 20;
/** `tail` holds its input in memory until a line ends. */
const EATS_64_MIB = "head -c 67108864 /dev/zero | tail -c 67108864 >/dev/null";
const RESOURCES = { vcpus: 1, memoryBytes: 512 * MIB, diskBytes: 0, gpus: 0 };
const hasMemoryGroups = findHierarchies().some(({ limits }) => limits.includes("memory"));
const hasGroups = findHierarchies().some(({ version }) => version === 2);

describe("an agent on this machine", () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench();
  });
  afterEach(async () => {
    const { faults } = bench.plane;
    await bench.close();
    expect(faults).toEqual([]);
  });

  const order = (script: string) =>
    bench.plane.order([run(ID, ["sh", "-c", script], { resources: RESOURCES, env: { DIR: bench.dir } })]);

  test("reports with the end how much memory, processor and disk there was (tasks.md#peaks)", async () => {
    bench.start();
    const busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    order(`${EATS_64_MIB}; ${busy}; head -c 8388608 /dev/zero >file`);
    const { peaks } = await bench.plane.untilState(ID, "exited");
    expect(peaks?.diskBytes).toBeGreaterThanOrEqual(8 * MIB);
    expect(peaks?.diskBytes).toBeLessThan(9 * MIB);
    expect(peaks?.diskIsLeast).toBe(undefined);
    if (hasMemoryGroups) {
      expect(peaks?.memoryBytes).toBeGreaterThan(64 * MIB);
      expect(peaks?.memoryBytes).toBeLessThan(256 * MIB);
      expect(peaks?.cacheBytes).toBeGreaterThanOrEqual(0);
      expect(peaks?.memoryIsSampled).toBe(undefined);
    }
    if (hasGroups) expect(peaks?.cpuMs).toBeGreaterThan(50);
  });

  test("reports no peaks of a command that could not be started", async () => {
    bench.start();
    bench.plane.order([run(ID, ["no-such-command"])]);
    const report = await bench.plane.untilState(ID, "exited");
    expect(report.startError?.code).toBe("command_not_found");
    expect(report.peaks?.memoryBytes).toBe(undefined);
  });

  test("that is killed finds the peaks again, whatever the task did meanwhile (tasks.md#peaks)", async () => {
    const first = bench.start();
    order(`${EATS_64_MIB}; head -c 8388608 /dev/zero >file; echo ready
      while ! [ -e $DIR/go ]; do sleep 0.02; done; exit 6`);
    await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
    const noted = join(bench.stateDir, "attempts", ID.replaceAll("/", "_"), "peaks.json");
    await bench.plane.until("a sample", () => existsSync(noted) && readFileSync(noted, "utf8") !== "");
    first.child.kill("SIGKILL");
    await first.ended;
    writeFileSync(join(bench.dir, "go"), "");
    bench.start();
    const { peaks, exit } = await bench.plane.untilState(ID, "exited");
    expect(exit?.code).toBe(6);
    expect(peaks?.diskBytes).toBeGreaterThanOrEqual(8 * MIB);
    if (hasMemoryGroups) expect(peaks?.memoryBytes).toBeGreaterThan(64 * MIB);
    if (hasGroups) expect(peaks?.cpuMs).toBeGreaterThan(0);
  });

  test("knows the peaks of a task that it had to kill", async () => {
    bench.start();
    order(
      `head -c 8388608 /dev/zero >file; ${EATS_64_MIB}; trap "" TERM; echo ready; sleep 300 & wait; wait`,
    );
    await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
    bench.plane.order([stop(ID, { timeoutMs: 50 })]);
    const { peaks } = await bench.plane.untilState(ID, "exited");
    expect(peaks?.diskBytes).toBeGreaterThanOrEqual(8 * MIB);
    if (hasMemoryGroups) expect(peaks?.memoryBytes).toBeGreaterThan(64 * MIB);
  });
});

describe("a keeper without cgroups", () => {
  const CACHE = join(import.meta.dirname, "..", "..", ".cache");
  let dir = "";
  beforeEach(() => {
    mkdirSync(CACHE, { recursive: true });
    dir = mkdtempSync(join(CACHE, "peaks-"));
    mkdirSync(join(dir, "local"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  let clock = 1_000;
  const keeper = () =>
    new PeakKeeper({
      store: {
        dirsOf: () => ({ root: dir, stdout: "", stderr: "", stamps: "", exit: "", container: "" }),
      },
      allocs: {
        of: () => ({ local: join(dir, "local"), tmp: "", alloc: "", secrets: "", private: "" }),
      },
      now: () => clock,
    });

  test("keeps the greatest sample, and the next start of the agent goes on with it", async () => {
    const first = keeper();
    first.began(ID);
    clock += 1_000;
    await first.sampled({ [ID]: { cpuMs: 500, memoryBytes: 9 * MIB, pids: 3 } });
    const second = keeper();
    clock += 1_000;
    await second.sampled({ [ID]: { cpuMs: 1_300, memoryBytes: 4 * MIB, pids: 1 } });
    writeFileSync(join(dir, "local", "file"), Buffer.alloc(MIB, 7));
    const peaks = await second.end(ID);
    expect(peaks).toMatchObject({
      memoryBytes: 9 * MIB,
      memoryIsSampled: true,
      cpuMs: 1_300,
      cpus: 0.8,
    });
    expect(peaks?.diskBytes).toBeGreaterThanOrEqual(MIB);
  });

  test("files that are deleted before the end count, of each of many attempts (tasks.md#peaks)", async () => {
    const ids = ["a/main/1.1", "b/main/1.1", "c/main/1.1"];
    const sample = { cpuMs: 0, memoryBytes: MIB, pids: 1 };
    const one = keeper();
    for (const id of ids) one.began(id);
    const file = join(dir, "local", "file");
    writeFileSync(file, Buffer.alloc(4 * MIB, 7));
    await one.sampled(Object.fromEntries(ids.map((id) => [id, sample])));
    rmSync(file);
    for (const id of ids) expect((await one.end(id))?.diskBytes).toBeGreaterThanOrEqual(4 * MIB);
  });

  test("a file that is no record of peaks is as good as none", async () => {
    writeFileSync(join(dir, "peaks.json"), '{"peaks": {"memo');
    const peaks = await keeper().end(ID);
    expect(Object.keys(peaks ?? {})).toEqual(["diskBytes"]);
  });

  test("the most that one process had counts, though no sample was taken then", () => {
    // This process stands for the task, and its parent for the shim.
    const sample = measure(new Map([[ID, { group: undefined, shim: readProc(process.ppid) }]]))[ID];
    expect(sample?.peakIsSampled).toBe(true);
    expect(sample?.peakBytes).toBeGreaterThan(MIB);
  });
});
