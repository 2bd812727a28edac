import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Bench, openBench, run } from "./support/bench.ts";

// How a machine's near end comes to its host: a file that somebody writes there, or a command that asks the
// provider. The agent, the processes and the files are real.

const ID = "build-17/main/1.1";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const reported = (draining: string | null) =>
  bench.plane.until(`it reports ${draining}`, () => bench.plane.reports.at(-1)?.draining === draining);

describe("a host whose machine is about to go (cases.md#case-9)", () => {
  test("says what the file says, for as long as it is there", async () => {
    bench.start();
    await reported(null);
    writeFileSync(join(bench.stateDir, "draining"), "new disks\n");
    await reported("new disks");
    rmSync(join(bench.stateDir, "draining"));
    await reported(null);
  });

  test("says what the provider's command prints; one that fails says nothing", async () => {
    const answer = join(bench.dir, "answer");
    bench.start({}, ["--notice", `cat ${answer}`]);
    await bench.plane.until("it reports", () => bench.plane.reports.length > 1);
    expect(bench.plane.reports.at(-1)?.draining).toBeUndefined();
    writeFileSync(answer, "spot interruption\ngone in 1h\n");
    await reported("spot interruption");
    expect(bench.plane.reports.at(-1)?.goneInMs).toBeGreaterThan(3_500_000);
  });

  test("stops what runs there in time, and says why", async () => {
    bench.start();
    bench.plane.order([run(ID, ["sh", "-c", "echo ready; exec sleep 300"])]);
    await bench.plane.until("it runs", () => bench.plane.stored(ID).includes("ready"));
    writeFileSync(join(bench.stateDir, "draining"), "spot interruption\ngone in 16s\n");
    await bench.plane.untilState(ID, "exited");
    expect(bench.plane.attempt(ID)).toMatchObject({ exit: { signal: "SIGTERM" }, stopped: "interruption" });
    expect(bench.processes()).toEqual([]);
  });
});
