import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mainLine, noteOf, STARTING, wayOf } from "../../../agent/containers/note.ts";
import type { AttemptJournal } from "../../../agent/core/journal.ts";
import { Engine } from "../../../agent/engine/engine.ts";
import type { ContainerFacts } from "../../../agent/engine/types.ts";
import { readProc } from "../../../posix/proc.ts";
import { until } from "../../local/support/scratch.ts";
import { ID } from "../support/contained.ts";
import { type DriverBench, openDriverBench } from "./support/driver-bench.ts";

const JOURNAL: AttemptJournal = { timedOut: false, startedAt: 1 };

let bench: DriverBench;
beforeEach(async () => {
  bench = await openDriverBench();
});
afterEach(() => bench.close());

/** What the engine says of this host's containers as an agent starts. */
async function found() {
  const listed = await bench.fake.engine.listContainers(bench.names.own);
  const inspected = await Promise.all(listed.map(({ id }) => bench.fake.engine.inspectContainer(id)));
  const ended = inspected.filter((one): one is ContainerFacts => one?.state.status === "exited");
  return {
    socket: bench.fake.socketPath,
    listed: new Map(listed.map((one) => [one.name, one])),
    ended: new Map(ended.map((one) => [one.name, one])),
  };
}

describe("a kill (containers.md#kill)", () => {
  test("that meets an outage is tried again until the engine is back, within its own wait", async () => {
    bench.begun();
    let refusals = 0;
    bench.fake.override = ({ method, path }, response) => {
      if (method !== "GET" || !path.endsWith("/json") || refusals === 3) return false;
      refusals += 1;
      response.writeHead(500).end('{"message":"oops"}');
      return true;
    };
    expect(await bench.driver().kill(ID, 60_000)).toEqual({ killed: false });
    expect([refusals, bench.fake.containers]).toEqual([3, []]);
  });

  test("waits for no engine if the first process is known, also to a later start of the agent", async () => {
    const child: ChildProcess = spawn("sleep", ["1000"]);
    const main = readProc(child.pid ?? 0);
    if (main === undefined) throw new Error("the process does not live");
    bench.begun({}, mainLine(main));
    await bench.fake.down();
    const ended = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
    const driver = bench.driver();
    expect(driver.recover(ID, JOURNAL)).toEqual({ kind: "running" });
    const { killed, alive } = await driver.kill(ID, 100);
    expect([killed, alive, await ended]).toEqual([true, undefined, "SIGKILL"]);
  });

  test("asks the engine that has the container, and not another one", async () => {
    bench.begun();
    const other = await openDriverBench();
    try {
      const driver = bench.driver({ known: () => other.fake.engine });
      await driver.kill(ID, 60_000);
      expect([bench.fake.containers, other.fake.changes()]).toEqual([[], []]);
    } finally {
      await other.close();
    }
  });

  test("that ends a hanging engine's output keeps the exit that is known", async () => {
    const container = bench.begun({ output: ["all\n"] });
    bench.fake.override = ({ path }, response) => {
      if (!path.endsWith("/logs")) return false;
      response.writeHead(200).flushHeaders();
      return true;
    };
    const driver = bench.driver();
    expect(driver.recover(ID, JOURNAL)).toEqual({ kind: "running" });
    const looks = () => bench.fake.requests.filter(({ path }) => path.endsWith("/json")).length;
    await until("it is looked at", () => looks() > 2);
    container.end(5);
    const before = looks();
    await until("its end is seen", () => looks() > before);
    await driver.kill(ID, 1_000);
    expect(bench.ends).toEqual([
      {
        exit: expect.objectContaining({ code: 5, message: expect.stringContaining("did not give out all") }),
      },
    ]);
  });

  test("leaves alone what another host here runs under the same id (containers.md#kill)", async () => {
    const idle = (taskDir: string) => {
      const env = { DROVER_ATTEMPT_ID: ID, DROVER_TASK_DIR: taskDir };
      const child = spawn("sleep", ["1000"], { env });
      return { child, ended: new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal))) };
    };
    const [own, other] = [idle(bench.taskDir), idle("/var/lib/other/allocs/build-17_1/main/local")];
    bench.begun();
    const driver = bench.driver();
    await until("nothing of it is left", async () => (await driver.kill(ID, 1_000)).alive === undefined);
    expect([await own.ended, other.child.exitCode, other.child.signalCode]).toEqual(["SIGKILL", null, null]);
    other.child.kill("SIGKILL");
    await other.ended;
  });

  test("beside an agent that may live leaves the container, with its output", async () => {
    const container = bench.begun({ output: ["ready\n"] });
    const driver = bench.driver({ isBeside: true, found: await found() });
    expect(driver.recover(ID, JOURNAL)).toEqual({ kind: "running" });
    const { alive } = await driver.kill(ID, 1_000);
    expect([alive, container.running, bench.fake.containers]).toEqual([undefined, false, [container]]);
    expect(bench.fake.requests.some(({ path }) => path.endsWith("/logs"))).toBe(false);
  });
});

