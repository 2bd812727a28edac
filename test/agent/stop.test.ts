import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Bench, openBench, run, stop } from "./support/bench.ts";

const ID = "build-17/main/1.1";

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

/** Starts a shell script that says `ready` when it is; resolves then. */
async function runScript(script: string, more: Parameters<typeof run>[2] = {}, timeoutMs?: number) {
  bench.plane.order([run(ID, ["sh", "-c", script], more, timeoutMs)]);
  await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
}

/** The pid that a script has written into a file of the bench. */
function pidIn(name: string): number {
  return Number(readFileSync(join(bench.dir, name), "utf8"));
}

function lives(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("a stop that is ordered (tasks.md#kill)", () => {
  test("signals the main process, which may end in its own way", async () => {
    await runScript("trap 'echo bye; exit 9' USR1; echo ready; while :; do sleep 0.05; done");
    bench.plane.order([stop(ID, { signal: "SIGUSR1" })]);
    const attempt = await bench.plane.untilStored(ID);
    expect(attempt.exit).toMatchObject({ code: 9, signal: null });
    expect(attempt.kill).toMatchObject({ error: null, treeGone: true });
    expect(attempt.kill?.by).toBe(bench.plane.reports.at(-1)?.means?.kill);
    expect(bench.plane.stored(ID).toString()).toBe("ready\nbye\n");
  });

  test("is reported as soon as it begins", async () => {
    await runScript("trap 'echo got it' TERM; echo ready; while :; do sleep 0.05; done");
    bench.plane.order([stop(ID, { timeoutMs: 60_000 })]);
    await bench.plane.untilState(ID, "stopping");
    bench.plane.order([stop(ID, { signal: "SIGKILL", timeoutMs: 0 })]);
    expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGKILL");
  });

  test("kills what ignores the signal when its grace is over (tasks.md#kill-note-2)", async () => {
    await runScript("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    bench.plane.order([stop(ID, { timeoutMs: 200 })]);
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt.exit).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(attempt.kill?.tries).toBe(1);
  });

  test("of an attempt that nobody knows here makes it one that is never started", async () => {
    bench.plane.order([stop("other/main/1.1")]);
    await bench.plane.untilState("other/main/1.1", "gone");
    bench.plane.order([]);
    await bench.plane.until("it is forgotten", () => bench.plane.reports.at(-1)?.attempts.length === 0);
    bench.plane.order([run("other/main/1.1", ["touch", join(bench.dir, "started")])]);
    await bench.plane.untilState("other/main/1.1", "gone");
    expect(existsSync(join(bench.dir, "started"))).toBe(false);
  });
});

describe("`exited` means that the tree is empty (host-protocol.md#report)", () => {
  test.each([
    ["in the background", "sleep 300 & echo $! >$PIDS/child"],
    ["in a session of its own, its parents gone", "(setsid sh -c 'echo $$ >$PIDS/child; exec sleep 300' &) "],
    ["with an environment of its own", "env -i sleep 300 & echo $! >$PIDS/child"],
  ])("although the command left a process %s", async (_, leave) => {
    const wait = "while ! [ -s $PIDS/child ]; do sleep 0.01; done; exit 3";
    bench.plane.order([run(ID, ["sh", "-c", `${leave}; ${wait}`], { env: { PIDS: bench.dir } })]);
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt.exit?.code).toBe(3);
    expect(attempt.kill).toMatchObject({ tries: 1, treeGone: true });
    expect(lives(pidIn("child"))).toBe(false);
  });

  test("although a process that forks again and again holds its output open", async () => {
    const forks = "f() { sleep 0.01; f & }; f & echo $$ >$PIDS/child";
    bench.plane.order([run(ID, ["sh", "-c", `setsid sh -c '${forks}'`], { env: { PIDS: bench.dir } })]);
    await bench.plane.untilState(ID, "exited");
    expect(bench.processes()).toEqual([]);
  });

  test("and a stop reaches all of it", async () => {
    await runScript("(setsid sh -c \"trap '' TERM; echo ready; sleep 300 & wait\" &); exec sleep 300");
    bench.plane.order([stop(ID, { timeoutMs: 100 })]);
    expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGTERM");
    expect(bench.processes()).toEqual([]);
  });

  test("although the command deletes all that the agent has of it", async () => {
    const script = `rm -rf "${bench.stateDir}/attempts" "$(dirname "$DROVER_TASK_DIR")"; sleep 300 &`;
    bench.plane.order([run(ID, ["sh", "-c", script])]);
    // The shim itself has told the agent: its file is gone.
    expect((await bench.plane.untilState(ID, "exited")).exit).toMatchObject({ code: 0 });
    expect(bench.processes()).toEqual([]);
    bench.plane.order([run("next/main/1.1", ["true"])]);
    await bench.plane.untilState("next/main/1.1", "exited");
  });

  test("if even the shim was killed, the status is lost and nothing lives", async () => {
    await runScript("echo ready; kill -KILL 0");
    expect((await bench.plane.untilState(ID, "gone")).exit).toBeUndefined();
    expect(bench.processes()).toEqual([]);
  });
});

test("the host enforces the time limit itself (api.md#time-limits, tasks.md#placement-3)", async () => {
  await runScript("trap '' TERM; echo ready; sleep 300", { killTimeoutMs: 100 }, 5_000);
  const attempt = await bench.plane.untilState(ID, "exited");
  expect(attempt).toMatchObject({ timedOut: true, exit: { signal: "SIGKILL" } });
});

test("what the orders omit is stopped; its data go, its id stays (host-protocol.md#orders)", async () => {
  await runScript("echo ready; exec sleep 300");
  const data = join(bench.stateDir, "attempts", "build-17_main_1.1");
  expect(existsSync(data)).toBe(true);
  bench.plane.order([]);
  await bench.plane.until("it is forgotten", () => bench.plane.reports.at(-1)?.attempts.length === 0);
  await expect.poll(() => existsSync(data)).toBe(false);
  // The agent has let go of it, too.
  const journal = join(bench.stateDir, "journal", "build-17_main_1.1.json");
  await expect.poll(() => existsSync(journal)).toBe(false);
  await expect.poll(() => readdirSync(join(bench.stateDir, "allocs"))).toEqual([]);
  expect(bench.processes()).toEqual([]);
  bench.plane.order([run(ID, ["touch", join(bench.dir, "again")])]);
  await bench.plane.untilState(ID, "gone");
  expect(existsSync(join(bench.dir, "again"))).toBe(false);
});

test("orders that come twice start nothing twice", async () => {
  const count = ["sh", "-c", `echo once >>${join(bench.dir, "count")}; echo ready; exec sleep 300`];
  bench.plane.order([run(ID, count)]);
  await bench.plane.until("it runs", () => bench.plane.stored(ID).includes("ready"));
  bench.plane.order([run(ID, count)]);
  bench.plane.order([{ id: ID, want: "run" }]);
  await bench.plane.until("they were seen", () => bench.plane.reports.at(-1)?.ordersSeen === 3);
  expect(readFileSync(join(bench.dir, "count"), "utf8")).toBe("once\n");
  expect(bench.plane.attempt(ID)?.state).toBe("running");
});

test("an attempt to keep that the host does not have is gone", async () => {
  bench.plane.order([{ id: ID, want: "run" }]);
  await bench.plane.untilState(ID, "gone");
});
