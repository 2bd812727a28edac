import { createCipheriv, createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { StreamName } from "../../../src/schema/host.ts";
import { type Bench, kill, openBench, type RunningAgent, run } from "../support/bench.ts";
import { contained, fileOf, ID, waitFor } from "../support/contained.ts";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../support/podman.ts";

const MB = 1_000_000;

let podman: Podman;
let bench: Bench;

const start = () => bench.start({}, ["--engine", podman.socketPath]);

/** All bytes in no order, the same each time. */
function anyBytes(length: number, seed: string): Buffer {
  const key = createHash("md5").update(seed).digest();
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

/** The same in one line without an end. */
function oneLine(length: number): Buffer {
  const bytes = anyBytes(length, "line");
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at)) bytes[at] = 11;
  return bytes;
}

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** A container that writes these bytes once they are there, and the agent that runs it. */
async function writing(script: string): Promise<RunningAgent> {
  const agent = start();
  bench.plane.order([
    run(ID, ["sh", "-c", `echo ready; ${waitFor("go")}; ${script}`], { container: contained(BUSYBOX) }),
  ]);
  await bench.plane.until("it is ready", () => bench.plane.stored(ID).includes("ready"));
  return agent;
}

function give(files: Record<string, Uint8Array>): void {
  for (const [name, bytes] of Object.entries(files)) writeFileSync(fileOf(bench, name), bytes);
  writeFileSync(fileOf(bench, "go"), "");
}

/** Kills the agent once more has arrived, and starts another one. */
async function again(agent: RunningAgent, stream: StreamName = "stdout"): Promise<RunningAgent> {
  const before = bench.plane.stored(ID, stream).length;
  await bench.plane.until("more of it is stored", () => bench.plane.stored(ID, stream).length > before + MB);
  await kill(agent);
  return start();
}

describe.skipIf(!hasPodman)("output that comes as it was written (containers.md#output)", () => {
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
    expect(await podman.engine.listContainers({})).toEqual([]);
  });

  test("16: the engine says so of itself", async () => {
    start();
    const isExact = () => bench.plane.reports.at(-1)?.means?.engine?.logs === "exact";
    await bench.plane.until("it is reported", isExact);
  });

  test("16: a line of 100 MB of any bytes, although the agent is killed twice", {
    timeout: 300_000,
  }, async () => {
    const first = await writing("cat big");
    const big = oneLine(100 * MB);
    give({ big });
    await again(await again(first));
    await bench.plane.untilStored(ID);
    const stored = bench.plane.stored(ID).subarray("ready\n".length);
    expect([stored.length, hash(stored)]).toEqual([big.length, hash(big)]);
  });

  test("16: both streams at once, with and without newlines, although the agent is killed twice", {
    timeout: 300_000,
  }, async () => {
    const first = await writing("cat out & cat err >&2; wait; printf end");
    const [out, err] = [anyBytes(20 * MB, "out"), anyBytes(20 * MB, "err")];
    give({ out, err });
    await again(await again(first, "stderr"), "stdout");
    await bench.plane.untilStored(ID);
    const wanted = Buffer.concat([Buffer.from("ready\n"), out, Buffer.from("end")]);
    expect([hash(bench.plane.stored(ID)), hash(bench.plane.stored(ID, "stderr"))]).toEqual([
      hash(wanted),
      hash(err),
    ]);
  });

  test.each([
    ["nothing", ""],
    ["one NUL", "\\000"],
    ["a carriage return", "\\r"],
    ["a newline alone", "\\n"],
    ["the half of a character", "\\303"],
    ["what looks like the engine's own line", "2026-01-01T00:00:00Z stdout F text\\n"],
    ["what looks like a frame", "\\001\\000\\000\\000\\000\\000\\000\\005hello"],
  ])("%s", async (_, text) => {
    const first = await writing(`printf '${text}'`);
    give({});
    await bench.plane.untilStored(ID);
    const wanted = Buffer.from(
      text
        .replaceAll(/\\(\d{3})/g, (_all, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
        .replaceAll("\\n", "\n")
        .replaceAll("\\r", "\r"),
      "latin1",
    );
    expect(bench.plane.stored(ID).subarray("ready\n".length)).toEqual(wanted);
    await kill(first);
  });
});
