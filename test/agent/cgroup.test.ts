import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Groups, MAX_ATTEMPT_PIDS } from "../../agent/exec/processes/groups.ts";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { startAlone } from "../../agent/exec/shims/shim.ts";
import { entrancesOf, membersOf } from "../../posix/cgroup.ts";
import { killTree } from "../../posix/kill.ts";
import { readProc } from "../../posix/proc.ts";
import { PROTOCOL } from "../../src/shared/compat.ts";
import { type Bench, openBench, run, stop } from "./support/bench.ts";

const ID = "build-17/main/1.1";
const MIB = 1_024 * 1_024;
const RESOURCES = { vcpus: 1, memoryBytes: 256 * MIB, diskBytes: 0, gpus: 0 };
const hierarchies = findHierarchies();
const hasGroups = hierarchies.length > 0;
const can = (control: "memory" | "pids" | "cpu") =>
  hierarchies.some(({ limits }) => limits.includes(control));

describe("an agent on this machine", () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench();
    bench.start();
  });
  afterEach(async () => {
    const { faults } = bench.plane;
    await bench.close();
    expect(faults).toEqual([]);
  });

  const groupOf = (id: string) => {
    const file = join(bench.stateDir, "groups", `${id.replaceAll("/", "_")}.json`);
    return existsSync(file)
      ? (JSON.parse(readFileSync(file, "utf8")) as { folders: { path: string }[] })
      : null;
  };
  /** A setting of the attempt's cgroup, whichever hierarchy has it. */
  const setting = (name: string) =>
    groupOf(ID)
      ?.folders.map(({ path }) => join(path, name))
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file, "utf8").trim())
      .at(0);
  const pidIn = (name: string) => Number(readFileSync(join(bench.dir, name), "utf8"));

  async function runScript(script: string, more: Parameters<typeof run>[2] = {}) {
    bench.plane.order([run(ID, ["sh", "-c", script], { env: { DIR: bench.dir }, ...more })]);
    await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
  }

  test("reports what it can promise, and that is what this machine has", async () => {
    const report = await bench.plane.until("a report", () => bench.plane.reports.at(-1));
    expect(report.means?.kill).toBe(hasGroups ? "cgroup" : "processes");
    expect(report.means?.limits).toEqual((["cpu", "memory", "pids"] as const).filter(can));
    expect(report.means?.protocol).toBe(PROTOCOL);
  });

  // tasks.md#prepare-15; cases.md#case-12
  test("a task that forks twice and leaves its session and environment is gone, with proof", async () => {
    // Waited for until nothing but a cgroup connects them: no parent, no session, no marker. It names itself
    // last, since `setsid` may have to fork.
    const far = 'exec env -i setsid sh -c "echo \\$\\$ >$DIR/far; while :; do sleep 0.1; done"';
    await runScript(`(setsid sh -c '(setsid sh -c '"'"'${far}'"'"' &)' &)
      while ! [ -s $DIR/far ]; do sleep 0.01; done
      sleep 0.2; echo ready; exec sleep 300`);
    const pid = pidIn("far");
    const members = groupOf(ID);
    bench.plane.order([stop(ID, { timeoutMs: 100 })]);
    const attempt = await bench.plane.untilState(ID, "exited");
    if (!hasGroups) {
      // Nobody is left to find it but this test.
      if (readProc(pid)?.ended === false) process.kill(pid, "SIGKILL");
      expect(attempt.kill?.by).toBe("processes");
      return;
    }
    expect(attempt.kill).toMatchObject({ by: "cgroup", treeGone: true, error: null });
    expect(readProc(pid)?.ended ?? true).toBe(true);
    expect(members?.folders.some(({ path }) => existsSync(path))).toBe(false);
    expect(groupOf(ID)).toBeNull();
  });

  // tasks.md#memory-1
  test("its limits are those of the task's resources (host-protocol.md#limits)", async () => {
    await runScript("echo ready; exec sleep 300", { resources: { ...RESOURCES, vcpus: 2 } });
    if (can("memory")) {
      expect(setting("memory.limit_in_bytes") ?? setting("memory.max")).toBe(String(256 * MIB));
    }
    if (can("pids")) expect(setting("pids.max")).toBe(String(MAX_ATTEMPT_PIDS));
    if (can("cpu"))
      expect([setting("cpu.shares"), setting("cpu.weight")]).toContain(
        setting("cpu.weight") ? "200" : "2048",
      );
    const { means } = bench.plane.reports.at(-1) ?? {};
    expect(means?.limits).toEqual((["cpu", "memory", "pids"] as const).filter(can));
  });

  test.runIf(can("cpu"))("half a vCPU is half the share of one (host-protocol.md#limits)", async () => {
    await runScript("echo ready; exec sleep 300", { resources: { ...RESOURCES, vcpus: 0.5 } });
    expect([setting("cpu.shares"), setting("cpu.weight")]).toContain(setting("cpu.weight") ? "50" : "512");
  });

  test("S2, O2: without vCPUs it has the share of any other process", async () => {
    await runScript("echo ready; exec sleep 300", { resources: { ...RESOURCES, vcpus: 0 } });
    const { means } = await bench.plane.until("a report", () => bench.plane.reports.at(-1));
    expect(means?.limits.includes("cpu")).toBe(can("cpu"));
    if (!can("cpu")) return;
    expect([setting("cpu.shares"), setting("cpu.weight")]).toContain(setting("cpu.weight") ? "100" : "1024");
  });

  test("S1: what it did not ask for is no limit of its memory", async () => {
    const eats = "head -c 100000000 /dev/zero | tail -c 100000000 | wc -c";
    const resources = { ...RESOURCES, memoryBytes: 32 * MIB };
    bench.plane.order([run(ID, ["sh", "-c", eats], { resources, memoryLimitBytes: 0 })]);
    const { exit } = await bench.plane.untilState(ID, "exited");
    expect(exit).toMatchObject({ code: 0, oomKilled: false });
  });

  test("a task that eats memory is ended and said to be out of it; the machine goes on", async () => {
    const report = await bench.plane.until("a report", () => bench.plane.reports.at(-1));
    if (!can("memory")) {
      expect(report.means?.limits).not.toContain("memory");
      return;
    }
    bench.plane.order([
      run(ID, ["tail", "/dev/zero"], { resources: { ...RESOURCES, memoryBytes: 32 * MIB } }),
    ]);
    const { exit } = await bench.plane.untilState(ID, "exited");
    expect(exit).toMatchObject({ code: null, signal: "SIGKILL", oomKilled: true });
    expect(exit?.message).toContain("memory");
    bench.plane.order([run("next/main/1.1", ["sh", "-c", "exit 4"])]);
    const next = await bench.plane.untilState("next/main/1.1", "exited");
    expect(next.exit).toMatchObject({ code: 4, oomKilled: false });
  });

  test.runIf(can("memory"))("a command that ends well is not out of memory, whatever of it was", async () => {
    const argv = ["sh", "-c", "tail /dev/zero; exit 0"];
    bench.plane.order([run(ID, argv, { resources: { ...RESOURCES, memoryBytes: 32 * MIB } })]);
    expect((await bench.plane.untilState(ID, "exited")).exit).toMatchObject({ code: 0, oomKilled: false });
  });

  test("an agent that is killed finds the cgroups again, and ends what is only in there", async () => {
    await bench.close();
    bench = await openBench();
    const first = bench.start();
    const far = 'exec env -i setsid sh -c "echo \\$\\$ >$DIR/far; exec sleep 300"';
    await runScript(`(setsid sh -c '${far}' &)
      while ! [ -s $DIR/far ]; do sleep 0.01; done
      sleep 0.2; echo ready; while ! [ -e $DIR/go ]; do sleep 0.02; done; exit 6`);
    first.child.kill("SIGKILL");
    await first.ended;
    bench.start();
    await bench.plane.until("it has joined", () => bench.plane.incarnation === 2);
    bench.plane.order([stop(ID, { signal: "SIGKILL", timeoutMs: 0 })]);
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt.kill?.by).toBe(hasGroups ? "cgroup" : "processes");
    if (hasGroups) expect(readProc(pidIn("far"))?.ended ?? true).toBe(true);
    else process.kill(pidIn("far"), "SIGKILL");
  });
});

