import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  LEASE_KILL_MS,
  SHORT_STOP_MS,
  WATCHDOG_BARE_LEAD_MS,
  WATCHDOG_LAST_LEAD_MS,
  WATCHDOG_LEAD_MS,
  WATCHDOG_LOOK_MS,
} from "../../agent/core/bounds.ts";
import { type Bench, openBench, type RunningAgent, run } from "./support/bench.ts";

const ID = "build-17/main/1.1";
const NEXT = "next/main/1.1";
/** Just above the lead: the watchdog has work a few seconds after the last report. */
const LEASE_MS = WATCHDOG_LEAD_MS + 5_000;

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.leaseMs = LEASE_MS;
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

/** An agent that reports often enough for so short a lease, with a task that says `ready`. */
async function busyAgent(script: string, flags: string[] = []): Promise<RunningAgent> {
  const agent = bench.start({}, flags);
  const order = run(ID, ["sh", "-c", script], { killTimeoutMs: 100 });
  bench.plane.order([order], { reportWithinMs: 500 });
  await bench.plane.until("it is ready", () => bench.plane.stored(ID).includes("ready"));
  return agent;
}

const fileOf = (name: string) => join(bench.dir, name);
const nowMs = () => uptime() * 1_000;

/** The end of the lease as it lies in its file, on the clock since boot. */
function leaseUntil(): number {
  return JSON.parse(readFileSync(join(bench.stateDir, "lease.json"), "utf8")).content.until;
}

/** Waits until nothing of the bench runs, and says how much of the lease was left. */
async function leftOfLease(until: number): Promise<number> {
  await expect.poll(() => bench.processes(), { timeout: LEASE_MS, interval: 100 }).toEqual([]);
  return until - nowMs();
}

function killWatchdog(): number {
  const pid = bench.watchdog();
  if (pid === undefined) throw new Error("there is no watchdog");
  process.kill(pid, "SIGKILL");
  return pid;
}

async function kill({ child, ended }: RunningAgent): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

test("the bounds leave room for each other: looks, a short stop, Node, and the bare hands", () => {
  expect(WATCHDOG_LEAD_MS).toBe(SHORT_STOP_MS + LEASE_KILL_MS);
  const usable = [WATCHDOG_LEAD_MS, LEASE_KILL_MS, WATCHDOG_LAST_LEAD_MS, WATCHDOG_BARE_LEAD_MS];
  for (const [index, lead] of usable.slice(1).entries()) {
    expect((usable[index] ?? 0) - lead).toBeGreaterThan(WATCHDOG_LOOK_MS);
  }
});

describe("an agent that is dead at the end of its lease (rule R4)", () => {
  test("its tasks are ended before, and the next start knows how", async () => {
    const trap = `trap "touch ${fileOf("asked")}" TERM`;
    const agent = await busyAgent(`${trap}; echo ready; while :; do sleep 0.05; done`);
    await kill(agent);
    const until = leaseUntil();
    expect(await leftOfLease(until)).toBeGreaterThan(0);
    // It was asked first, as the agent would have.
    expect(existsSync(fileOf("asked"))).toBe(true);
    bench.start();
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt).toMatchObject({ exit: { signal: "SIGKILL" }, kill: { treeGone: true } });
  });

  test("then the watchdog ends too: there is nothing left to guard", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300"));
    expect(bench.watchdog()).toBeDefined();
    await leftOfLease(leaseUntil());
    await expect.poll(() => bench.watchdog(), { timeout: 20_000 }).toBeUndefined();
  });

  test("tasks that hide from all but their cgroup are ended, where there is one", async () => {
    const far = `(env -i setsid sh -c 'echo $$ >${fileOf("far")}; exec sleep 300' &)`;
    const agent = await busyAgent(
      `${far}; while ! [ -s ${fileOf("far")} ]; do sleep 0.01; done; echo ready; exec sleep 300`,
    );
    const means = bench.plane.reports.at(-1)?.means?.kill;
    await kill(agent);
    await leftOfLease(leaseUntil());
    const pid = Number(readFileSync(fileOf("far"), "utf8"));
    if (means === "cgroup")
      await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 20_000 }).toBe(false);
    else process.kill(pid, "SIGKILL");
  });

  test("Node is not there any more: a shell does it, later", async () => {
    await kill(await busyAgent("trap '' TERM; setsid sleep 300 & echo ready; sleep 300"));
    writeFileSync(join(bench.dir, "drover-agent.mjs"), "process.exit(1);\n");
    const left = await leftOfLease(leaseUntil());
    expect(left).toBeGreaterThan(0);
    // A shell counts in whole seconds.
    expect(left).toBeLessThan(WATCHDOG_BARE_LEAD_MS + 1_000);
    await expect.poll(() => bench.watchdog(), { timeout: 20_000 }).toBeUndefined();
  });
});

