import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { portProblem } from "../../local/ports.ts";
import { openBench, run } from "../agent/support/bench.ts";
import {
  drover,
  endDrover,
  killIfThere,
  makeHome,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { startStranger } from "./support/stranger.ts";
import { isRoot } from "./support/swapper.ts";

// Another user takes the port to which an agent reports. What the agent says there is no secret of a run.

if (!isRoot)
  console.warn("In agent-stranger.test.ts the stranger is the same user: only root can play another.");

/** Runs write it, and nothing else does. */
const OUTPUT = "the password of my database";

/** All in what a stranger was sent that is more than a hello. */
function toldBeyondHello(heard: readonly string[]): string[] {
  return heard.filter((request) => !/^GET \/v1\/hosts\/[\w-]+\/hello\[[^\]]*\]$/.test(request));
}

describe("X1: an agent that outlives its control plane", () => {
  let home: string;
  let running: RunningDrover | undefined;
  beforeEach(() => {
    home = makeHome("agent-stranger");
    running = undefined;
  });
  afterEach(async () => {
    await endDrover(home, running);
    rmSync(home, { recursive: true, force: true });
  });

  test("tells the port's new owner nothing of its runs", async () => {
    running = await startDrover(home);
    const writes = `while echo ${OUTPUT}; do sleep 0.1; done`;
    expect(await drover(home, ["run", "--detach", "--", "sh", "-c", writes])).toMatchObject({ code: 0 });
    const { pid, url, ended } = running;
    await until("the run runs", async () => {
      const { items } = await (running as RunningDrover).json(200, "GET", "/v1/runs?state=running");
      return items.length > 0 || undefined;
    });
    killIfThere(pid);
    await ended;
    const port = Number(new URL(url).port);
    await until("the port is free", async () => (await portProblem(port)) === undefined || undefined);
    const stranger = await startStranger(port);
    await until("the agent has called some times", async () => stranger.heard.length >= 3 || undefined);
    expect(toldBeyondHello(stranger.heard)).toEqual([]);
  });
});

describe("X1: a control plane that is somewhere else", () => {
  test("is told nothing by way of somebody who passes a hello on to it", async () => {
    const bench = await openBench();
    try {
      bench.plane.givesSockets = true;
      bench.plane.address = "127.0.0.1:1";
      const agent = bench.start();
      await until("the agent says why", async () => {
        return agent.stderr().includes("another program relays to it") || undefined;
      });
      expect(bench.plane.calls).toEqual([]);
      // The same, once it has been there: no webhook, and no socket.
      bench.plane.address = undefined;
      await bench.plane.until("a socket", () => bench.plane.sockets.size > 0);
      bench.plane.order([run("mine/main/1.1", ["sh", "-c", `echo ${OUTPUT}; sleep 300`])]);
      await bench.plane.untilState("mine/main/1.1", "running");
      bench.plane.address = "127.0.0.1:1";
      const before = bench.plane.calls.length;
      const { greeted } = bench.plane;
      for (const socket of bench.plane.sockets) socket.terminate();
      await bench.plane.until("hellos", () => bench.plane.greeted > greeted + 2);
      expect(bench.plane.calls.slice(before)).toEqual([]);
    } finally {
      await bench.close();
    }
  });
});