describe.runIf(can("pids"))("a task that forks as fast as it can, below a limit of pids", () => {
  const CACHE = join(import.meta.dirname, "..", "..", ".cache");
  const PIDS = 64;
  let dir = "";
  beforeAll(() => {
    mkdirSync(CACHE, { recursive: true });
    dir = mkdtempSync(join(CACHE, "groups-"));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  // Without `cgroup.kill` the group is held still and killed one by one; the older means must work, too.
  test.each(["all means", "version 1 alone"])("is gone, with proof, by %s", async (means) => {
    const usable = hierarchies.filter(({ version }) => means === "all means" || version === 1);
    const groups = new Groups(dir, usable, PIDS);
    const group = groups.make(ID, RESOURCES);
    if (group === undefined) throw new Error("there is no cgroup");
    const files = { stdout: join(dir, "out"), stderr: join(dir, "err"), exit: join(dir, "exit") };
    // A shell that cannot fork gives up; what it has started stays, so the limit stays reached.
    const bomb = "f() { sleep 300 & f & f & wait; }; f 2>/dev/null";
    const argv = ["sh", "-c", bomb];
    const { shim, ended } = await startAlone({ argv, entrances: entrancesOf(group), dir, env: {}, files });
    await expect.poll(() => membersOf(group).length).toBeGreaterThan(PIDS / 2);
    expect(membersOf(group).length).toBeLessThanOrEqual(PIDS);
    const outcome = await killTree({ isMarked: () => false, shim }, group, 20_000, () => performance.now());
    expect(outcome).toMatchObject({ empty: true, killed: true });
    await ended;
    expect(group.folders.some(({ path }) => existsSync(path))).toBe(false);
    groups.forget(ID);
    rmSync(files.exit);
  });
});

test("a machine without cgroups has the means that are left, and says so", () => {
  const dir = mkdtempSync(join(import.meta.dirname, "..", "..", ".cache", "groups-"));
  const groups = new Groups(dir, []);
  expect(groups.means).toEqual({ kill: "processes", limits: [] });
  expect(groups.make(ID, RESOURCES)).toBeUndefined();
  rmSync(dir, { recursive: true });
});
