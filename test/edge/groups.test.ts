import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { endOf as endOfRun, playAll, says as saysOn } from "../groups/player.ts";
import { specOf } from "../groups/scenario.ts";
import { SCENARIOS } from "../groups/scenarios.ts";
import { until } from "../local/support/scratch.ts";
import {
  drover,
  endDrover,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";
import type { Json } from "./support/edge.ts";

// Groups with real processes, on one `drover up` of the built package: tasks.md#reactions,
// tasks.md#order-of-the-end, tasks.md#poststop, restart.md#restart-policy, tasks.md#kill.

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("groups");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const small = { vcpus: 0, memory: "64MiB" };
const sh = (name: string, script: string, more: object = {}) => ({
  name,
  argv: ["sh", "-c", script],
  restart: { attempts: 0 },
  ...more,
});
const presidecar = { lifecycle: { hook: "prestart", sidecar: true } };
const PLAYS = "plays";

async function submit(id: string, ...tasks: object[]): Promise<void> {
  const spec = { id, tasks, resources: small, reschedule: { attempts: 0 }, killTimeout: "1s" };
  await up.json(201, "POST", "/v1/runs", spec);
}

const read = (id: string): Promise<Json> => up.json(200, "GET", `/v1/runs/${id}`);
const task = (run: Json, name: string) => run.tasks.find((one: Json) => one.name === name);
const typesOf = (run: Json, name: string) =>
  task(run, name)
    .events.filter((event: Json) => event.task === name)
    .map((event: Json) => event.type);

const endOf = (id: string) => endOfRun(up, id);
const says = (id: string, name: string, words: string) => saysOn(up, id, name, words);

const can = findHierarchies().some(({ limits }) => limits.includes("memory"));
const REAL = SCENARIOS.filter(({ needs }) => needs !== "memory" || can);

test("what is not tried on this machine is said", () => {
  if (!can) console.info("nothing bounds memory here: no task is let out of it");
  expect(SCENARIOS.length - REAL.length).toBe(can ? 0 : 1);
});

describe("with real processes", () => playAll(() => up, REAL, "exec"));

describe("played by the agent, in a pool that allows it (`allowFakeDriver`)", () => {
  beforeAll(async () => {
    const config = { ...(await poolConfigOf(up)), allowFakeDriver: true };
    await up.json(201, "PUT", `/v1/pools/${PLAYS}`, config);
  });
  playAll(() => up, SCENARIOS, "fake", PLAYS);
});

test("`drover run -f` tells a group as it happens, with its attempts and what each writes", async () => {
  const twice = "echo out $DROVER_ATTEMPT_ID; echo err >&2; test -e again || { touch again; exit 1; }";
  const spec = {
    tasks: [
      sh("prepare", "echo prepared", { lifecycle: { hook: "prestart" } }),
      sh("work", twice, { restart: { attempts: 1, delay: "50ms", interval: "1h" } }),
      sh("clean", "echo cleaned", { lifecycle: { hook: "poststop" } }),
    ],
    resources: small,
  };
  writeFileSync(join(home, "told.json"), JSON.stringify(spec));
  const { code, stdout, stderr } = await drover(home, ["run", "--id", "told", "-f", "told.json"]);
  expect([code, stdout.toString()]).toEqual([0, "out told/work/1.1\nout told/work/1.2\n"]);
  const lines = stderr.split("\n");
  expect(lines.filter((line) => line.includes(" | ")).sort()).toEqual([
    "clean   | cleaned",
    "prepare | prepared",
    "work    | err",
    "work    | err",
  ]);
  const told = ["prepare", "work", "clean"].flatMap((name) => {
    const mine = lines.filter((line) => line.startsWith(name) && line.includes(" * "));
    return mine.map((line) => line.replace(/ +\* /, " ").replace(/:.*/, ""));
  });
  expect(told).toEqual([
    "prepare Started (attempt 1.1)",
    "prepare Terminated (attempt 1.1)",
    "work Started (attempt 1.1)",
    "work Terminated (attempt 1.1)",
    "work Restarting",
    "work Started (attempt 1.2)",
    "work Terminated (attempt 1.2)",
    "clean Started (attempt 1.1)",
    "clean Terminated (attempt 1.1)",
  ]);
});

test("a pool that does not allow it refuses what is only played, and says so", async () => {
  const [first] = SCENARIOS;
  if (first === undefined) throw new Error("there are no scenarios");
  const refused = await up.json(422, "POST", "/v1/runs", { id: "refused", ...specOf(first, "fake") });
  expect(refused).toMatchObject({ code: "fake_driver_not_allowed" });
  expect(refused.detail).toContain("allowFakeDriver");
  await up.json(404, "GET", "/v1/runs/refused");
});

test("a sidecar that dies and may start again does not", async () => {
  const again = { ...presidecar, restart: { attempts: 100, delay: "100ms", interval: "1h" } };
  await submit("sideagain", sh("db", "sleep 0.2; exit 9", again), sh("work", "sleep 1.5"));
  const run = await endOf("sideagain");
  expect(run).toMatchObject({ state: "complete", exitCode: 0 });
  expect(task(run, "db").attempts.length).toBeGreaterThan(1);
  expect(typesOf(run, "db")).toContain("Restarting");
});

test("a command that is started again keeps its attempts apart, each with its output", async () => {
  const again = { attempts: 2, delay: "50ms", interval: "1h" };
  await up.json(201, "POST", "/v1/runs", {
    id: "again",
    argv: ["sh", "-c", "echo tried; exit 4"],
    restart: again,
  });
  const run = await endOf("again");
  expect(run).toMatchObject({ state: "complete", allocStatus: "failed", exitCode: 4, failure: null });
  expect(run.tasks[0]).toMatchObject({ restarts: 2, failed: true });
  for (const n of ["1.1", "1.2", "1.3"]) {
    const log = await up.call("GET", `/v1/runs/again/logs/main/stdout?attempt=${n}`);
    expect(await log.text()).toBe("tried\n");
  }
  expect((await read("again")).tasks[0].events.map((event: Json) => event.type)).toContain("Not Restarting");
});

test("a person signals a task: once, though the request comes twice (tasks.md#signals)", async () => {
  const count = "n=0; trap 'n=$((n+1)); echo got $n' HUP; echo on; while :; do sleep 0.05; done";
  await submit("hup", sh("loop", count), sh("done", "echo done"));
  await says("hup", "loop", "on");
  await until(
    "the other has ended",
    async () => task(await read("hup"), "done").state === "dead" || undefined,
  );
  const send = (body: object, key: string) =>
    up.call("POST", "/v1/runs/hup/signal", body, { "idempotency-key": key });
  const first = await send({ task: "loop", signal: "SIGHUP" }, "a");
  expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([200, null]);
  const second = await send({ task: "loop", signal: "SIGHUP" }, "a");
  expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
  expect(await (await send({ signal: "SIGHUP" }, "a")).json()).toMatchObject({
    code: "idempotency_mismatch",
  });
  await says("hup", "loop", "got 1\n");
  await up.json(200, "POST", "/v1/runs/hup/signal", { signal: "SIGHUP" });
  await says("hup", "loop", "got 1\ngot 2\n");
  expect(await up.json(409, "POST", "/v1/runs/hup/signal", { task: "done", signal: "SIGHUP" })).toMatchObject(
    {
      code: "not_running",
    },
  );
  await up.json(200, "POST", "/v1/runs/hup/signal", { task: "loop", signal: "SIGKILL" });
  const run = await endOf("hup");
  expect(typesOf(run, "loop").filter((type: string) => type === "Signaling")).toHaveLength(3);
  expect(task(run, "loop").attempts[0].exit).toMatchObject({ signal: "SIGKILL" });
  const log = await up.call("GET", "/v1/runs/hup/logs/loop/stdout");
  expect(await log.text()).toBe("on\ngot 1\ngot 2\n");
  expect(await up.json(409, "POST", "/v1/runs/hup/signal", { signal: "SIGHUP" })).toMatchObject({
    code: "terminal",
  });
});

test("what its tasks use can be read while they run (tasks.md#usage)", async () => {
  await submit("busy", sh("spin", "echo on; while :; do :; done"), sh("idle", "exec sleep 600"));
  await says("busy", "spin", "on");
  const stats = await until("all of it was measured", async () => {
    const read = await up.json(200, "GET", "/v1/runs/busy/stats");
    return read.tasks.every((one: Json) => one.usage !== null) ? read : undefined;
  });
  const [spin, idle] = stats.tasks.map((one: Json) => one.usage);
  expect(spin.cpuMs).toBeGreaterThan(idle.cpuMs);
  expect(idle).toMatchObject({ memoryBytes: expect.any(Number), pids: 1 });
  expect(stats.total).toMatchObject({ pids: 2, memoryBytes: spin.memoryBytes + idle.memoryBytes });
  const one = await up.json(200, "GET", "/v1/runs/busy/stats?task=idle");
  expect(one.tasks).toMatchObject([{ name: "idle", state: "running", attempt: "busy/idle/1.1" }]);
  expect(await up.json(404, "GET", "/v1/runs/busy/stats?task=nope")).toMatchObject({ code: "unknown_task" });
  await up.json(200, "POST", "/v1/runs/busy/abort", {});
  await endOf("busy");
  expect(await up.json(200, "GET", "/v1/runs/busy/stats")).toMatchObject({ at: null, total: null });
});

// tasks.md#restart-by-hand, tasks.md#update-in-place
test("a person starts a task again, and changes its spec", async () => {
  const spec = { id: "again-by-hand", argv: ["sh", "-c", "echo on; sleep 600"], restart: { attempts: 0 } };
  await up.json(201, "POST", "/v1/runs", spec);
  await says("again-by-hand", "main", "on");
  await up.json(200, "POST", "/v1/runs/again-by-hand/restart", {});
  await until("its second attempt runs", async () => {
    const { tasks } = await read("again-by-hand");
    return tasks[0].attempts.length === 2 && tasks[0].phase === "running" ? true : undefined;
  });
  const changed = { ...spec, restart: { attempts: 1, delay: "50ms" }, labels: { who: "ann" } };
  const update = (specIndex: number) =>
    up.call("PATCH", "/v1/runs/again-by-hand", { spec: changed, specIndex });
  expect(await (await update(1)).json()).toMatchObject({ specIndex: 2, labels: { who: "ann" } });
  expect(await (await update(1)).json()).toMatchObject({ status: 409, code: "stale_index" });
  await up.json(200, "POST", "/v1/runs/again-by-hand/abort", {});
  const run = await endOf("again-by-hand");
  expect(run).toMatchObject({ state: "aborted", tasks: [{ restarts: 1 }] });
  await up.json(409, "POST", "/v1/runs/again-by-hand/restart", {});
});
