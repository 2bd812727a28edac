import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readProc } from "../../../posix/proc.ts";
import { type Bench, kill, openBench, run, stop } from "../support/bench.ts";

// The agent, its processes and its files are real. A plug-in is a shell script that prints a file, so a test
// changes the devices of the machine by replacing that file.

const [A, B] = ["a/main/1.1", "b/main/1.1"] as const;
const WORKS = "echo ready; exec sleep 300";

let bench: Bench;
let plugin: string;
beforeEach(async () => {
  bench = await openBench();
  plugin = join(bench.dir, "gpus");
  writeFileSync(plugin, `#!/bin/sh\nexec cat ${join(bench.dir, "listing")}\n`);
  chmodSync(plugin, 0o755);
  has("g0");
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

/** Gives the machine these devices from now on. */
function has(...ids: string[]): void {
  const devices = ids.map((id) => ({ id, vendor: "nvidia", model: "T4", memoryBytes: 1, driver: "5" }));
  const next = join(bench.dir, "next");
  writeFileSync(next, JSON.stringify({ devices: devices.map((one) => ({ ...one, env: { GPU: one.id } })) }));
  renameSync(next, join(bench.dir, "listing"));
}
const start = (more: Record<string, string> = {}) => bench.start(more, ["--devices", plugin]);
const order = (id: string, script: string, gpus = 1, more = {}) =>
  run(id, ["sh", "-c", script], {
    resources: { vcpus: 1, memoryBytes: 268_435_456, diskBytes: 0, gpus },
    ...more,
  });
const said = (id: string) => bench.plane.until(`${id} says that it is ready`, () => isReady(id));
const isReady = (id: string) => bench.plane.stored(id).includes("ready");
const listed = () => bench.plane.reports.findLast(({ devices }) => devices !== undefined)?.devices;

describe("an agent with a plug-in for devices (devices.md#plug-in)", () => {
  test("counts them as it enrolls, and reports them", async () => {
    has("g0", "g1");
    start();
    await bench.plane.until("it reports", () => listed() !== undefined);
    expect(bench.plane.enrolled[0]?.resources.gpus).toBe(2);
    const one = { vendor: "nvidia", model: "T4", memoryBytes: 1, driver: "5", healthy: true };
    expect(listed()).toEqual({
      list: [
        { id: "g0", ...one },
        { id: "g1", ...one },
      ],
    });
  });

  test("works without any if the plug-in prints a page, and says so", async () => {
    writeFileSync(join(bench.dir, "listing"), "<html>");
    start();
    bench.plane.order([order(A, WORKS, 0), order(B, WORKS)]);
    await said(A);
    const attempt = await bench.plane.untilState(B, "exited");
    expect(attempt.startError).toMatchObject({
      recoverable: true,
      text: expect.stringContaining('no JSON: "<html>"'),
    });
    expect(listed()).toEqual({ list: [], fault: expect.stringContaining(plugin) });
    expect(bench.plane.enrolled[0]?.resources.gpus).toBe(0);
  });

  test("sees that one vanishes, and that one comes, while it runs (devices.md#looks)", async () => {
    start();
    await bench.plane.until("it reports", () => listed()?.list.length === 1);
    has();
    await bench.plane.until("it reports that none is left", () => listed()?.list.length === 0);
    expect(listed()).toEqual({ list: [] });
  });
});

describe("a task gets its devices (devices.md#environment)", () => {
  const variables = "DROVER_DEVICES CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES GPU";
  const print = `for name in ${variables}; do eval "echo $name=\\$$name"; done; echo ready`;

  test("by variables, which its own variables do not change", async () => {
    has("g0", "g1", "g2");
    start();
    bench.plane.order([order(A, print, 2, { env: { CUDA_VISIBLE_DEVICES: "2" } })]);
    await said(A);
    const ids = "g0,g1";
    const lines = variables.split(" ").map((name) => `${name}=${ids}\n`);
    expect(bench.plane.stored(A).toString()).toBe(`${lines.join("")}ready\n`);
    expect(bench.plane.attempt(A)?.devices).toEqual(["g0", "g1"]);
  });

  test("and one that asked for none is told that it has none", async () => {
    start();
    bench.plane.order([order(A, print, 0)]);
    await said(A);
    const expected = "DROVER_DEVICES=\nCUDA_VISIBLE_DEVICES=\nNVIDIA_VISIBLE_DEVICES=void\nGPU=\n";
    expect(bench.plane.stored(A).toString()).toBe(`${expected}ready\n`);
  });
});

describe("a device belongs to one task at a time (devices.md#exclusive)", () => {
  const refused = async (id: string, holder: string) => {
    const { startError } = await bench.plane.untilState(id, "exited");
    expect(startError).toMatchObject({
      recoverable: true,
      text: expect.stringContaining(`${holder} has g0`),
    });
  };

  test("the second of two tasks is told who has it, and another attempt gets it afterwards", async () => {
    start();
    bench.plane.order([order(A, WORKS)]);
    await said(A);
    bench.plane.order([order(A, WORKS), order(B, WORKS)]);
    await refused(B, A);
    bench.plane.order([stop(A), order(B, WORKS)]);
    await bench.plane.untilState(A, "exited");
    const again = "b/main/1.2";
    bench.plane.order([order(again, WORKS)]);
    await said(again);
    expect(bench.plane.attempt(again)?.devices).toEqual(["g0"]);
  });

  test("also when the agent was killed while it was held (devices.md#restart)", async () => {
    const agent = start();
    bench.plane.order([order(A, WORKS)]);
    await said(A);
    await kill(agent);
    bench.plane.order([order(A, WORKS), order(B, WORKS)]);
    start();
    await refused(B, A);
    expect(bench.plane.attempt(A)).toMatchObject({ state: "running", devices: ["g0"] });
  });

  test("and is in the journal before its task starts", async () => {
    start();
    const journal = join(bench.stateDir, "journal", "a_main_1.1.json");
    bench.plane.order([order(A, `cat ${journal}; echo ready`)]);
    await said(A);
    expect(bench.plane.stored(A).toString()).toContain('"devices":[{"id":"g0"');
  });

  test("until the last process of its task has ended (devices.md#freed)", async () => {
    start();
    const child = join(bench.dir, "child");
    const stubborn = `trap "" TERM; echo $$ >${child}; while :; do sleep 1; done`;
    const script = `sh -c '${stubborn}' & echo ready; exec sleep 300`;
    bench.plane.order([order(A, script, 1, { killTimeoutMs: 1_000 })]);
    await said(A);
    bench.plane.order([stop(A, { timeoutMs: 1_000 })]);
    await bench.plane.untilState(A, "exited");
    expect(readProc(Number(readFileSync(child, "utf8")))?.ended ?? true).toBe(true);
    bench.plane.order([order(B, WORKS)]);
    await said(B);
  });
});
