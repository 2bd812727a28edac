import { rmSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listProcs } from "../../posix/proc.ts";
import {
  endDrover,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import { pidOf, until } from "./support/scratch.ts";
import { leftOf } from "./support/up-process.ts";

let home: string;
let up: RunningDrover;
beforeEach(async () => {
  home = makeHome("stopping");
  up = await startDrover(home);
});
afterEach(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const resources = { vcpus: 2, memory: "16MiB" };
const submit = (id: string, script: string, more: object = {}) =>
  up.json(201, "POST", "/v1/runs", { id, argv: ["sh", "-c", script], resources, ...more });
const runOf = (id: string) => up.json(200, "GET", `/v1/runs/${id}`);
const inState = (id: string, state: string) =>
  until(`${id} is ${state}`, async () => (await runOf(id)).state === state || undefined);

test("P19: Ctrl-C of drover up aborts what runs, and leaves in the queue what waits", async () => {
  const config = await poolConfigOf(up);
  await up.json(200, "PUT", "/v1/pools/default", { ...config, maxInstances: 1 });
  await submit("polite", "sleep 1000");
  await submit("deaf", "trap '' TERM; while :; do sleep 1; done", { killTimeout: "10m" });
  await inState("polite", "running");
  await inState("deaf", "running");
  await submit("queued", "true");
  expect(await up.stop()).toBe(0);
  expect(up.said()).toContain("2 runs are running. Aborting");
  expect(up.said()).not.toContain("Some runs did not end");
  expect(leftOf(up.stateDir)).toEqual([]);
  up = await startDrover(home);
  for (const id of ["polite", "deaf"]) {
    expect(await runOf(id)).toMatchObject({ state: "aborted", abort: { reason: "drover up was stopped" } });
  }
  await inState("queued", "complete");
});

test("P36: drover up says that workerd or a machine was killed, and what ran there", async () => {
  await submit("busy", "sleep 1000");
  await inState("busy", "running");
  const childrenOf = (parent: number) => listProcs().filter((one) => one.ppid === parent && !one.ended);
  const machines = new Set(leftOf(up.stateDir));
  const [machine] = childrenOf(up.pid).filter(({ pid, session }) => machines.has(pid) && pid === session);
  const [workerd] = childrenOf(up.pid).filter(({ pid }) => pid !== machine?.pid);
  process.kill(pidOf(workerd), "SIGKILL");
  await until("the control plane is back", () => up.said().includes("is running again") || undefined);
  expect(up.said()).toMatch(/the control plane \(workerd\) was killed by SIGKILL, and is being restarted/);
  expect(up.said()).toMatch(/the control plane is running again: 1 run running, 0 waiting\./);
  process.kill(pidOf(machine), "SIGKILL");
  await until("the machine is told of", () => up.said().includes("with 1 run on it (busy)") || undefined);
  expect(up.said()).toMatch(
    /machine default-\S+-1 was killed by SIGKILL with 1 run on it \(busy\)\. Another/,
  );
  expect(await up.stop()).toBe(0);
});
