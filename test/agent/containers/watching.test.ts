import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Containers } from "../../../agent/containers/containers.ts";
import { Watching, type WatchingOptions } from "../../../agent/containers/watching.ts";
import type { TaskEnd } from "../../../agent/drivers/driver.ts";
import { AttemptStore } from "../../../agent/exec/processes/dirs.ts";
import { Groups } from "../../../agent/exec/processes/groups.ts";
import { until } from "../../local/support/scratch.ts";
import { ID } from "../support/contained.ts";
import { FakeContainer, fakeImage } from "../support/fake-containers.ts";
import { type FakeEngine, openFakeEngine } from "../support/fake-engine.ts";

let dir: string;
let fake: FakeEngine;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "drover-watching-"));
  fake = await openFakeEngine();
});
afterEach(async () => {
  await fake.close();
  rmSync(dir, { recursive: true, force: true });
});

const NOWHERE = { main: undefined, group: undefined };

/** Watches a container that runs. */
function watched(find: WatchingOptions["find"] = () => NOWHERE) {
  const container = new FakeContainer("one", { Image: "x" }, {}, fakeImage("x").id);
  container.start();
  fake.containers.push(container);
  const store = new AttemptStore(dir);
  store.claim(ID);
  const ends: TaskEnd[] = [];
  const around = { engine: fake.engine, name: "one", dirs: store.dirsOf(ID), argv: ["true"], limitBytes: 0 };
  const options = { ...around, wasEngineDown: false, known: NOWHERE, copies: true, find, strays: () => [] };
  const ended = (end: TaskEnd) => ends.push(end);
  const watching = new Watching({ ...options, now: () => performance.now(), ended });
  return { container, watching, ends };
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
    fake.override = ({ path }, response) => {
      if (path !== "/version") return false;
      const version = { ApiVersion: "1.44", MinAPIVersion: "1.24", Os: "linux", Arch: "amd64" };
      response.end(JSON.stringify({ ...version, Components: [{ Name: engine, Version: "4.3.1" }] }));
      return true;
    };
    const { container, watching, ends } = watched();
    container.status = "created";
    for (const piece of output) container.write(piece);
    await watching.begin();
    await watching.ended;
    expect(ends).toEqual([end]);
  });

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
