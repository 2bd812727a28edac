import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LEASE_KILL_MS, SHORT_STOP_MS, WATCHDOG_LEAD_MS } from "../../agent/core/bounds.ts";
import { WATCHDOG_BARE_LEAD_MS, WATCHDOG_LAST_LEAD_MS, WATCHDOG_LOOK_MS } from "../../agent/watchdog.ts";
import { type Bench, kill, run } from "./support/bench.ts";
import { busyAgent, ID, LEASE_MS, leaseTest, leaseUntil, leftOfLease, nowMs } from "./support/leases.ts";

const NEXT = "next/main/1.1";
const fileOf = (bench: Bench, name: string) => join(bench.dir, name);
/** How long an agent may take to start again on a busy machine, ms. */
const TO_START_AGAIN_MS = 20_000;
function killWatchdog(bench: Bench): number {
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
  leaseTest("its tasks are ended before, and the next start knows how", async ({ leased: bench, expect }) => {
    const trap = `trap "touch ${fileOf(bench, "asked")}" TERM`;
    // A busy machine may take seconds until the trap has run.
    const script = `${trap}; echo ready; while :; do sleep 0.05; done`;
    await kill(await busyAgent(bench, script, [], SHORT_STOP_MS));
    const until = leaseUntil(bench);
    expect(await leftOfLease(bench, until)).toBeGreaterThan(0);
    // It was asked first, as the agent would have.
    expect(existsSync(fileOf(bench, "asked"))).toBe(true);
    await bench.startUnlocked();
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt).toMatchObject({ exit: { signal: "SIGKILL" }, kill: { treeGone: true } });
  });

  leaseTest(
    "then the watchdog ends too: there is nothing left to guard",
    async ({ leased: bench, expect }) => {
      await kill(await busyAgent(bench, "echo ready; exec sleep 300"));
      expect(bench.watchdog()).toBeDefined();
      await leftOfLease(bench, leaseUntil(bench));
      await expect.poll(() => bench.watchdog()).toBeUndefined();
    },
  );

  leaseTest(
    "tasks that hide from all but their cgroup are ended, where there is one",
    async ({ leased: bench, expect }) => {
      const far = `(env -i setsid sh -c 'echo $$ >${fileOf(bench, "far")}; exec sleep 300' &)`;
      const agent = await busyAgent(
        bench,
        `${far}; while ! [ -s ${fileOf(bench, "far")} ]; do sleep 0.01; done; echo ready; exec sleep 300`,
      );
      const means = bench.plane.reports.at(-1)?.means?.kill;
      await kill(agent);
      await leftOfLease(bench, leaseUntil(bench));
      const pid = Number(readFileSync(fileOf(bench, "far"), "utf8"));
      if (means === "cgroup") await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
      else process.kill(pid, "SIGKILL");
    },
  );

  leaseTest("Node is not there any more: a shell does it, later", async ({ leased: bench, expect }) => {
    const agent = await busyAgent(bench, "trap '' TERM; setsid sleep 300 & echo ready; sleep 300");
    // Before its end: from then on the watchdog may call it. The agent itself is in memory.
    writeFileSync(join(bench.dir, "drover-agent.mjs"), "process.exit(1);\n");
    await kill(agent);
    const left = await leftOfLease(bench, leaseUntil(bench));
    expect(left).toBeGreaterThan(0);
    // A shell counts in whole seconds.
    expect(left).toBeLessThan(WATCHDOG_BARE_LEAD_MS + 1_000);
    await expect.poll(() => bench.watchdog()).toBeUndefined();
  });
});

describe("an agent that is stopped (SIGSTOP)", () => {
  leaseTest(
    "its tasks are ended before the end of the lease; woken up, it says so and goes on",
    async ({ leased: bench, expect }) => {
      const agent = await busyAgent(bench, "trap '' TERM; echo ready; sleep 300");
      agent.child.kill("SIGSTOP");
      const until = leaseUntil(bench);
      expect(await leftOfLease(bench, until)).toBeGreaterThan(0);
      expect(bench.watchdog()).toBeDefined();
      agent.child.kill("SIGCONT");
      expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGKILL");
      bench.plane.order([run(NEXT, ["sh", "-c", "exit 4"])], { reportWithinMs: 500 });
      expect((await bench.plane.untilState(NEXT, "exited")).exit?.code).toBe(4);
    },
  );
});

describe("a lease that is extended", () => {
  leaseTest("an agent that is started again in time: nothing is ended", async ({ leased: bench, expect }) => {
    bench.plane.leaseMs = LEASE_MS + TO_START_AGAIN_MS;
    const agent = await busyAgent(bench, "echo ready; exec sleep 300");
    const guard = bench.watchdog();
    await kill(agent);
    const until = leaseUntil(bench);
    bench.start();
    await expect
      .poll(() => nowMs() > until - LEASE_KILL_MS, { timeout: LEASE_MS + TO_START_AGAIN_MS })
      .toBe(true);
    expect(leaseUntil(bench)).toBeGreaterThan(until);
    expect(bench.plane.attempt(ID)?.state).toBe("running");
    expect(bench.watchdog()).toBe(guard);
  });

  leaseTest(
    "is written where there is no room for another file: what guards it must know",
    async ({ leased: bench, expect }) => {
      // As on a full disk: the draft that would take its place cannot be made.
      await busyAgent(bench, "echo ready; exec sleep 300");
      mkdirSync(join(bench.stateDir, "lease.json.new"));
      const until = leaseUntil(bench);
      await expect.poll(() => leaseUntil(bench) > until).toBe(true);
    },
  );

  leaseTest("whoever is called to end it too late, ends nothing", async ({ leased: bench, expect }) => {
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
  leaseTest(
    "one that was killed is started again at the next report, one that lives is not doubled",
    async ({ leased: bench, expect }) => {
      await busyAgent(bench, "echo ready; exec sleep 300");
      const first = killWatchdog(bench);
      const second = await bench.plane.until("there is another one", () => {
        const pid = bench.watchdog();
        return pid !== first && pid;
      });
      const seen = bench.plane.reports.length;
      await bench.plane.until("more reports", () => bench.plane.reports.length > seen + 3);
      expect(bench.watchdog()).toBe(second);
    },
  );

  leaseTest("is restored by the next start of the agent", async ({ leased: bench, expect }) => {
    const agent = await busyAgent(bench, "echo ready; exec sleep 300");
    await kill(agent);
    killWatchdog(bench);
    await expect.poll(() => bench.watchdog()).toBeUndefined();
    bench.plane.override = () => ({ status: 503 });
    bench.start();
    await expect.poll(() => bench.watchdog()).toBeDefined();
  });

  leaseTest("takes less than 4 MB", async ({ leased: bench, expect }) => {
    await busyAgent(bench, "echo ready; exec sleep 300");
    const status = readFileSync(`/proc/${bench.watchdog()}/status`, "utf8");
    expect(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(4 * 1_024);
  });
});
