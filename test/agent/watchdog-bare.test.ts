import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

// The watchdog kills by itself where the agent hangs and Node cannot be started (rule R4).

const SCRIPT = join(import.meta.dirname, "../../agent/watchdog.sh");
/** How long a watchdog waits for a running agent after a look that came late: `asleep` in its script. */
const ASLEEP_S = 8;
/** All that it runs ends with it. A look goes through the few processes in it, and not through all others. */
const INSIDE = ["--pid", "--fork", "--mount-proc"];
const canNest = spawnSync("unshare", [...INSIDE, "true"]).status === 0;

let state = "";
afterEach(() => rmSync(state, { recursive: true, force: true }));

/** Prints when the first task has ended, how the second one has, and when. */
const PLAY = `
  mkdir "$STATE/groups" "$STATE/secrets"
  read now _ </proc/uptime
  echo "{\\"content\\":{\\"until\\":$(((\${now%.*} + 50) * 1000))}}" >"$STATE/lease.json"
  DROVER_TASK_DIR=$STATE/task sleep 300 & first=$!
  sleep 300 & cat /proc/$!/stat >"$STATE/agent.lock"
  sh "$SCRIPT" "$STATE" 0.2 60 60 60 "" false >"$STATE/log" 2>&1 & cat /proc/$!/stat >"$STATE/watchdog.lock"
  wait $first; cat /proc/uptime
  DROVER_TASK_DIR=$STATE/task sleep 300 & wait $!; echo $?; cat /proc/uptime
`;

// A machine that stands still for seconds gets that pause.
test.skipIf(!canNest)(
  "what comes after a first kill is killed at the next look, and not after a pause",
  { retry: 3 },
  () => {
    state = mkdtempSync("/tmp/drover-watchdog-");
    const env = { PATH: process.env.PATH, STATE: state, SCRIPT };
    const { stdout } = spawnSync("unshare", [...INSIDE, "sh", "-c", PLAY], { encoding: "utf8", env });
    const [firstAt, status, secondAt] = stdout.split("\n").map((line) => Number.parseFloat(line));
    expect(status).toBe(128 + 9);
    expect((secondAt ?? 0) - (firstAt ?? 0)).toBeLessThan(ASLEEP_S - 1);
  },
);