describe("what an agent finds at its start (containers.md#survives)", () => {
  test("a container that has ended meanwhile has its own end, and its output is copied", async () => {
    const container = bench.begun({ output: ["late\n"] });
    container.end(0);
    const driver = bench.driver({ found: await found() });
    const recovered = driver.recover(ID, JOURNAL);
    expect(recovered).toMatchObject({ kind: "ended", exit: { code: 0, signal: null } });
    await driver.kill(ID, 1_000);
    expect(readFileSync(bench.store.dirsOf(ID).stdout, "utf8")).toBe("late\n");
    expect(bench.fake.containers).toEqual([]);
  });

  test("an end that was told stays as it was", () => {
    bench.begun();
    const exit = { code: 3, signal: null, oomKilled: false, message: "" };
    const recovered = bench.driver().recover(ID, { ...JOURNAL, endedAt: 7, exit });
    expect(recovered).toEqual({ kind: "ended", at: 7, exit });
  });

  const UNTOUCHED: AttemptJournal = { timedOut: false };
  test.each([
    ["was not asked for", "", "unbegun"],
    ["was asked for", STARTING, "lost"],
  ])("a start that %s, of which the engine knows nothing", async (_, note, kind) => {
    bench.begun();
    bench.fake.containers.pop();
    const { container } = bench.store.dirsOf(ID);
    writeFileSync(container, noteOf(bench.fake.socketPath) + note);
    expect(bench.driver({ found: await found() }).recover(ID, UNTOUCHED)).toEqual({ kind });
  });

  test("what another engine lists says nothing", async () => {
    bench.begun();
    const elsewhere = { ...(await found()), socket: "/run/other.sock", listed: new Map() };
    const driver = bench.driver({ found: elsewhere, known: () => new Engine("/run/other.sock") });
    expect(driver.recover(ID, UNTOUCHED)).toEqual({ kind: "running" });
    await driver.kill(ID, 60_000);
  });
});

describe("a start (containers.md#create)", () => {
  test("that is stopped waits for no engine, and begins nothing later", async () => {
    let answer: () => void = () => undefined;
    bench.fake.override = ({ path }, response) => {
      if (path !== "/containers/create") return false;
      answer = () => response.writeHead(201).end(JSON.stringify({ Id: "0".repeat(64) }));
      return true;
    };
    const driver = bench.driver();
    const stop = new AbortController();
    bench.store.claim(ID);
    const started = driver.start(ID, bench.task(), stop.signal);
    const asked = () => bench.fake.changes().length > 0;
    await until("the engine is asked", asked);
    stop.abort();
    expect([await started, driver.needOf(ID)]).toEqual([undefined, "container"]);
    answer();
    await driver.kill(ID, 60_000);
    expect(driver.needOf(ID)).toBe("unknown");
    expect(bench.fake.changes().filter((change) => change.endsWith("/start"))).toEqual([]);
  });

  test("whose input is cut by the engine fails, and says so", async () => {
    bench.fake.override = ({ path }, response) => {
      if (!path.endsWith("/start")) return false;
      bench.fake.container(bench.names.of(ID)).start();
      response.writeHead(204).end(() => void bench.fake.down());
      return true;
    };
    bench.store.claim(ID);
    await bench
      .driver()
      .start(ID, bench.task({ stdin: "x".repeat(8_000_000) }), new AbortController().signal);
    await until("its end is told", () => bench.ends.length > 0);
    expect(bench.ends).toEqual([
      { startError: expect.objectContaining({ text: expect.stringContaining("standard input") }) },
    ]);
    expect(wayOf(readFileSync(bench.store.dirsOf(ID).container, "utf8")).isHungry).toBe(true);
  });

  test("of a command that reads none of its input is fine", async () => {
    bench.fake.plays.set("*", { exitCode: 4 });
    bench.store.claim(ID);
    await bench
      .driver()
      .start(ID, bench.task({ stdin: "x".repeat(8_000_000) }), new AbortController().signal);
    await until("its end is told", () => bench.ends.length > 0);
    expect(bench.ends).toEqual([{ exit: expect.objectContaining({ code: 4 }) }]);
  });
});

test("what runs beside a container waits briefly for an engine (containers.md#inside)", async () => {
  bench.begun();
  bench.fake.override = () => true;
  const driver = bench.driver();
  driver.recover(ID, JOURNAL);
  expect(await driver.inside(ID)).toBeUndefined();
});
