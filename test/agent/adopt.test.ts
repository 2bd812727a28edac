import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AttemptStore } from "../../agent/exec/processes/dirs.ts";
import { ServingShim, textOf } from "../../agent/exec/shims/serving-shim.ts";
import { type ShimCommand, startAlone } from "../../agent/exec/shims/shim.ts";
import { lives, parseStat } from "../../posix/proc.ts";
import { SEED } from "../chance/seed.ts";
import { Chance } from "../sim/rng.ts";
import { type Bench, kill, openBench, type RunningAgent, run, stop } from "./support/bench.ts";

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

/** An agent with one attempt that has said that it is ready. */
async function busyAgent(script: string, ...more: [Parameters<typeof run>[2]?, number?]) {
  const agent = bench.start();
  bench.plane.order([run(ID, ["sh", "-c", script], ...more)]);
  await bench.plane.until("it says that it is ready", () => bench.plane.stored(ID).includes("ready"));
  return agent;
}

/** Starts an agent again and resolves when it has reported that its boot probe is over. */
async function startAgain(env?: Record<string, string>): Promise<RunningAgent> {
  const before = bench.plane.incarnation;
  const agent = bench.start(env);
  await bench.plane.until("it reports", () =>
    bench.plane.reports.some(({ incarnation, boot }) => incarnation > before && boot?.ok),
  );
  return agent;
}

/** A file of the bench: what a task waits for, or leaves. */
const fileOf = (name: string) => join(bench.dir, name);
const waitFor = (name: string) => `while ! [ -e ${fileOf(name)} ]; do sleep 0.02; done`;
const attemptFolder = () => join(bench.stateDir, "attempts", "build-17_main_1.1");
const shimFile = () => join(attemptFolder(), "exit");

describe("an agent that is killed while tasks run (host-protocol.md#survives; cases.md#case-11)", () => {
  // tasks.md#agent-end-2, tasks.md#agent-end-7, tasks.md#life-5
  test("its next start adopts them: their exit and every byte of their output arrive", async () => {
    const first = `echo once >>${fileOf("count")}; echo ready; ${waitFor("go")}`;
    await kill(await busyAgent(`${first}; seq 100000; echo e >&2; exit 7`));
    const again = await startAgain();
    expect(bench.plane.attempt(ID)?.state).toBe("running");
    await kill(again);
    await startAgain();
    writeFileSync(fileOf("go"), "");
    const attempt = await bench.plane.untilStored(ID);
    expect(attempt).toMatchObject({ state: "exited", exit: { code: 7, signal: null } });
    const numbers = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join("");
    expect(bench.plane.stored(ID).toString()).toBe(`ready\n${numbers}`);
    expect(bench.plane.stored(ID, "stderr").toString()).toBe("e\n");
    expect(readFileSync(fileOf("count"), "utf8")).toBe("once\n");
    expect(bench.plane.enrolled.length).toBe(1);
  });

  test.each([
    ["a code", "exit 9", { code: 9, signal: null }],
    ["a signal", "kill -KILL $$", { code: null, signal: "SIGKILL" }],
  ])("a task that ends with %s in the meantime is reported so", async (_, end, exit) => {
    await kill(await busyAgent(`echo ready; ${waitFor("go")}; echo last; ${end}`));
    writeFileSync(fileOf("go"), "");
    await expect.poll(() => bench.processes()).toEqual([]);
    await startAgain();
    expect((await bench.plane.untilStored(ID)).exit).toMatchObject(exit);
    expect(bench.plane.stored(ID).toString()).toBe("ready\nlast\n");
  });

  test("an exit that was reported is reported again until the orders omit it", async () => {
    const agent = await busyAgent("echo ready; exit 3");
    await bench.plane.untilStored(ID);
    await kill(agent);
    await startAgain();
    expect((await bench.plane.untilState(ID, "exited")).exit?.code).toBe(3);
    bench.plane.order([]);
    await expect.poll(() => existsSync(join(bench.stateDir, "attempts", "build-17_main_1.1"))).toBe(false);
    await expect
      .poll(() => existsSync(join(bench.stateDir, "journal", "build-17_main_1.1.json")))
      .toBe(false);
  });

  test("what was adopted is stopped as any other, with its children", async () => {
    await kill(await busyAgent("trap 'echo bye; exit 5' TERM; sleep 300 & echo ready; wait"));
    await startAgain();
    bench.plane.order([stop(ID)]);
    const attempt = await bench.plane.untilStored(ID);
    expect(attempt).toMatchObject({ exit: { code: 5 }, kill: { treeGone: true, error: null } });
    expect(bench.plane.stored(ID).toString()).toBe("ready\nbye\n");
    expect(bench.processes()).toEqual([]);
  });

  test("what a task has left behind in the meantime is killed before its exit is told", async () => {
    await kill(await busyAgent(`setsid sleep 300 & echo ready; ${waitFor("go")}; exit 2`));
    writeFileSync(fileOf("go"), "");
    await expect.poll(() => /\n2\n$/.test(readFileSync(shimFile(), "utf8"))).toBe(true);
    await startAgain();
    expect((await bench.plane.untilState(ID, "exited")).exit?.code).toBe(2);
    expect(bench.processes()).toEqual([]);
  });

  // tasks.md#handle-4
  test("one whose shim was killed too is gone, and so is all that lived of it", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300"));
    const shim = parseStat(readFileSync(shimFile(), "utf8"));
    if (shim === undefined) throw new Error("the shim has not named itself");
    process.kill(shim.pid, "SIGKILL");
    await expect.poll(() => lives(shim)).toBe(false);
    await startAgain();
    expect((await bench.plane.untilState(ID, "gone")).exit).toBeUndefined();
    expect(bench.processes()).toEqual([]);
  });
});

