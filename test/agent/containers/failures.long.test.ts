import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readUnlessGone } from "../../../posix/files.ts";
import { listPids, sendSignal } from "../../../posix/proc.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { until } from "../../local/support/scratch.ts";
import { type Bench, kill, openBench, type RunningAgent, run, stop } from "../support/bench.ts";
import { contained, endOf, fileOf, hostOf, ID, nameOf, runToEnd, waitFor } from "../support/contained.ts";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../support/podman.ts";

// Failures that others were seen to have, with a real engine. 1, 8, 9, 10, 14, 19 and 20 need an engine that
// fails as it is told: `docker*.test.ts`. 7 is `pull.test.ts`, with a shorter patience; 11 and 12 are
// `odd.long.test.ts`, 22 is a pool's. 21: what a command starts by an engine's socket is the pool's to allow.

let podman: Podman;
let bench: Bench;

const start = (env: Record<string, string> = {}) => bench.start(env, ["--engine", podman.socketPath]);
const inContainer = (script: string, more: Partial<TaskSpec> = {}, timeoutMs?: number) =>
  run(ID, ["sh", "-c", script], { container: contained(BUSYBOX), ...more }, timeoutMs);
const containers = () => podman.engine.listContainers({});

/** An agent with an attempt in a container that has said that it is ready. */
async function busyAgent(script: string, more: Partial<TaskSpec> = {}): Promise<RunningAgent> {
  const agent = start();
  bench.plane.order([inContainer(script, more)]);
  await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
  return agent;
}

/** Kills what watches the attempt's container for the engine. */
async function killMonitor(): Promise<void> {
  const facts = await podman.engine.inspectContainer(nameOf(bench));
  const isIts = (pid: number) => {
    const words = readUnlessGone(`/proc/${pid}/cmdline`);
    return words.includes("conmon") && words.includes(facts?.id ?? "-");
  };
  for (const pid of listPids().filter(isIts)) sendSignal(pid, "SIGKILL");
}

