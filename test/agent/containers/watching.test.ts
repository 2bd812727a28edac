import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Containers } from "../../../agent/containers/containers.ts";
import { Watching, type WatchingOptions } from "../../../agent/containers/watching.ts";
import type { TaskEnd } from "../../../agent/drivers/driver.ts";
import { AttemptStore } from "../../../agent/exec/processes/dirs.ts";
import { Groups } from "../../../agent/exec/processes/groups.ts";
import { until } from "../../local/support/scratch.ts";
import { ID } from "../support/contained.ts";
import { FakeContainer, fakeImage } from "../support/fake-containers.ts";
import { type FakeEngine, openFakeEngine, type Recorded } from "../support/fake-engine.ts";

let dir: string;
let fake: FakeEngine;
const helpers: ChildProcess[] = [];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "drover-watching-"));
  fake = await openFakeEngine();
});
afterEach(async () => {
  for (const helper of helpers.splice(0)) helper.kill("SIGKILL");
  await fake.close();
  rmSync(dir, { recursive: true, force: true });
});

const NOWHERE = { main: undefined, group: undefined };

/** Watches a container that runs. */
function watched(find: WatchingOptions["find"] = () => NOWHERE, wasEngineDown = false) {
  const container = new FakeContainer("one", { Image: "x" }, {}, fakeImage("x").id);
  container.start();
  fake.containers.push(container);
  const store = new AttemptStore(dir);
  store.claim(ID);
  const ends: TaskEnd[] = [];
  const around = { engine: fake.engine, name: "one", dirs: store.dirsOf(ID), argv: ["true"], limitBytes: 0 };
  const options = { ...around, wasEngineDown, known: NOWHERE, copies: true, find, strays: () => [] };
  const ended = (end: TaskEnd) => ends.push(end);
  const watching = new Watching({ ...options, now: () => performance.now(), ended });
  return { container, watching, ends, dirs: store.dirsOf(ID) };
}

/** Says which engine answers. */
function answersAs(engine: string, { path }: Recorded, response: ServerResponse): boolean {
  if (path !== "/version") return false;
  const version = { ApiVersion: "1.44", MinAPIVersion: "1.24", Os: "linux", Arch: "amd64" };
  response.end(JSON.stringify({ ...version, Components: [{ Name: engine, Version: "4.3.1" }] }));
  return true;
}

describe("a container that runs (containers.md#watch)", () => {
  test("has not ended while its engine stops it: only then its exit code is known", async () => {
    const { container, watching, ends } = watched();
    let looks = 0;
    fake.override = ({ path }, response) => {
      if (!path.endsWith("/json") || looks >= 3) return false;
      looks += 1;
      const State = { Status: "stopping", Running: false, ExitCode: 0, StartedAt: container.startedAt };
      response.writeHead(200).end(JSON.stringify({ ...Object(container.inspect()), State }));
      return true;
    };
    await watching.begin();
    await until("it was seen so", () => looks >= 3);
    container.end(137);
    await watching.ended;
    expect(ends).toEqual([{ exit: expect.objectContaining({ code: 137 }) }]);
  });

  const neverBegun = { startError: expect.objectContaining({ recoverable: true }) };
  test.each([
    ["of podman has never begun if it has written nothing", "Podman Engine", [], neverBegun],
    ["of podman is lost if it has written, and so has run", "Podman Engine", ["out\n"], { lost: true }],
    ["of Docker is lost: it may run all the same", "Engine", [], { lost: true }],
  ])("that its engine calls unstarted, %s (containers.md#survives)", async (_, engine, output, end) => {
    fake.override = (recorded, response) => answersAs(engine, recorded, response);
    const { container, watching, ends } = watched();
    container.status = "created";
    for (const piece of output) container.write(piece);
    await watching.begin();
    await watching.ended;
    expect(ends).toEqual([end]);
  });

  test.each([
    ["created", "", neverBegun],
    ["initialized", "", { lost: true }],
    ["initialized", "out", { lost: true }],
  ])(
    "that its engine left %s, and whose helper lives, is not waited for (%j written, containers.md#survives)",
    async (Status, written, end) => {
      const { container, watching, ends, dirs } = watched(undefined, true);
      const LogPath = join(dir, container.id, "userdata", "ctr.log");
      mkdirSync(dirname(LogPath), { recursive: true });
      writeFileSync(LogPath, written && `2026-01-01T00:00:00.000000000+00:00 stdout F ${written}\n`);
      // Like conmon it names the container, and keeps the file of its output open.
      helpers.push(spawn("tail", ["-f", LogPath], { stdio: "ignore" }));
      fake.override = (recorded, response) => {
        if (!recorded.path.endsWith("/json")) return answersAs("Podman Engine", recorded, response);
        const State = { Status, Running: false, Pid: 0, ExitCode: 0 };
        response.writeHead(200).end(JSON.stringify({ ...Object(container.inspect()), State, LogPath }));
        return true;
      };
      await watching.begin();
      await watching.ended;
      expect(ends).toEqual([end]);
      expect(readFileSync(dirs.stdout, "utf8")).toBe(written && `${written}\n`);
    },
  );

  test.each(["ENOSPC", "EMFILE"])("is followed on if the machine says %s", async (code) => {
    let looks = 0;
    const { container, watching, ends } = watched(() => {
      looks += 1;
      if (looks <= 2) throw Object.assign(new Error(code), { code });
      return NOWHERE;
    });
    await watching.begin();
    await until("it is found", () => looks > 2);
    container.end(3);
    await watching.ended;
    expect(ends).toEqual([{ exit: { code: 3, signal: null, oomKilled: false, message: "" } }]);
  });

  test("has its cgroup noted later if the disk is full", async () => {
    const groups = new Groups(dir, []);
    const group = { folders: [{ path: "/sys/fs/cgroup/none", version: 2 as const }] };
    rmSync(join(dir, "groups"), { recursive: true });
    groups.note(ID, group);
    expect(groups.of(ID)).toEqual(group);
    // As if there was room again.
    new Groups(dir, []);
    await until("it is noted", () => new Groups(dir, []).of(ID));
    expect(new Groups(dir, []).of(ID)).toEqual(group);
  });
});

test("an engine that does not answer holds up no start of the agent (containers.md#engines)", async () => {
  fake.override = () => true;
  const containers = await Containers.open({
    stateDir: dir,
    boot: "boot-1",
    socket: fake.socketPath,
    authOf: () => undefined,
    tell: () => undefined,
    changed: () => undefined,
  });
  expect(containers.shown).toMatchObject({ state: "down", fault: expect.stringContaining("for 2 s") });
});
