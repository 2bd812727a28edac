import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import {
  endDrover,
  livingOf,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { endOf } from "./support/ends.ts";

// Time limits with real processes (api.md#time-limits; tasks.md#kill). The decisions are in
// test/core/allocation/{time-limits,group}.test.ts; a time limit over a download is in hooks.test.ts, over a
// crash in test/crash.

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("time-limits");
  up = await startDrover(home);
  await up.json(201, "PUT", "/v1/pools/empty", { ...(await poolConfigOf(up)), maxInstances: 0 });
  // So that no limit is used up by the start of a machine.
  await up.json(201, "POST", "/v1/runs", { id: "first", argv: ["true"] });
  await endOf(up, "first");
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

interface Case {
  what: string;
  spec: object;
  /** It is aborted when this task has begun. */
  abortIn?: string;
  end: object;
  /** The attempts that have begun. */
  begun: string[];
  /** How long the main task is stopped for, at least. */
  stopsForMs?: number;
}

/** Says that it has begun, and goes on. `$MARKS` is the run's own file. */
const task = (name: string, script: string, more: object = {}) => ({
  name,
  argv: ["sh", "-c", `echo "\${DROVER_ATTEMPT_ID#*/}" >>$MARKS; ${script}`],
  restart: { attempts: 0 },
  ...more,
});
const prestart = { lifecycle: { hook: "prestart" } };
const poststop = { lifecycle: { hook: "poststop" } };
const DEAF = "trap '' TERM; while :; do sleep 0.05; done";
const timeout = "5s";
const timedout = { state: "timedout", exitCode: null, failure: null };
const aborted = { state: "aborted" };

const CASES: Case[] = [
  {
    what: "`timeout` over a prestart task: what has not begun does not begin, poststop neither",
    spec: {
      timeout,
      tasks: [task("first", "sleep 600", prestart), task("main", ""), task("p", "", poststop)],
    },
    end: timedout,
    begun: ["first/1.1"],
  },
  {
    what: "`timeout` over a poststop task: it is stopped, too",
    spec: { timeout, tasks: [task("main", ""), task("p", "sleep 600", poststop)] },
    end: timedout,
    begun: ["main/1.1", "p/1.1"],
  },
  {
    what: "`timeout` over the wait for a restart",
    spec: { timeout, tasks: [task("main", "exit 1", { restart: { attempts: 1, delay: "1h" } })] },
    end: timedout,
    begun: ["main/1.1"],
  },
  {
    what: "`timeout` over the wait for another place",
    spec: {
      timeout,
      tasks: [
        task("main", "until grep -q beside $MARKS; do sleep 0.05; done; exit 1"),
        task("beside", "exec sleep 600"),
      ],
      reschedule: { attempts: 1, delay: "1h" },
    },
    end: timedout,
    begun: ["beside/1.1", "main/1.1"],
  },
  {
    what: "`timeout` over a task that ignores SIGTERM: it has its `killTimeout` then",
    spec: { timeout, tasks: [task("main", DEAF, { killTimeout: "1s" })] },
    end: { ...timedout, tasks: [{ attempts: [{ exit: { signal: "SIGKILL" } }] }] },
    begun: ["main/1.1"],
    stopsForMs: 1_000,
  },
  {
    what: "`queueTimeout` over the wait for a machine",
    spec: { queueTimeout: "1s", pool: "empty", tasks: [task("main", "")] },
    end: { state: "failed", failure: { code: "queue_timeout" }, placements: [] },
    begun: [],
  },
  {
    what: "`shutdownDelay` of the group, then of the task, before the signal",
    spec: { shutdownDelay: "1s", tasks: [task("main", "exec sleep 600", { shutdownDelay: "1s" })] },
    abortIn: "main",
    end: { ...aborted, tasks: [{ attempts: [{ exit: { signal: "SIGTERM" } }] }] },
    begun: ["main/1.1"],
    stopsForMs: 2_000,
  },
  {
    what: "`killTimeout` after both delays",
    spec: {
      shutdownDelay: "500ms",
      tasks: [task("main", DEAF, { shutdownDelay: "500ms", killTimeout: "1s" }), task("p", "", poststop)],
    },
    abortIn: "main",
    end: { ...aborted, tasks: [{ attempts: [{ exit: { signal: "SIGKILL" } }] }, { failed: false }] },
    begun: ["main/1.1", "p/1.1"],
    stopsForMs: 2_000,
  },
];

test.concurrent.each(CASES)("$what", async (one) => {
  const id = `t${CASES.indexOf(one)}`;
  const marks = join(home, `${id}.marks`);
  const begun = () => (existsSync(marks) ? readFileSync(marks, "utf8").split("\n").slice(0, -1) : []);
  const resources = { vcpus: 0, memory: "16MiB" };
  const common = { id, resources, reschedule: { attempts: 0 }, env: { MARKS: marks } };
  await up.json(201, "POST", "/v1/runs", { ...common, ...one.spec });
  if (one.abortIn !== undefined) {
    await until("it has begun", () => begun().length > 0 || undefined);
    await up.json(200, "POST", `/v1/runs/${id}/abort`, { reason: "enough" });
  }
  expect(await endOf(up, id)).toMatchObject(one.end);
  expect(begun().sort()).toEqual(one.begun);
  expect(livingOf(up, id)).toEqual([]);
  const { items } = await up.json(200, "GET", `/v1/runs/${id}/events`);
  const at = (type: string) => Date.parse(items.find((event: Json) => event.type === type)?.at);
  if (one.stopsForMs !== undefined) {
    expect(at("Terminated") - at("Killing")).toBeGreaterThanOrEqual(one.stopsForMs);
  }
});
