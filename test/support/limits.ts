import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** Puts a process at a limit. Returns what lifts the limit, or why that cannot be done here. */
export type Limit = (pid: number) => (() => void) | string;

/** The process can open no file. */
export const noFiles: Limit = (pid) => {
  const usual = /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1];
  const set = (soft = "1024") => execFileSync("prlimit", ["--pid", `${pid}`, `--nofile=${soft}:`]);
  try {
    set("1");
  } catch {
    return "this machine has no prlimit (util-linux)";
  }
  return () => set(usual);
};

/** The process and its descendants can start only this many more processes together. */
export const noProcesses =
  (spare: number): Limit =>
  (pid) => {
    const places = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
    const place = places.find((dir) => existsSync(join(dir, "cgroup.procs")));
    if (place === undefined) return "there are no cgroups here";
    const group = join(place, `drover-test-${process.pid}-${pid}`);
    const most = join(group, "pids.max");
    try {
      mkdirSync(group);
      onTestFinished(() => removed(group));
      writeFileSync(join(group, "cgroup.procs"), String(pid));
      const threads = readdirSync(`/proc/${pid}/task`).length;
      writeFileSync(most, String(threads + spare));
    } catch {
      return "this user may not make a cgroup that limits processes";
    }
    return () => writeFileSync(most, "max");
  };

/** Removes a cgroup. Its remaining processes go back to where they came from. */
async function removed(group: string): Promise<void> {
  for (let tries = 0; existsSync(group) && tries < 1_000; tries += 1) {
    try {
      for (const pid of readFileSync(join(group, "cgroup.procs"), "utf8").trim().split("\n"))
        if (pid !== "") writeFileSync(join(group, "..", "cgroup.procs"), pid);
      rmdirSync(group);
    } catch {
      await sleep(10); // one of them ended meanwhile
    }
  }
}
