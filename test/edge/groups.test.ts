import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environmentOf, listProcesses } from "../../local/processes.ts";
import { until } from "../local/support/scratch.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";

// Groups with real processes, on one `drover up` of the built package: nomad.md §1.7 to §1.9, §3, §4.6.

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
const prestart = { lifecycle: { hook: "prestart" } };
const presidecar = { lifecycle: { hook: "prestart", sidecar: true } };
const poststop = { lifecycle: { hook: "poststop" } };
const clean = sh("clean", "echo cleaned", poststop);

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

/** The run, once it has ended. Nothing of it lives any more then. */
async function endOf(id: string): Promise<Json> {
  const ended = await until(`${id} has ended`, async () => {
    const status = await up.json(200, "GET", `/v1/runs/${id}?wait=20s&state=done`);
    return status.finishedAt === null ? undefined : status;
  });
  expect(livingOf(id)).toEqual([]);
  return ended;
}

function livingOf(id: string): number[] {
  return listProcesses()
    .filter(({ pid, zombie }) => !zombie && environmentOf(pid).includes(`DROVER_RUN_ID=${id}`))
    .map(({ pid }) => pid);
}

async function says(id: string, name: string, words: string): Promise<void> {
  await until(`${name} of ${id} says ${words}`, async () => {
    const answer = await up.call("GET", `/v1/runs/${id}/logs/${name}/stdout`);
    return answer.ok && (await answer.text()).includes(words) ? true : undefined;
  });
}

test("prestart, main with its sidecar, poststop: one after the other", async () => {
  await submit(
    "whole",
    sh("db", "echo up; sleep 600", presidecar),
    sh("prepare", "echo prepared", prestart),
    sh("work", "echo worked"),
    clean,
  );
  const run = await endOf("whole");
  expect(run).toMatchObject({ state: "complete", allocStatus: "complete", exitCode: 0 });
  expect(typesOf(run, "db")).toContain("Main Tasks Dead");
  for (const [name, words] of [
    ["db", "up"],
    ["prepare", "prepared"],
    ["work", "worked"],
    ["clean", "cleaned"],
  ] as const)
    await says("whole", name, words);
  const at = (name: string, what: "startedAt" | "finishedAt") => Date.parse(task(run, name)[what]);
  expect(at("work", "startedAt")).toBeGreaterThanOrEqual(at("prepare", "finishedAt"));
  expect(at("clean", "startedAt")).toBeGreaterThanOrEqual(at("db", "finishedAt"));
});

test("a prestart task that fails: main never starts, poststop runs, and it is to blame", async () => {
  await submit("prefail", sh("prepare", "exit 3", prestart), sh("work", "echo worked"), clean);
  const run = await endOf("prefail");
  expect(run).toMatchObject({
    state: "failed",
    failure: { class: "task", code: "task_failed", text: 'task "prepare" failed with exit code 3' },
  });
  expect(task(run, "work").attempts).toEqual([]);
  await says("prefail", "clean", "cleaned");
});

test("a sidecar that dies fails the group", async () => {
  await submit("sidefail", sh("db", "sleep 0.2; exit 9", presidecar), sh("work", "sleep 600"), clean);
  const run = await endOf("sidefail");
  expect(run).toMatchObject({ state: "failed", failure: { text: 'task "db" failed with exit code 9' } });
  expect(typesOf(run, "work")).toContain("Sibling Task Failed");
  await says("sidefail", "clean", "cleaned");
});

test("a sidecar that dies and may start again does not", async () => {
  const again = { ...presidecar, restart: { attempts: 100, delay: "100ms", interval: "1h" } };
  await submit("sideagain", sh("db", "sleep 0.2; exit 9", again), sh("work", "sleep 1.5"));
  const run = await endOf("sideagain");
  expect(run).toMatchObject({ state: "complete", exitCode: 0 });
  expect(task(run, "db").attempts.length).toBeGreaterThan(1);
  expect(typesOf(run, "db")).toContain("Restarting");
});

test("a leader that ends first ends the others, and its exit code is the run's", async () => {
  await submit("lead", sh("work", "sleep 600"), sh("boss", "sleep 0.2", { leader: true }), clean);
  const run = await endOf("lead");
  expect(run).toMatchObject({ state: "complete", exitCode: 0 });
  expect(typesOf(run, "work")).toContain("Leader Task Dead");
  await says("lead", "clean", "cleaned");
});

test("an abort stops the leader, then the others, then sidecars; poststop runs after it", async () => {
  await submit(
    "abort",
    sh("db", "sleep 600", presidecar),
    sh("work", "echo on; sleep 600", { leader: true }),
    clean,
  );
  await says("abort", "work", "on");
  await up.json(200, "POST", "/v1/runs/abort/abort", { reason: "enough" });
  const run = await endOf("abort");
  expect(run).toMatchObject({ state: "aborted" });
  const ended = (name: string) => Date.parse(task(run, name).finishedAt);
  expect(ended("db")).toBeGreaterThanOrEqual(ended("work"));
  await says("abort", "clean", "cleaned");
});

test("a task that ignores SIGTERM, and one that forks twice, end with their group", async () => {
  await submit(
    "deaf",
    sh("deaf", "trap '' TERM; echo deaf; while :; do sleep 1; done"),
    sh("twice", "(sh -c 'sleep 600 & sleep 600' &) ; echo forked; sleep 600"),
    clean,
  );
  await says("deaf", "deaf", "deaf");
  await says("deaf", "twice", "forked");
  await up.json(200, "POST", "/v1/runs/deaf/abort", {});
  const run = await endOf("deaf");
  expect(run).toMatchObject({ state: "aborted" });
  expect(task(run, "deaf").attempts[0].exit).toMatchObject({ signal: "SIGKILL" });
  await says("deaf", "clean", "cleaned");
});

test("a task whose command is not there fails its group with that code, and poststop runs", async () => {
  await submit("missing", { ...sh("work", ""), argv: ["no-such-command"] }, sh("other", "sleep 600"), clean);
  expect(await endOf("missing")).toMatchObject({ state: "failed", failure: { code: "command_not_found" } });
  await says("missing", "clean", "cleaned");
});

test("poststop does not run when the time is over", async () => {
  const spec = { id: "late", tasks: [sh("work", "sleep 600"), clean], resources: small, timeout: "1s" };
  await up.json(201, "POST", "/v1/runs", spec);
  const run = await endOf("late");
  expect(run).toMatchObject({ state: "timedout" });
  expect(task(run, "clean").attempts).toEqual([]);
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

test("a person signals a task: once, though the request comes twice (nomad.md §4.6)", async () => {
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

test("a task that is only played needs a pool that allows it (`allowFakeDriver`)", async () => {
  const spec = {
    tasks: [{ name: "m", argv: ["x"], driver: "fake", fake: { exitCode: 3, output: ["played"] } }],
  };
  const refused = await up.json(422, "POST", "/v1/runs", { ...spec, id: "refused" });
  expect(refused).toMatchObject({ code: "fake_driver_not_allowed" });
});

test("what its tasks use can be read while they run (nomad.md §6.3)", async () => {
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

test("a person starts a task again, and changes its spec (nomad.md §4.6, §5.2)", async () => {
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
