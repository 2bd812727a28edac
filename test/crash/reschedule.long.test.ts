import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endDrover,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import type { Json } from "../edge/support/edge.ts";
import { until } from "../local/support/scratch.ts";
import { killMachine, runningIn } from "./support/strikes.ts";

// What becomes of runs whose machine is lost under them, or on which they failed, with real machines
// (restart.md#reschedule; the delays and what is eligible are in test/core/allocation/reschedule.test.ts).

const POOL = "lossy";
/** All vCPUs of a machine: each run has one for itself. */
const WHOLE = { vcpus: 4, memory: "16MiB" };
const ONCE = { attempts: 1, delay: "5s" };

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("reschedule");
  up = await startDrover(home);
  const config = await poolConfigOf(up);
  const pool = { ...config, maxInstances: 4, minInstances: 2, sync: { interval: "1s" } };
  await up.json(201, "PUT", `/v1/pools/${POOL}`, pool);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const marksFile = (id: string) => join(home, `${id}.marks`);
const enough = (id: string) => join(home, `${id}.enough`);
function marksOf(id: string): string[] {
  return existsSync(marksFile(id)) ? readFileSync(marksFile(id), "utf8").split("\n").slice(0, -1) : [];
}

/** A command that says that it was started, and then does this. */
const says = (id: string, script: string) => [
  "sh",
  "-c",
  `echo "$DROVER_ATTEMPT_ID" >>${marksFile(id)}; ${script}`,
];
const waits = (id: string) => `while [ ! -e ${enough(id)} ]; do sleep 0.05; done; exit 3`;

async function submit(id: string, spec: object): Promise<void> {
  await up.json(201, "POST", "/v1/runs", { id, pool: POOL, resources: WHOLE, ...spec });
}

/** Submits a run that waits, and resolves with its worker and its machine when it runs. */
async function running(id: string, spec: object = {}): Promise<{ worker: string; machine: string }> {
  await submit(id, { argv: says(id, waits(id)), ...spec });
  const worker = await until(`${id} runs`, async () => {
    const run = await up.json(200, "GET", `/v1/runs/${id}`);
    return marksOf(id).length > 0 && run.state === "running" ? run.placements[0].worker : undefined;
  });
  const machine = runningIn(up.stateDir).find(({ run }) => run === id)?.instance ?? "";
  return { worker, machine };
}

function endOf(id: string): Promise<Json> {
  return until(`${id} has ended`, async () => {
    const run = await up.json(200, "GET", `/v1/runs/${id}?wait=20s&state=done`);
    return run.finishedAt === null ? undefined : run;
  });
}

async function countOf(id: string, type: string): Promise<number> {
  const { items } = await up.json(200, "GET", `/v1/runs/${id}/events`);
  return items.filter((event: Json) => event.type === type).length;
}

const WAYS: [how: string, kill: (on: { worker: string; machine: string }) => unknown][] = [
  ["its processes are killed", ({ machine }) => killMachine(up.stateDir, machine)],
  [
    "an operator kills it",
    ({ worker }) => up.json(200, "POST", `/v1/workers/${worker}/kill`, { reason: "it smells of smoke" }),
  ],
];

test.each(WAYS)("a run is placed anew when its machine is lost: %s", async (how, kill) => {
  const id = `anew-${WAYS.findIndex(([way]) => way === how)}`;
  const lost = await running(id, { reschedule: ONCE });
  await kill(lost);
  await until("it runs again", () => marksOf(id).length === 2 || undefined);
  mkdirSync(enough(id));

  const run = await endOf(id);
  expect(run).toMatchObject({ state: "complete", allocStatus: "failed", exitCode: 3, failure: null });
  expect(run.placements).toMatchObject([
    { epoch: 1, worker: lost.worker, outcome: "lost" },
    { epoch: 2, worker: expect.not.stringMatching(lost.worker) },
  ]);
  expect(marksOf(id)).toEqual([`${id}/main/1.1`, `${id}/main/2.1`]);
  expect(await countOf(id, "Rescheduling")).toBe(1);
});

test.each(WAYS)("one that may not be ends `unknown`, and is not started again: %s", async (how, kill) => {
  const id = `lost-${WAYS.findIndex(([way]) => way === how)}`;
  await kill(await running(id));
  expect(await endOf(id)).toMatchObject({
    state: "unknown",
    exitCode: null,
    failure: { class: "infrastructure", code: "machine_lost" },
    placements: [{ epoch: 1, outcome: "lost" }],
  });
  expect(marksOf(id)).toEqual([`${id}/main/1.1`]);
});

test("a group that failed is placed anew on another machine, though the first one lives", async () => {
  await until("two machines are idle", async () => {
    const { items } = await up.json(200, "GET", `/v1/workers?pool=${POOL}&state=idle`);
    return items.length >= 2 || undefined;
  });
  const id = "failed";
  const argv = says(id, `mkdir ${enough(id)} || exit 0; exit 1`);
  const resources = { vcpus: 2, memory: "16MiB" };
  const task = { resources, restart: { attempts: 0 } };
  const tasks = [
    { name: "main", argv, ...task },
    { name: "beside", argv: ["true"], ...task },
  ];
  await submit(id, { tasks, reschedule: ONCE });
  const run = await endOf(id);
  expect(run).toMatchObject({ state: "complete" });
  const [first, second] = run.placements;
  expect(second.worker).not.toBe(first.worker);
  expect(await up.json(200, "GET", `/v1/workers/${first.worker}`)).toMatchObject({ state: "idle" });
});
