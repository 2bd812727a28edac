import { spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HostEvent } from "../../agent/core/events.ts";
import type { AttemptJournal } from "../../agent/core/journal.ts";
import type { Driver, KillResult, OnTaskEnd, RecoveredState } from "../../agent/drivers/driver.ts";
import { AllocDirs } from "../../agent/exec/files/alloc-dirs.ts";
import { StickyData } from "../../agent/exec/files/sticky-data.ts";
import { AttemptStore } from "../../agent/exec/processes/dirs.ts";
import type { Inside } from "../../agent/exec/processes/inside.ts";
import { StartFault } from "../../agent/exec/start-fault.ts";
import { type LocalMessage, Supervisor } from "../../agent/exec/supervisor.ts";
import { ControlPlane } from "../../agent/plane/control-plane.ts";
import { makeSalt } from "../../agent/plane/sign.ts";
import { Snapshots } from "../../agent/plane/snapshots.ts";
import type { SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import { keyOf } from "../../src/signing/mac.ts";
import { until } from "../local/support/scratch.ts";
import { FakePlane } from "./support/fake-plane.ts";

// What the supervisor does for every driver, with drivers that only note what they are asked.

const ID = "build-17/main/1.1";
const JOURNAL: AttemptJournal = { timedOut: false };
const COMMAND: TaskSpec = {
  name: "main",
  argv: ["true"],
  env: {},
  meta: {},
  resources: { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 },
  killTimeoutMs: 0,
  killSignal: "SIGTERM",
};
const SCRIPT = {
  runForMs: 0,
  exitCode: 0,
  blockStartMs: 0,
  ignoreSignals: false,
  output: [],
  dieWithAgent: false,
};
const SCRIPTED: TaskSpec = { ...COMMAND, fake: SCRIPT };

const PLACE: Inside = { before: [], entrances: [], dir: "/", umask: undefined, env: {}, base: {} };

class NotingDriver implements Driver {
  readonly name: string;
  readonly log: string[];
  found: RecoveredState | undefined;
  starts: Driver["start"] = async () => "processes";
  killed: KillResult = { killed: false };
  place: Driver["insideKept"] = async () => PLACE;

  constructor(name: string, log: string[]) {
    this.name = name;
    this.log = log;
  }

  start(...args: Parameters<Driver["start"]>) {
    this.log.push(`${this.name} starts`);
    return this.starts(...args);
  }
  recover() {
    this.log.push(`${this.name} looks`);
    return this.found;
  }
  async signal(_id: string, signal: string, before = () => {}) {
    before();
    this.log.push(`${this.name} sends ${signal}`);
  }
  async kill() {
    this.log.push(`${this.name} kills`);
    return this.killed;
  }
  async inside() {
    return undefined;
  }
  insideKept(...args: Parameters<Driver["insideKept"]>) {
    this.log.push(`${this.name} looks for the place`);
    return this.place(...args);
  }
  usage(ids: string[]) {
    return Object.fromEntries(ids.map((id) => [id, { cpuMs: 1, memoryBytes: 2, pids: 3 }]));
  }
}

let dir: string;
let allocs: AllocDirs;
let log: string[];
let fake: NotingDriver;
let exec: NotingDriver;
let supervisor: Supervisor;
let tellEnd: OnTaskEnd;
let snapshots: Snapshots | undefined;
let secrets: Record<string, string[]>;
/** The attempts whose files of secrets were removed. */
let removed: string[];

async function perform(message: LocalMessage): Promise<HostEvent> {
  const event = await supervisor.perform(message);
  if (event === undefined) throw new Error(`${message.kind} is in flight`);
  return event;
}
const start = (id: string, task: TaskSpec) => perform({ kind: "start", to: id, id, task });
const signal = (name: SignalName) => perform({ kind: "signal", to: ID, id: ID, signal: name });
const killTree = (id: string) => perform({ kind: "kill_tree", to: id, id, waitMs: 0 });

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "drover-supervisor-")));
  log = [];
  snapshots = undefined;
  secrets = {};
  removed = [];
  fake = new NotingDriver("fake", log);
  exec = new NotingDriver("exec", log);
  allocs = new AllocDirs(dir);
  supervisor = new Supervisor({
    store: new AttemptStore(dir),
    allocs,
    sticky: new StickyData(allocs),
    prestart: { prepare: async () => ({}) },
    devices: { look: async () => ({ kind: "none" }) },
    drivers: (ended) => {
      tellEnd = ended;
      // It knows none of these attempts.
      return { fake, container: new NotingDriver("container", []), exec };
    },
    snapshots: () => snapshots,
    stateDir: dir,
    instance: undefined,
    now: () => Math.round(performance.now()),
    escapes: true,
    replaceAgent: async () => ({ type: "tick" }),
    clockErrorMs: () => 0,
    noticeCommand: undefined,
    secrets: {
      ended: async (id) => void removed.push(id),
      forget: async () => undefined,
      keepRuns: () => undefined,
    },
    secretsOf: (run) => (secrets[run] ?? []).map((value) => Buffer.from(value)),
    tell: (event) => void log.push(event.type),
  });
});
afterEach(() => rmSync(dir, { recursive: true }));