describe("an agent that is stopped (SIGSTOP)", () => {
  test("its tasks are ended before the end of the lease; woken up, it says so and goes on", async () => {
    const agent = await busyAgent("trap '' TERM; echo ready; sleep 300");
    agent.child.kill("SIGSTOP");
    const until = leaseUntil();
    expect(await leftOfLease(until)).toBeGreaterThan(0);
    expect(bench.watchdog()).toBeDefined();
    agent.child.kill("SIGCONT");
    expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGKILL");
    bench.plane.order([run(NEXT, ["sh", "-c", "exit 4"])], { reportWithinMs: 500 });
    expect((await bench.plane.untilState(NEXT, "exited")).exit?.code).toBe(4);
  });
});

describe("a lease that is extended", () => {
  test("an agent that is started again in time: nothing is ended", async () => {
    const agent = await busyAgent("echo ready; exec sleep 300");
    const guard = bench.watchdog();
    await kill(agent);
    const until = leaseUntil();
    bench.start();
    await expect.poll(() => nowMs() > until - LEASE_KILL_MS, { timeout: LEASE_MS }).toBe(true);
    expect(leaseUntil()).toBeGreaterThan(until);
    expect(bench.plane.attempt(ID)?.state).toBe("running");
    expect(bench.watchdog()).toBe(guard);
  });

  test("is written where there is no room for another file: what guards it must know", async () => {
    // As on a full disk: the draft that would take its place cannot be made.
    await busyAgent("echo ready; exec sleep 300");
    mkdirSync(join(bench.stateDir, "lease.json.new"));
    const until = leaseUntil();
    await expect.poll(() => leaseUntil() > until, { timeout: 20_000 }).toBe(true);
  });

  test("whoever is called to end it too late, ends nothing", async () => {
    bench.plane.leaseMs = 10 * LEASE_MS;
    const agent = await busyAgent("echo ready; exec sleep 300");
    await kill(agent);
    const before = bench.processes();
    const called = bench.startWith(["--state", bench.stateDir, "--end-lease"]);
    expect((await called.ended).code).toBe(5);
    expect(bench.processes()).toEqual(before);
  });
});

test("the control plane is away for a whole lease: the agent itself ends its tasks in time", async () => {
  const agent = await busyAgent("echo ready; exec sleep 300");
  const until = leaseUntil();
  bench.plane.override = () => ({ status: 503 });
  expect(await leftOfLease(until)).toBeGreaterThan(LEASE_KILL_MS - WATCHDOG_LOOK_MS);
  expect(agent.child.exitCode).toBeNull();
  bench.plane.override = () => undefined;
  const told = await bench.plane.untilState(ID, "exited");
  expect(told).toMatchObject({ exit: { signal: "SIGTERM" }, stopped: "lease" });
});

describe("the watchdog itself", () => {
  test("one that was killed is started again at the next report, one that lives is not doubled", async () => {
    await busyAgent("echo ready; exec sleep 300");
    const first = killWatchdog();
    const second = await bench.plane.until("there is another one", () => {
      const pid = bench.watchdog();
      return pid !== first && pid;
    });
    const seen = bench.plane.reports.length;
    await bench.plane.until("more reports", () => bench.plane.reports.length > seen + 3);
    expect(bench.watchdog()).toBe(second);
  });

  test("is restored by the next start of the agent", async () => {
    const agent = await busyAgent("echo ready; exec sleep 300");
    await kill(agent);
    killWatchdog();
    await expect.poll(() => bench.watchdog()).toBeUndefined();
    bench.plane.override = () => ({ status: 503 });
    bench.start();
    await expect.poll(() => bench.watchdog(), { timeout: 20_000 }).toBeDefined();
  });

  test("takes less than 4 MB", async () => {
    await busyAgent("echo ready; exec sleep 300");
    const status = readFileSync(`/proc/${bench.watchdog()}/status`, "utf8");
    expect(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(4 * 1_024);
  });
});

describe("a machine that can end itself (invariant 8)", () => {
  const flags = () => ["--power-off", `echo off >>${fileOf("off")}`];
  const isOff = () => existsSync(fileOf("off"));

  test("does so when the control plane is done with it, after everything is ended", async () => {
    const agent = await busyAgent("echo ready; exec sleep 300", flags());
    bench.plane.order([], { powerOff: true });
    expect((await agent.ended).code).toBe(0);
    expect([isOff(), bench.processes()]).toEqual([true, []]);
  });

  test("does so at the end of the lease that nobody has extended", async () => {
    const agent = await busyAgent("echo ready; exec sleep 300", flags());
    const until = leaseUntil();
    bench.plane.override = () => ({ status: 503 });
    expect((await agent.ended).code).toBe(0);
    expect([isOff(), bench.processes()]).toEqual([true, []]);
    expect(nowMs()).toBeGreaterThanOrEqual(until - 1_000);
  });

  test("does so without its agent, too", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300", flags()));
    const until = leaseUntil();
    await expect.poll(isOff, { timeout: LEASE_MS + 20_000 }).toBe(true);
    expect(nowMs()).toBeGreaterThanOrEqual(until - 1_000);
    expect(bench.processes()).toEqual([]);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("does not when its agent is ended by %s", async (signal) => {
    const agent = await busyAgent("echo ready; exec sleep 300", flags());
    agent.child.kill(signal);
    await agent.ended;
    expect(isOff()).toBe(false);
  });
});