describe.skipIf(!hasPodman)("failures of containers", () => {
  beforeAll(async () => {
    podman = await startPodman();
  });
  afterAll(() => podman?.stop());
  beforeEach(async () => {
    bench = await openBench();
  });
  afterEach(async () => {
    const { faults } = bench.plane;
    await bench.close();
    expect(faults).toEqual([]);
    expect(await containers()).toEqual([]);
  });

  test("2: one of the attempt that was never started is made anew (containers.md#create)", async () => {
    const labels = { "drover.host": hostOf(bench.stateDir), "drover.attempt": ID };
    await podman.engine.createContainer(nameOf(bench), {
      Image: BUSYBOX,
      Cmd: ["echo", "old"],
      Labels: labels,
    });
    start();
    const { stdout, exit } = await runToEnd(
      bench,
      ["sh", "-c", "echo once >>count; cat count"],
      contained(BUSYBOX),
    );
    expect([stdout, exit?.code]).toEqual(["once\n", 0]);
  });

  test("6: after a reboot it is lost, and its container removed (containers.md#leftovers)", async () => {
    await kill(await busyAgent("echo ready; sleep 1000"));
    await podman.engine.killContainer(nameOf(bench), "SIGKILL");
    start({ DROVER_BOOT_ID: "boot-2" });
    const attempt = await bench.plane.untilState(ID, "gone");
    expect([attempt.exit, attempt.startError]).toEqual([undefined, undefined]);
    await until("its container is gone", async () => (await containers()).length === 0 || undefined);
  });

  test("6, 15: what an earlier boot has left is removed, no more (containers.md#leftovers)", async () => {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const host = hostOf(bench.stateDir);
    const make = (name: string, labels: Record<string, string>) =>
      podman.engine.createContainer(name, { Image: BUSYBOX, Cmd: ["true"], Labels: labels });
    const attempt = "old-1/main/1.1";
    await make("left", { "drover.host": host, "drover.attempt": attempt, "drover.boot": `${boot} boot-0` });
    await make("young", { "drover.host": host, "drover.attempt": attempt, "drover.boot": `${boot} boot-1` });
    await make("other", {
      "drover.host": "ba9876543210",
      "drover.attempt": ID,
      "drover.boot": `${boot} boot-0`,
    });
    await make("plain", {});
    start();
    await until(
      "it is removed",
      async () => (await containers()).every(({ name }) => name !== "left") || undefined,
    );
    expect((await runToEnd(bench, ["true"], contained(BUSYBOX))).exit?.code).toBe(0);
    expect((await containers()).map(({ name }) => name).sort()).toEqual(["other", "plain", "young"]);
    for (const { id } of await containers()) await podman.engine.removeContainer(id);
  });

  test("13: a container that somebody else stops has an exit (containers.md#ends)", async () => {
    await busyAgent("echo ready; exec sleep 1000");
    await podman.engine.killContainer(nameOf(bench), "SIGTERM");
    expect((await endOf(bench)).exit).toMatchObject({ code: 143, oomKilled: false });
  });

  test("13: one that somebody else removes is over, and its output stays (containers.md#ends)", async () => {
    await busyAgent("echo ready; exec sleep 1000");
    await podman.engine.removeContainer(nameOf(bench));
    const attempt = await bench.plane.until("it is over", () => {
      const known = bench.plane.attempt(ID);
      return known?.state !== "running" && known;
    });
    // The agent may see that it was killed, before it is gone.
    expect(["lost", 137]).toContain(attempt.exit?.code ?? "lost");
    expect(bench.plane.stored(ID).toString()).toBe("ready\n");
    expect(bench.processes()).toEqual([]);
  });

  test("15: a stop by one host leaves the container of another alone (containers.md#names)", async () => {
    const other = await openBench();
    try {
      other.start({}, ["--engine", podman.socketPath]);
      other.plane.order([inContainer("echo ready; sleep 1000")]);
      await other.plane.until("it is ready", () => other.plane.stored(ID).includes("ready"));
      await busyAgent("echo ready; sleep 1000");
      bench.plane.order([stop(ID, { timeoutMs: 100 })]);
      await bench.plane.untilState(ID, "exited");
      expect((await containers()).map(({ name, status }) => [name, status])).toEqual([
        [nameOf(other), "running"],
      ]);
      other.plane.order([stop(ID, { timeoutMs: 100 })]);
      await other.plane.untilState(ID, "exited");
    } finally {
      await other.close();
    }
  });

  test("17: children end with their parent, their last bytes kept (containers.md#output)", async () => {
    const child = "trap '' TERM; echo child; touch up; sleep 1000";
    start();
    bench.plane.order([inContainer(`sh -c "${child}" & ${waitFor("up")}; echo last; exit 4`)]);
    const { exit, stdout } = await endOf(bench);
    expect([exit?.code, stdout, bench.processes()]).toEqual([4, "child\nlast\n", []]);
  });

  test("21: a time limit ends the whole tree, container and all (containers.md#kill)", async () => {
    start();
    bench.plane.order([inContainer("sleep 1000 & sleep 1001", { killTimeoutMs: 100 }, 60_000)]);
    const attempt = await bench.plane.untilState(ID, "exited");
    expect([attempt.timedOut, attempt.kill?.treeGone, bench.processes()]).toEqual([true, true, []]);
  });

  describe("what watches a container for the engine is killed (containers.md#outage)", () => {
    test("an end that nobody has seen is lost, and no exit is made up", async () => {
      await busyAgent(`echo ready; ${waitFor("go")}; exit 7`);
      await killMonitor();
      writeFileSync(fileOf(bench, "go"), "");
      const attempt = await bench.plane.until("it is over", () => {
        const known = bench.plane.attempt(ID);
        return known?.state !== "running" && known?.state !== "stopping" && known;
      });
      expect(attempt.exit?.code ?? "lost").not.toBe(0);
      expect(bench.processes()).toEqual([]);
    });

    test("a stop ends its processes all the same", async () => {
      await busyAgent("trap '' TERM; echo ready; while :; do sleep 1; done");
      await killMonitor();
      bench.plane.order([stop(ID, { timeoutMs: 100 })]);
      await bench.plane.until("it is over", () => {
        const known = bench.plane.attempt(ID);
        return (known?.state === "exited" || known?.state === "gone") && known;
      });
      expect(bench.processes()).toEqual([]);
    });
  });

  describe("input of an agent that dies (containers.md#survives)", () => {
    test("a short one has arrived whole before the command begins", async () => {
      const text = "x".repeat(60_000);
      const agent = start();
      bench.plane.order([inContainer(`${waitFor("go")}; wc -c; echo done`, { stdin: text })]);
      await until("it runs", async () => (await containers())[0]?.status === "running" || undefined);
      await kill(agent);
      start();
      writeFileSync(fileOf(bench, "go"), "");
      const { stdout, exit } = await endOf(bench);
      expect([stdout.trim(), exit?.code]).toEqual(["60000\ndone", 0]);
    });

    test("a command that may have got half of a long one is lost, and its container gone", async () => {
      const agent = await busyAgent(`echo ready; ${waitFor("go")}; wc -c`, { stdin: "x".repeat(3_000_000) });
      await kill(agent);
      start();
      await bench.plane.untilState(ID, "gone");
      expect([bench.processes(), bench.plane.stored(ID).toString()]).toEqual([[], "ready\n"]);
    });
  });
});
