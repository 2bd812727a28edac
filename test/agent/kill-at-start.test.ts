import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TaskEnd } from "../../agent/drivers/driver.ts";
import { ExecDriver } from "../../agent/drivers/exec.ts";
import { markersOf } from "../../agent/exec/environment.ts";
import { AllocDirs } from "../../agent/exec/files/alloc-dirs.ts";
import { AttemptStore } from "../../agent/exec/processes/dirs.ts";
import { Groups } from "../../agent/exec/processes/groups.ts";
import { readShimFile } from "../../agent/exec/shims/shim.ts";
import { Shims } from "../../agent/exec/shims/shims.ts";
import { environmentOf, listProcs, lives } from "../../posix/proc.ts";
import { task } from "./support/bench.ts";

// A kill that comes while the shim has yet to start its task (rules.md#invariant-2). Without a cgroup, only
// another look finds the task.

const STARTS = 20;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync("/tmp/drover-kill-at-start-");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const markers = (id: string) => markersOf(id, new AllocDirs(dir).of(id).local);

/** A driver without cgroups, whose commands have nothing but their marks in their environments. */
function driverOf(store: AttemptStore, argv: string[], ended: (end: TaskEnd) => void = () => {}): ExecDriver {
  return new ExecDriver({
    store,
    allocs: new AllocDirs(dir),
    groups: new Groups(dir, []),
    prestart: {
      ready: async (id) => {
        store.claim(id);
        const pairs = markers(id).map((marker) => marker.split("=") as [string, string]);
        return { argv, dir: "/", env: Object.fromEntries(pairs), stdin: undefined };
      },
      inside: () => Promise.reject(new Error("nothing is started inside")),
    },
    now: () => performance.now(),
    shims: new Shims({ reportsSignals: true, canServe: true }, {}),
    ended: (_, end) => ended(end),
  });
}

test("a kill right after the start leaves no process, even without a cgroup", async () => {
  const store = new AttemptStore(dir);
  const driver = driverOf(store, ["/bin/sleep", "1000"]);
  const livingOf = (id: string) =>
    listProcs().filter(({ pid, ended }) => {
      const environment = ended ? [] : environmentOf(pid);
      return markers(id).every((marker) => environment.includes(marker));
    });
  for (let n = 0; n < STARTS; n += 1) {
    const id = `build-${n}/main/1.1`;
    await driver.start(id, task(["sleep", "1000"]), AbortSignal.timeout(60_000));
    const { alive } = await driver.kill(id, 20_000);
    const left = livingOf(id);
    for (const { pid } of left) process.kill(pid, "SIGKILL");
    expect([alive, left]).toEqual([undefined, []]);
  }
});

test("a process beside a stopped agent learns of an end although the shim goes on (rule R4)", async () => {
  const store = new AttemptStore(dir);
  const id = "build-0/main/1.1";
  const go = join(dir, "go");
  const wait = `while ! [ -e ${go} ]; do /bin/sleep 0.02; done; exit 3`;
  const signal = AbortSignal.timeout(60_000);
  const stopped = driverOf(store, ["/bin/sh", "-c", wait]);
  await stopped.start(id, task(["sh"]), signal);
  const end = new Promise<TaskEnd>((told) => {
    const beside = driverOf(store, [], told);
    expect(beside.recover(id, { startedAt: 1, timedOut: false })).toEqual({ kind: "running" });
  });
  const { shim } = readShimFile(store.dirsOf(id));
  writeFileSync(go, "");
  expect(await end).toMatchObject({ exit: { code: 3 } });
  expect(shim !== undefined && lives(shim)).toBe(true);
  await stopped.kill(id, 20_000);
});
