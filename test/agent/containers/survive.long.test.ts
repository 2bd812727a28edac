import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../local/support/scratch.ts";
import { type Bench, kill, openBench, type RunningAgent, run, stop } from "../support/bench.ts";
import { contained, fileOf, ID, waitFor } from "../support/contained.ts";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../support/podman.ts";

let podman: Podman;
let bench: Bench;

const container = contained(BUSYBOX);
const start = () => bench.start({}, ["--engine", podman.socketPath]);

/** An agent with an attempt in a container that has said that it is ready. */
async function busyAgent(script: string): Promise<RunningAgent> {
  const agent = start();
  bench.plane.order([run(ID, ["sh", "-c", script], { container })]);
  await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
  return agent;
}

/** Puts a runtime before podman's that says when it is asked to begin a container, and then hangs, once. */
async function hangAtBegin(): Promise<{ asked: string; hangs: string }> {
  const at = (name: string) => join(podman.dir, name);
  const [runtime, asked, hangs] = [at("runc"), at("asked"), at("hangs")];
  const hang = `case " $* " in *" start "*) [ -e ${hangs} ] && touch ${asked} && exec sleep 1000;; esac`;
  writeFileSync(runtime, `#!/bin/sh\n${hang}\nexec /usr/sbin/runc "$@"\n`, { mode: 0o755 });
  writeFileSync(hangs, "");
  appendFileSync(at("containers.conf"), `[engine.runtimes]\nrunc = ["${runtime}"]\n`);
  await podman.restart();
  return { asked, hangs };
}

describe.skipIf(!hasPodman)(
  "a container while its agent or its engine is away (containers.md#survives)",
  () => {
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

    test("4: the next start of the agent adopts it: its exit and every byte arrive", async () => {
      await kill(
        await busyAgent(`echo once >>count; echo ready; ${waitFor("go")}; seq 20000; echo e >&2; exit 7`),
      );
      await kill(start());
      start();
      writeFileSync(fileOf(bench, "go"), "");
      const attempt = await bench.plane.untilStored(ID);
      expect(attempt).toMatchObject({ state: "exited", exit: { code: 7 } });
      const numbers = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join("");
      expect(bench.plane.stored(ID).toString() === `ready\n${numbers}`).toBe(true);
      expect(bench.plane.stored(ID, "stderr").toString()).toBe("e\n");
      expect(readFileSync(fileOf(bench, "count"), "utf8")).toBe("once\n");
    });

    test("one that has ended meanwhile is reported with its exit and its last bytes", async () => {
      await kill(await busyAgent(`echo ready; ${waitFor("go")}; echo last; exit 9`));
      writeFileSync(fileOf(bench, "go"), "");
      await expect.poll(async () => (await podman.engine.listContainers({}))[0]?.status).toBe("exited");
      start();
      const attempt = await bench.plane.untilStored(ID);
      expect([attempt.exit?.code, bench.plane.stored(ID).toString()]).toEqual([9, "ready\nlast\n"]);
    });

    test("5: the service of the engine may be killed with the agent: exit and bytes are there", async () => {
      const agent = await busyAgent(`echo ready; ${waitFor("go")}; echo last; exit 9`);
      await Promise.all([kill(agent), podman.kill()]);
      start();
      writeFileSync(fileOf(bench, "go"), "");
      await podman.restart();
      const attempt = await bench.plane.untilStored(ID);
      expect([attempt.exit?.code, bench.plane.stored(ID).toString()]).toEqual([9, "ready\nlast\n"]);
    });

    test("without the engine a container is stopped with proof, and removed later", async () => {
      await busyAgent("echo ready; sleep 1000");
      await podman.kill();
      bench.plane.order([stop(ID)]);
      const attempt = await bench.plane.until("it is gone", () => {
        const known = bench.plane.attempt(ID);
        return known?.kill?.treeGone === true && known;
      });
      expect(attempt.kill?.error).toBeNull();
      expect(bench.processes()).toEqual([]);
      await podman.restart();
      for (const { id } of await podman.engine.listContainers({})) await podman.engine.removeContainer(id);
    });

    test("2: an agent that died between create and start leaves one container, which runs once", async () => {
      const name = "build-17_main_1.1";
      await kill(await busyAgent("echo once >>count; echo ready; sleep 1000"));
      expect(existsSync(join(bench.stateDir, "attempts", name, "container"))).toBe(true);
      start();
      await bench.plane.untilState(ID, "running");
      expect((await podman.engine.listContainers({})).length).toBe(1);
      bench.plane.order([stop(ID)]);
      await bench.plane.untilState(ID, "exited");
      expect(readFileSync(fileOf(bench, "count"), "utf8")).toBe("once\n");
    });

    test("16: a line of 20 MB of any bytes is equal, although the agent starts again twice", async () => {
      const agent = await busyAgent(`echo ready >&2; echo ready; ${waitFor("go")}; cat big`);
      const big = Buffer.alloc(20_000_000, "ÿ\0\r\u{1f980}x");
      writeFileSync(fileOf(bench, "big"), big);
      writeFileSync(fileOf(bench, "go"), "");
      await bench.plane.until("some of it is stored", () => bench.plane.stored(ID).length > 1_000_000);
      await kill(agent);
      const second = start();
      const sofar = bench.plane.stored(ID).length;
      await bench.plane.until("more of it is stored", () => bench.plane.stored(ID).length > sofar);
      await kill(second);
      start();
      await bench.plane.untilStored(ID);
      const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
      expect(hash(bench.plane.stored(ID).subarray("ready\n".length))).toBe(hash(big));
    });

    test("one whose engine was killed before it began ends, and nothing of it is left", async () => {
      const { asked, hangs } = await hangAtBegin();
      start();
      bench.plane.order([run(ID, ["sh", "-c", "echo once >>count"], { container })]);
      await until("podman begins it", () => existsSync(asked));
      await podman.kill();
      rmSync(hangs);
      await podman.restart();
      const attempt = await bench.plane.untilState(ID, "gone");
      expect([attempt.exit, attempt.startError]).toEqual([undefined, undefined]);
      expect([existsSync(fileOf(bench, "count")), bench.processes()]).toEqual([false, []]);
    });
  },
);
