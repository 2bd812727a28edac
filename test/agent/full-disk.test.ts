import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isDiskFull } from "../../posix/errors.ts";
import { sendSignal } from "../../posix/proc.ts";
import { type Bench, openBench, run, stop } from "./support/bench.ts";

const [LIVING, FULL, LATER] = ["living/main/1.1", "full/main/1.1", "later/main/1.1"];
const DISK = "8m";

let bench: Bench;
let mounted = false;
beforeEach(async () => {
  bench = await openBench();
  mkdirSync(bench.stateDir, { mode: 0o700 });
  mounted = mount();
});
afterEach(async () => {
  const { faults } = bench.plane;
  for (const id of [LIVING, FULL, LATER]) bench.plane.order([stop(id, { signal: "SIGKILL" })]);
  for (const pid of bench.processes()) sendSignal(pid, "SIGKILL");
  if (mounted) execFileSync("umount", ["--lazy", bench.stateDir]);
  await bench.close();
  expect(faults).toEqual([]);
});

/** A disk of its own for the state of the agent; false where this user may not mount one. */
function mount(): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK},mode=700`, "tmpfs", bench.stateDir], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}

const ballast = () => join(bench.stateDir, "ballast");
const freeBytes = () => {
  const { bavail, bsize } = statfsSync(bench.stateDir);
  return bavail * bsize;
};

/** Takes all the room that is left, to the last byte. The agent may take some of it meanwhile. */
function fillDisk(): void {
  for (let bytes = freeBytes(); bytes > 0; bytes = freeBytes()) {
    try {
      writeFileSync(ballast(), Buffer.alloc(bytes), { flag: "a" });
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }
}

describe("a full disk on the host is an error of that attempt, and not of the machine", () => {
  test("a start fails and says why; what runs keeps its status; later starts succeed", async (context) => {
    if (!mounted) context.skip("this user may not mount a file system to fill");
    const go = join(bench.dir, "go");
    const waiting = ["sh", "-c", `until [ -e ${go} ]; do sleep 0.05; done; exit 7`];
    const agent = bench.start();
    bench.plane.order([run(LIVING, waiting)]);
    await bench.plane.untilState(LIVING, "running");
    fillDisk();
    bench.plane.order([run(LIVING, waiting), run(FULL, ["true"])]);
    const failed = await bench.plane.untilState(FULL, "exited");
    expect(failed.startError).toMatchObject({
      code: "start_failed",
      text: expect.stringContaining("No space is left"),
    });
    expect(bench.plane.attempt(LIVING)?.state).toBe("running");
    writeFileSync(go, "");
    expect((await bench.plane.untilState(LIVING, "exited")).exit).toMatchObject({ code: 7 });
    bench.plane.order([]);
    await bench.plane.until("both are forgotten", () => bench.plane.reports.at(-1)?.attempts.length === 0);
    rmSync(ballast());
    bench.plane.order([run(LATER, ["sh", "-c", "exit 5"])]);
    expect((await bench.plane.untilState(LATER, "exited")).exit).toMatchObject({ code: 5 });
    expect(agent.child.exitCode).toBeNull();
  });

  test("a task that fills it fails by itself, with its status and what it had written", async (context) => {
    if (!mounted) context.skip("this user may not mount a file system to fill");
    bench.start();
    bench.plane.order([run(FULL, ["sh", "-c", "echo begun; head -c 100000000 /dev/zero >big; exit $?"])]);
    const { exit } = await bench.plane.untilStored(FULL);
    expect(exit).toMatchObject({ code: 1 });
    expect(bench.plane.stored(FULL).toString()).toBe("begun\n");
  });

  test("outputs that it has no room to pack are lost, and that is said", async (context) => {
    if (!mounted) context.skip("this user may not mount a file system to fill");
    const go = join(bench.dir, "go");
    bench.start();
    const script = `head -c 1000000 /dev/urandom >big; until [ -e ${go} ]; do sleep 0.05; done; exit 7`;
    bench.plane.order([run(FULL, ["sh", "-c", script], { outputs: ["big"] })]);
    const big = join(bench.stateDir, "allocs", "full_1", "main", "local", "big");
    const sizeOfBig = () => statSync(big, { throwIfNoEntry: false })?.size;
    await expect.poll(sizeOfBig).toBe(1_000_000);
    fillDisk();
    writeFileSync(go, "");
    const { exit, outputs } = await bench.plane.untilState(FULL, "exited");
    expect([exit?.code, outputs]).toEqual([7, { error: expect.stringContaining("No space is left") }]);
  });
});