describe("a start that was interrupted", () => {
  test("before the command began: the orders start it, once", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300"));
    // As it is when the agent dies between the claim and the first word of the shim.
    const [key, journals] = ["cut_main_1.1", join(bench.stateDir, "journal")];
    const other = readFileSync(join(journals, "build-17_main_1.1.json"), "utf8");
    const { boot, content } = JSON.parse(other);
    const { plan, timedOut } = content;
    writeFileSync(join(journals, `${key}.json`), JSON.stringify({ boot, content: { plan, timedOut } }));
    mkdirSync(join(bench.stateDir, "attempts", key));
    writeFileSync(join(bench.stateDir, "attempts", key, "exit"), "");
    bench.plane.order([run("cut/main/1.1", ["sh", "-c", `echo once >>${fileOf("count")}; exit 8`])]);
    await startAgain();
    expect((await bench.plane.untilState("cut/main/1.1", "exited")).exit?.code).toBe(8);
    expect(readFileSync(fileOf("count"), "utf8")).toBe("once\n");
  });

  test("is found by the start after one that was killed while it took it back (tasks.md#start-5)", () => {
    const state = join(bench.dir, "killed");
    const ids = ["begun/main/1.1", "new/main/1.1"];
    const store = new AttemptStore(state);
    for (const id of ids) expect(store.claim(id)).toBe(true);
    const [begun = "", fresh = ""] = ids.map((id) => store.dirsOf(id).root);
    writeFileSync(join(begun, "exit"), "4242 (sh) S 1 4242 4242 0\n");
    writeFileSync(join(fresh, "exit"), "");
    for (const root of [begun, fresh]) renameSync(root, join(state, "retracted", basename(root)));
    const next = new AttemptStore(state);
    next.prune();
    expect([next.found(), ids.map((id) => next.claim(id))]).toEqual([["begun/main/1.1"], [false, true]]);
  });

  // tasks.md#start-5
  test.each(["alone", "of many"])(
    "at any moment, by a shim %s: either it is known to have begun, or it never does",
    async (kind) => {
      const serving = new ServingShim({});
      const start = (command: ShimCommand) =>
        kind === "alone" ? startAlone(command) : serving.start(textOf(command) ?? "", command);
      const store = new AttemptStore(join(bench.dir, "store"));
      const seen = { begun: 0, retracted: 0 };
      // On a busy machine the shim may be faster for long: so it goes on until both have been seen.
      let round = 0;
      for (; round < 30 || (seen.retracted === 0 && round < 600); round += 1) {
        const id = `race-${round}/main/1.1`;
        expect(store.claim(id)).toBe(true);
        const begun = fileOf(`begun-${round}`);
        const files = store.dirsOf(id);
        const starting = start({ argv: ["touch", begun], entrances: [], dir: bench.dir, env: {}, files });
        for (const until = performance.now() + (round % 30) / 10; performance.now() < until; );
        const retracted = store.retract(id);
        await (await starting)?.ended;
        seen[retracted ? "retracted" : "begun"] += 1;
        // One that was put back too late for its shim has named itself, and is lost: it never runs twice.
        if (retracted) expect(existsSync(begun)).toBe(false);
      }
      expect(seen.begun + seen.retracted).toBe(round);
      expect(seen.retracted).toBeGreaterThan(0);
      serving.end();
    },
  );

  test("a task that deletes all that the agent has of it is not started again", async () => {
    const first = `echo once >>${fileOf("count")}; echo ready; ${waitFor("go")}`;
    const clean = `rm -rf "${attemptFolder()}" "$DROVER_TASK_DIR"; echo >${fileOf("clean")}`;
    const agent = await busyAgent(`${first}; ${clean}; exec sleep 300`);
    writeFileSync(fileOf("go"), "");
    await expect.poll(() => existsSync(fileOf("clean"))).toBe(true);
    await kill(agent);
    await startAgain();
    await bench.plane.untilState(ID, "gone");
    expect(bench.processes()).toEqual([]);
    expect(readFileSync(fileOf("count"), "utf8")).toBe("once\n");
  });
});

