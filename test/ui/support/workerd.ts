import { execFileSync } from "node:child_process";

/** The workerd of this process: no other test file runs in it at the same time. */
export function workerdPids(): number[] {
  const rows = execFileSync("ps", ["-o", "pid=,comm=", "--ppid", String(process.pid)], { encoding: "utf8" });
  return [...rows.matchAll(/(\d+) workerd/g)].map(([, pid]) => Number(pid));
}
