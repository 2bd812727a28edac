import { rmSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import {
  drover,
  endDrover,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import { until } from "./support/scratch.ts";

// The size of the machines of `drover up`, and of what runs on them: loopback.md#size.

const hasMemoryGroups = findHierarchies().some(({ limits }) => limits.includes("memory"));

let home: string;
let up: RunningDrover | undefined;
beforeEach(() => {
  home = makeHome("sizes");
});
afterEach(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const started = (flags: string[]) => startDrover(home, {}, [], flags);
const command = (...args: string[]) => drover(home, args);

test("machines that go on keep the size of the pool until their end (loopback.md#size-6)", async () => {
  up = await started(["--machines", "1", "--vcpus", "2", "--memory", "1GiB"]);
  expect((await command("run", "--detach", "--id", "r1", "--", "sleep", "600")).code).toBe(0);
  await until("it runs", async () => {
    const { stdout } = await command("status", "--json", "r1");
    return JSON.parse(stdout.toString()).state === "running" || undefined;
  });
  process.kill(-up.pid, "SIGKILL");
  await up.ended;
  up = await started(["--machines", "2", "--vcpus", "1", "--memory", "512MiB"]);
  const type = { vcpus: 2, memory: "1GiB" };
  expect(await poolConfigOf(up)).toMatchObject({ maxInstances: 1, instanceTypes: { local: type } });
  expect(up.said()).toContain("Machines of an earlier `drover up` still run with another size.");
  expect(await up.stop()).toBe(0);
  up = await started(["--machines", "2", "--vcpus", "1", "--memory", "512MiB"]);
  const smaller = { vcpus: 1, memory: "512MiB" };
  expect(await poolConfigOf(up)).toMatchObject({ maxInstances: 2, instanceTypes: { local: smaller } });
});

test("two runs of half a vCPU share a machine of one, and a third waits (pool.md#fit)", async () => {
  up = await started(["--machines", "1", "--vcpus", "1", "--memory", "2GiB"]);
  const half = ["--detach", "--cpus", "0.5", "--memory", "64MiB"];
  for (const id of ["a", "b", "c"]) {
    const script = 'echo "$DROVER_VCPUS"; while ! [ -e go ]; do sleep 0.05; done';
    expect((await command("run", ...half, "--id", id, "--", "sh", "-c", script)).code).toBe(0);
  }
  const stateOf = async (id: string) =>
    JSON.parse((await command("status", "--json", id)).stdout.toString()).state;
  await until("two run", async () => {
    const states = [await stateOf("a"), await stateOf("b")];
    return states.every((state) => state === "running") || undefined;
  });
  expect(await stateOf("c")).toBe("pending");
  expect((await command("logs", "a")).stdout.toString()).toBe("0.5\n");
  expect((await command("abort", "a")).code).toBe(0);
  await until("the third runs", async () => ((await stateOf("c")) === "running" ? true : undefined));
});

test("what a run has used at most is there after its end, and is said (tasks.md#size-advice)", async () => {
  up = await started(["--machines", "1", "--vcpus", "2", "--memory", "8GiB"]);
  const script = "head -c 50000000 /dev/zero | tail -c 50000000 | wc -c";
  const { code, stderr } = await command(
    "run",
    "--id",
    "eater",
    "--memory",
    "4GiB",
    "--",
    "sh",
    "-c",
    script,
  );
  expect(code).toBe(0);
  const { tasks, advice } = JSON.parse((await command("status", "--json", "eater")).stdout.toString());
  const { peaks } = tasks[0].attempts[0];
  const shown = (await command("stats", "eater")).stdout.toString();
  expect(shown).toMatch(/^TASK +STATE +MOST CPU +TIME +MOST MEMORY +MOST DISK\nmain +ended/);
  expect(peaks.diskBytes).toBeGreaterThanOrEqual(0);
  if (!hasMemoryGroups) {
    expect(advice).toBe(undefined);
    return;
  }
  expect(peaks.memoryBytes).toBeGreaterThan(50_000_000);
  expect(advice).toMatchObject([{ task: "main", resource: "memory", asked: 2 ** 32 }]);
  expect(stderr).toMatch(
    /^drover: Run eater used at most [\d.]+MiB of its 4GiB of memory\. Next time: --memory \d+MiB$/m,
  );
  const quiet = await command("run", "--quiet", "--memory", "4GiB", "--", "sh", "-c", script);
  expect([quiet.code, quiet.stderr]).toEqual([0, ""]);
});