test("an agent that is killed again and again loses no task and starts none twice", async () => {
  const chance = new Chance(SEED);
  const ids = Array.from({ length: 12 }, (_, index) => `many-${index}/main/1.1`);
  const script = (index: number) =>
    `echo ${index} >>${fileOf("count")}; echo a; sleep 0.${index}; echo b; exit ${index}`;
  for (let round = 1; round <= 8; round += 1) {
    const agent = bench.start();
    bench.plane.order(ids.slice(0, round * 2).map((id, index) => run(id, ["sh", "-c", script(index)])));
    await expect.poll(() => agent.stderr()).toContain("is host w-1");
    // Nothing is waited for here: a crash comes when it comes.
    await sleep(chance.between(0, 150));
    await kill(agent);
  }
  bench.start();
  for (const [index, id] of ids.entries()) {
    const attempt = await bench.plane.untilStored(id);
    expect(attempt.exit).toMatchObject({ code: index, signal: null });
    expect(bench.plane.stored(id).toString()).toBe("a\nb\n");
  }
  const started = readFileSync(fileOf("count"), "utf8").trim().split("\n").map(Number);
  expect(started.sort((a, b) => a - b)).toEqual(ids.map((_, index) => index));
});

describe("a process is known by its pid and its start, in one boot (cases.md#case-11)", () => {
  test("one that has a recorded pid but another start is not taken for it, nor touched", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300"));
    const innocent = spawn("sleep", ["300"], { detached: true });
    try {
      for (const pid of bench.processes()) process.kill(pid, "SIGKILL");
      await expect.poll(() => bench.processes()).toEqual([]);
      const [line = ""] = readFileSync(shimFile(), "utf8").split("\n");
      writeFileSync(shimFile(), `${line.replace(/^\d+/, String(innocent.pid))}\n`);
      await startAgain();
      expect((await bench.plane.untilState(ID, "gone")).exit).toBeUndefined();
      expect(innocent.exitCode ?? innocent.signalCode).toBeNull();
    } finally {
      innocent.kill("SIGKILL");
    }
  });

  test("after a boot nothing is looked for: all attempts of the old one are gone", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300"));
    const left = bench.processes();
    await startAgain({ DROVER_BOOT_ID: "boot-2" });
    expect((await bench.plane.untilState(ID, "gone")).kill).toBeUndefined();
    expect(bench.processes()).toEqual(left);
    expect(bench.plane.calls.find(({ path }) => path.endsWith("/join"))?.body).toContain("boot-2");
  });

  test("without a journal nothing is believed: what lives is killed (tasks.md#restore-1)", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300"));
    rmSync(join(bench.stateDir, "journal"), { recursive: true });
    await startAgain();
    await bench.plane.untilState(ID, "gone");
    expect(bench.processes()).toEqual([]);
  });
});

describe("what was granted to an attempt outlives the agent", () => {
  test("its time limit, although the same orders come again", async () => {
    const agent = await busyAgent("echo ready; exec sleep 300", {}, 3_000);
    await kill(agent);
    await startAgain();
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt).toMatchObject({ timedOut: true, exit: { signal: "SIGTERM" } });
    const journal = readFileSync(join(bench.stateDir, "journal", "build-17_main_1.1.json"), "utf8");
    const { deadline, startedAt, endedAt } = JSON.parse(journal).content;
    expect(deadline - startedAt).toBeLessThanOrEqual(3_000);
    expect(endedAt).toBeGreaterThanOrEqual(deadline);
  });

  // tasks.md#restore-5
  test("the lease: without an answer the next start ends its tasks in time (rule R4)", async () => {
    bench.plane.leaseMs = 33_000;
    await kill(await busyAgent("echo ready; exec sleep 300", { killTimeoutMs: 100 }));
    bench.plane.override = () => ({ status: 503 });
    await bench.startUnlocked();
    await expect.poll(() => bench.processes()).toEqual([]);
    bench.plane.override = () => undefined;
    expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGTERM");
  });

  test("a lease that is not known is none", async () => {
    await kill(await busyAgent("echo ready; exec sleep 300"));
    rmSync(join(bench.stateDir, "lease.json"));
    bench.plane.override = () => ({ status: 503 });
    await bench.startUnlocked();
    await expect.poll(() => bench.processes()).toEqual([]);
  });
});

test("a second agent on the same state is refused, and touches nothing", async () => {
  await busyAgent("echo ready; exec sleep 300");
  const second = bench.start();
  expect((await second.ended).code).toBe(4);
  expect(second.stderr()).toContain("Stop it first");
  bench.plane.order([{ id: ID, want: "run" }]);
  await bench.plane.until("the first one reports", () => bench.plane.reports.at(-1)?.ordersSeen === 2);
  expect(bench.plane.attempt(ID)?.state).toBe("running");
  expect(bench.plane.incarnation).toBe(1);
});