// workers.md#stale-runs
describe("the directories of an ended placement", () => {
  const clear = () => supervisor.perform({ kind: "clear", to: "a/1", placement: "a/1" });

  test("are deleted", async () => {
    const root = allocs.make("a/main/1.1").local;
    expect(await clear()).toEqual({ type: "cleared", placement: "a/1" });
    expect(existsSync(root)).toBe(false);
  });

  test("stay while a process that has escaped its kill runs in them, and no longer", async () => {
    const { local } = allocs.make("a/main/1.1");
    const child = spawn("sleep", ["60"], { cwd: local, stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    try {
      await until("it runs there", () => readlinkSync(`/proc/${child.pid}/cwd`) === local || undefined);
      const holder = `process ${child.pid} (sleep)`;
      expect(await clear()).toEqual({ type: "held_on", placement: "a/1", holder });
      expect(existsSync(local)).toBe(true);
    } finally {
      child.kill("SIGKILL");
      await ended;
    }
    expect(await clear()).toEqual({ type: "cleared", placement: "a/1" });
  });
});

describe("an attempt belongs to the driver of its task", () => {
  test.each([
    ["exec", COMMAND],
    ["fake", SCRIPTED],
  ])("%s: it alone is asked, from the start to the kill", async (name, task) => {
    expect(await start(ID, task)).toEqual({ type: "launched", id: ID, by: "processes" });
    await signal("SIGTERM");
    expect(await perform({ kind: "sample", to: "usage", ids: [ID] })).toMatchObject({
      attempts: { [ID]: { pids: 3 } },
    });
    expect(await killTree(ID)).toEqual({ type: "tree_gone", id: ID, killed: false });
    expect(log).toEqual([`${name} starts`, `${name} sends SIGTERM`, `${name} kills`]);
  });

  test("it is the one that finds its trace after a restart; none is asked behind it", async () => {
    fake.found = { kind: "running" };
    expect(supervisor.recover(ID, JOURNAL)).toEqual({ id: ID, journal: JOURNAL, main: { kind: "running" } });
    await signal("SIGHUP");
    expect(log).toEqual(["fake looks", "fake sends SIGHUP"]);
  });

  test("what nobody is known to have started is killed by each, and gone when all say so", async () => {
    exec.killed = { killed: true, alive: "process 7 lives" };
    const failed = { type: "kill_failed", id: ID, error: "process 7 lives" };
    expect(await killTree(ID)).toEqual(failed);
    exec.killed = { killed: true };
    expect(await killTree(ID)).toEqual({ type: "tree_gone", id: ID, killed: true });
    expect(log).toEqual(["fake kills", "exec kills", "fake kills", "exec kills"]);
  });
});

describe("whatever a task has left, its outputs come to an end (decisions/files.md#outputs)", () => {
  let plane: FakePlane;
  beforeEach(async () => {
    plane = await new FakePlane().start();
    plane.secret = makeSalt();
  });
  afterEach(() => plane.close());

  const file = (path: string) => writeFileSync(path, "");
  const link = (path: string) => symlinkSync("nowhere", path);
  const lost = { error: expect.any(String) };
  const stored = { snapshot: expect.any(String), files: 0 };
  test.each<[string, string, (path: string) => void, object]>([
    ["a file in the place of its directory", "local", file, lost],
    ["a dangling link there", "local", link, lost],
    ["no directory", "local", () => undefined, stored],
    ["a file in the place of its tmp", "tmp", file, stored],
    ["a dangling link in the place of its secrets", "secrets", link, stored],
    ["a file in the place of the agent's notes", "private", file, lost],
    ["a file in the place of all its directories", ".", file, lost],
  ])("%s", async (_, name, leave, outputs) => {
    const task = new AllocDirs(dir).make(ID).local.replace(/local$/, "");
    rmSync(join(task, name), { recursive: true });
    leave(join(task, name).replace(/\/$/, ""));
    snapshots = new Snapshots(
      new ControlPlane({ key: keyOf(plane.secret), keyid: "w-1" }),
      `${plane.url}/v1/hosts/w-1/snapshots`,
    );
    const event = await perform({ kind: "collect", to: ID, id: ID, globs: ["**"] });
    expect(event).toEqual({ type: "collected", id: ID, outputs: expect.objectContaining(outputs) });
  });
});

describe("whatever the driver", () => {
  test("an id starts once, and never after a kill", async () => {
    await start(ID, COMMAND);
    expect((await start(ID, SCRIPTED)).type).toBe("refused");
    const other = "build-17/other/1.1";
    await killTree(other);
    expect((await start(other, COMMAND)).type).toBe("refused");
  });

  test("a kill ends a start that waits, and comes after it", async () => {
    exec.starts = (_id, _task, stop) =>
      new Promise((resolve) => stop.addEventListener("abort", () => resolve(undefined)));
    const started = start(ID, COMMAND);
    await expect.poll(() => log).toEqual(["exec starts"]);
    const killed = killTree(ID);
    expect([(await started).type, (await killed).type]).toEqual(["refused", "tree_gone"]);
  });

  test.each([
    ["its own fault", new StartFault("user_not_found", "who?"), { code: "user_not_found", text: "who?" }],
    ["anything else", new Error("odd"), { code: "start_failed" }],
  ])("a start that fails is told: %s", async (_, error, startError) => {
    exec.starts = () => Promise.reject(error);
    expect(await start(ID, COMMAND)).toMatchObject({ type: "launch_failed", startError });
  });

  test("an end is told, and that a signal is passed on is told before it is sent", async () => {
    await start(ID, COMMAND);
    await perform({ kind: "pass_on", to: ID, id: ID, signal: "SIGHUP", n: 1 });
    tellEnd(ID, { lost: true });
    expect(log).toEqual(["exec starts", "passing_on", "exec sends SIGHUP", "exited"]);
  });
});

describe("tasks.md#kept-4: what is started in a kept run", () => {
  let kept: TaskSpec | undefined;
  beforeEach(() => {
    kept = COMMAND;
  });
  const enter = (start: () => Promise<void>) => supervisor.enter(ID, () => kept, start);
  const note = async () => void log.push("started");
  /** Somebody releases the run. */
  const endHold = () => {
    kept = undefined;
    return perform({ kind: "end_hold", to: ID, id: ID, waitMs: 0 });
  };

  test("is started there, and killed with it", async () => {
    expect(await enter(note)).toBe(true);
    expect(await endHold()).toEqual({ type: "hold_ended", id: ID });
    expect(log).toEqual(["exec looks for the place", "started", "fake kills", "exec kills"]);
  });

  test("never starts behind the kill, however long a user is looked up", async () => {
    exec.place = (_id, _task, stop) =>
      new Promise((_, reject) => stop.addEventListener("abort", () => reject(stop.reason)));
    const entered = enter(note);
    await expect.poll(() => log).toEqual(["exec looks for the place"]);
    const over = endHold();
    expect([await entered, (await over).type]).toEqual([false, "hold_ended"]);
    expect(log).not.toContain("started");
  });

  test("nor if the place is found all the same, nor if it comes later", async () => {
    exec.place = (_id, _task, stop) =>
      new Promise((resolve) => stop.addEventListener("abort", () => resolve(PLACE)));
    const entered = [enter(note), enter(note)];
    await expect.poll(() => log).toEqual(["exec looks for the place"]);
    const over = endHold();
    expect(await Promise.all([...entered, enter(note)])).toEqual([false, false, false]);
    expect((await over).type).toBe("hold_ended");
    expect(log).toEqual(["exec looks for the place", "fake kills", "exec kills"]);
  });

  test("has files of secrets that go with it, as those of the run did (secrets.md#files)", async () => {
    await supervisor.perform({ kind: "kill_tree", to: ID, id: ID, waitMs: 0 });
    expect(removed).toEqual([ID]);
    await enter(note);
    await endHold();
    expect(removed).toEqual([ID, ID]);
  });

  test("is there before it is killed", async () => {
    let isThere = () => {};
    const entered = enter(() => {
      log.push("starts");
      return new Promise((resolve) => {
        isThere = () => {
          log.push("started");
          resolve();
        };
      });
    });
    await expect.poll(() => log).toContain("starts");
    const over = endHold();
    isThere();
    expect([await entered, (await over).type]).toEqual([true, "hold_ended"]);
    expect(log.slice(1)).toEqual(["starts", "started", "fake kills", "exec kills"]);
  });
});

describe("what is told of an attempt has none of its secrets (redaction.md#texts)", () => {
  beforeEach(() => {
    secrets = { "build-17": ["who-is-it", "control plane"] };
  });

  test.each([
    ["a start that fails", "who-is-it?", "*********?"],
    ["one of which the end of the text was cut", "who-is-i", "********"],
  ])("%s", async (_, text, expected) => {
    exec.starts = () => Promise.reject(new StartFault("user_not_found", text));
    expect(await start(ID, COMMAND)).toMatchObject({ startError: { text: expected } });
  });

  test("outputs that cannot be stored, and the data of its placement", async () => {
    await start(ID, COMMAND);
    const error = expect.stringContaining("the ************* has no bucket");
    const collected = await perform({ kind: "collect", to: ID, id: ID, globs: ["*"] });
    expect(collected).toMatchObject({ outputs: { error } });
    const saved = await perform({ kind: "save", to: "build-17/1", placement: "build-17/1" });
    expect(saved).toMatchObject({ outcome: { error } });
  });

  test.each([
    ["another run has secrets of its own", "build-18/main/1.1", "who-is-it?"],
    ["another attempt of the run shares them", "build-17/other/1.2", "*********?"],
  ])("%s", async (_, other, text) => {
    exec.starts = () => Promise.reject(new StartFault("user_not_found", "who-is-it?"));
    expect(await start(other, COMMAND)).toMatchObject({ startError: { text } });
  });
});

describe("nothing is believed without a journal of this boot, and no driver is asked", () => {
  test.each([
    ["none", undefined, "lost"],
    ["one of another boot", "other boot", "rebooted"],
  ] as const)("%s", (_, journal, kind) => {
    exec.found = { kind: "running" };
    expect(supervisor.recover(ID, journal)).toEqual({ id: ID, main: { kind } });
    expect(log).toEqual([]);
  });

  test("what never began is left to the orders", () => {
    exec.found = { kind: "unbegun" };
    expect(supervisor.recover(ID, JOURNAL)).toBeUndefined();
  });
});
