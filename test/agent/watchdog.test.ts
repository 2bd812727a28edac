import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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
import { type Bench, openBench, run } from "./support/bench.ts";
import { busyAgent, ID, kill, LEASE_MS, leaseUntil, leftOfLease, nowMs } from "./support/leases.ts";

const NEXT = "next/main/1.1";
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

const fileOf = (name: string) => join(bench.dir, name);
function killWatchdog(): number {
  const pid = bench.watchdog();
  if (pid === undefined) throw new Error("there is no watchdog");
  process.kill(pid, "SIGKILL");
  return pid;
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
    const agent = await busyAgent(bench, `${trap}; echo ready; while :; do sleep 0.05; done`);
    await kill(agent);
    const until = leaseUntil(bench);
    expect(await leftOfLease(bench, until)).toBeGreaterThan(0);
    // It was asked first, as the agent would have.
    expect(existsSync(fileOf("asked"))).toBe(true);
    bench.start();
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt).toMatchObject({ exit: { signal: "SIGKILL" }, kill: { treeGone: true } });
  });

  test("then the watchdog ends too: there is nothing left to guard", async () => {
    await kill(await busyAgent(bench, "echo ready; exec sleep 300"));
    expect(bench.watchdog()).toBeDefined();
    await leftOfLease(bench, leaseUntil(bench));
    await expect.poll(() => bench.watchdog(), { timeout: 20_000 }).toBeUndefined();
  });

  test("tasks that hide from all but their cgroup are ended, where there is one", async () => {
    const far = `(env -i setsid sh -c 'echo $$ >${fileOf("far")}; exec sleep 300' &)`;
    const agent = await busyAgent(
      bench,
      `${far}; while ! [ -s ${fileOf("far")} ]; do sleep 0.01; done; echo ready; exec sleep 300`,
    );
    const means = bench.plane.reports.at(-1)?.means?.kill;
    await kill(agent);
    await leftOfLease(bench, leaseUntil(bench));
    const pid = Number(readFileSync(fileOf("far"), "utf8"));
    if (means === "cgroup")
      await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 20_000 }).toBe(false);
    else process.kill(pid, "SIGKILL");
  });

  test("Node is not there any more: a shell does it, later", async () => {
    await kill(await busyAgent(bench, "trap '' TERM; setsid sleep 300 & echo ready; sleep 300"));
    writeFileSync(join(bench.dir, "drover-agent.mjs"), "process.exit(1);\n");
    const left = await leftOfLease(bench, leaseUntil(bench));
    expect(left).toBeGreaterThan(0);
    // A shell counts in whole seconds.
    expect(left).toBeLessThan(WATCHDOG_BARE_LEAD_MS + 1_000);
    await expect.poll(() => bench.watchdog(), { timeout: 20_000 }).toBeUndefined();
  });
});

describe("an agent that is stopped (SIGSTOP)", () => {
  test("its tasks are ended before the end of the lease; woken up, it says so and goes on", async () => {
    const agent = await busyAgent(bench, "trap '' TERM; echo ready; sleep 300");
    agent.child.kill("SIGSTOP");
    const until = leaseUntil(bench);
    expect(await leftOfLease(bench, until)).toBeGreaterThan(0);
    expect(bench.watchdog()).toBeDefined();
    agent.child.kill("SIGCONT");
    expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGKILL");
    bench.plane.order([run(NEXT, ["sh", "-c", "exit 4"])], { reportWithinMs: 500 });
    expect((await bench.plane.untilState(NEXT, "exited")).exit?.code).toBe(4);
  });
});

describe("a lease that is extended", () => {
  test("an agent that is started again in time: nothing is ended", async () => {
    const agent = await busyAgent(bench, "echo ready; exec sleep 300");
    const guard = bench.watchdog();
    await kill(agent);
    const until = leaseUntil(bench);
    bench.start();
    await expect.poll(() => nowMs() > until - LEASE_KILL_MS, { timeout: LEASE_MS }).toBe(true);
    expect(leaseUntil(bench)).toBeGreaterThan(until);
    expect(bench.plane.attempt(ID)?.state).toBe("running");
    expect(bench.watchdog()).toBe(guard);
  });

  test("is written where there is no room for another file: what guards it must know", async () => {
    // As on a full disk: the draft that would take its place cannot be made.
    await busyAgent(bench, "echo ready; exec sleep 300");
    mkdirSync(join(bench.stateDir, "lease.json.new"));
    const until = leaseUntil(bench);
    await expect.poll(() => leaseUntil(bench) > until, { timeout: 20_000 }).toBe(true);
  });

  test("whoever is called to end it too late, ends nothing", async () => {
    bench.plane.leaseMs = 10 * LEASE_MS;
    const agent = await busyAgent(bench, "echo ready; exec sleep 300");
    await kill(agent);
    const before = bench.processes();
    const called = bench.startWith(["--state", bench.stateDir, "--end-lease"]);
    expect((await called.ended).code).toBe(5);
    expect(bench.processes()).toEqual(before);
  });
});

describe("the watchdog itself", () => {
  test("one that was killed is started again at the next report, one that lives is not doubled", async () => {
    await busyAgent(bench, "echo ready; exec sleep 300");
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
    const agent = await busyAgent(bench, "echo ready; exec sleep 300");
    await kill(agent);
    killWatchdog();
    await expect.poll(() => bench.watchdog()).toBeUndefined();
    bench.plane.override = () => ({ status: 503 });
    bench.start();
    await expect.poll(() => bench.watchdog(), { timeout: 20_000 }).toBeDefined();
  });

  test("takes less than 4 MB", async () => {
    await busyAgent(bench, "echo ready; exec sleep 300");
    const status = readFileSync(`/proc/${bench.watchdog()}/status`, "utf8");
    expect(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(4 * 1_024);
  });
});
