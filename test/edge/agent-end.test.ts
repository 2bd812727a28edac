import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("agent-end");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

test("a command whose agent is told to end fails by the machinery, not by itself (rule R4)", async () => {
  const ready = join(home, "ready");
  const argv = ["sh", "-c", `trap 'exit 0' TERM; : >${ready}; while :; do sleep 0.05; done`];
  await up.json(201, "POST", "/v1/runs", { id: "cut", argv });
  await until("it is ready", () => existsSync(ready) || undefined);
  const { placements } = await up.json(200, "GET", "/v1/runs/cut?wait=30s&state=running");
  const { instance } = await up.json(200, "GET", `/v1/workers/${placements[0].worker}`);
  process.kill(agentOf(instance), "SIGTERM");
  const run = await up.json(200, "GET", "/v1/runs/cut?wait=60s&state=done");
  expect(run).toMatchObject({
    state: "failed",
    exitCode: null,
    failure: { class: "infrastructure", code: "agent_ended" },
    tasks: [{ attempts: [{ state: "exited", exit: { code: 0 } }] }],
  });
});

/** The pid of the agent on an instance, as its lock says. */
function agentOf(instance: string): number {
  const lock = join(up.stateDir, "instances", instance, "agent", "agent.lock");
  return Number(/\d+/.exec(readFileSync(lock, "utf8"))?.[0]);
}
