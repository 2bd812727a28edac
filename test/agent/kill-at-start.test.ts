import { mkdtempSync, rmSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ExecDriver } from "../../agent/drivers/exec.ts";
import { markersOf } from "../../agent/exec/environment.ts";
import { AllocDirs } from "../../agent/exec/files/alloc-dirs.ts";
import { AttemptStore } from "../../agent/exec/processes/dirs.ts";
import { Groups } from "../../agent/exec/processes/groups.ts";
import { environmentOf, listProcs } from "../../posix/proc.ts";
import { task } from "./support/bench.ts";

// A kill that comes while the shim has yet to start its task (rules.md#invariant-2). Without a cgroup, only
// another look finds the task.

const STARTS = 20;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync("/tmp/drover-kill-at-start-");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("a kill right after the start leaves no process, even without a cgroup", async () => {
  const store = new AttemptStore(dir);
  const allocs = new AllocDirs(dir);
  const markers = (id: string) => markersOf(id, allocs.of(id).local);
  const driver = new ExecDriver({
    store,
    allocs,
    groups: new Groups(dir, []),
    prestart: {
      ready: async (id) => {
        store.claim(id);
        const pairs = markers(id).map((marker) => marker.split("=") as [string, string]);
        return { argv: ["/bin/sleep", "1000"], dir: "/", env: Object.fromEntries(pairs), stdin: undefined };
      },
      inside: () => Promise.reject(new Error("nothing is started inside")),
    },
    now: () => performance.now(),
    shellReportsSignals: true,
    ended: () => undefined,
  });
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
}, 120_000);
