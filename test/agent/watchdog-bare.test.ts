import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

// The watchdog kills by itself where the agent hangs and Node cannot be started (rule R4).

const SCRIPT = join(import.meta.dirname, "../../agent/watchdog.sh");
const LEASE_S = 7;

const started: ChildProcess[] = [];
let state = "";
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  rmSync(state, { recursive: true, force: true });
});

const uptime = () => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);

function start(words: string[], env: Record<string, string> = {}): ChildProcess {
  const [program = "", ...args] = words;
  const child = spawn(program, args, { stdio: "ignore", env: { PATH: process.env.PATH, ...env } });
  started.push(child);
  return child;
}

function lock(name: string, { pid }: ChildProcess): void {
  writeFileSync(join(state, name), readFileSync(`/proc/${pid}/stat`));
}

test("what comes after a first kill is killed at the next look, and not after a pause", async () => {
  state = mkdtempSync("/tmp/drover-watchdog-");
  mkdirSync(join(state, "groups"));
  mkdirSync(join(state, "secrets"));
  const task = () => start(["sleep", "300"], { DROVER_TASK_DIR: `${state}/task` });
  const first = task();
  const until = uptime() + LEASE_S;
  writeFileSync(join(state, "lease.json"), JSON.stringify({ content: { until: Math.round(until * 1_000) } }));
  lock("agent.lock", start(["sleep", "300"]));
  lock("watchdog.lock", start(["sh", SCRIPT, state, "0.2", "60", "60", "60", "", "false"]));
  await once(first, "exit");
  const second = task();
  await once(second, "exit");
  expect(second.signalCode).toBe("SIGKILL");
  expect(uptime()).toBeLessThan(until);
});
