import { serialize } from "node:v8";
import { expect, test } from "vitest";
import { MAX_INLINE_LOG_BYTES } from "../../src/core/allocation/output/logs.ts";
import { MAX_RUN_ATTEMPTS } from "../../src/core/allocation/read/texts.ts";
import type { AttemptReport } from "../../src/schema/host.ts";
import { MAX_TASKS } from "../../src/schema/run/task.ts";
import { MAX_SPEC_BYTES, MAX_TASK_ATTEMPTS, MAX_TEXT_CHARS } from "../../src/shared/limits.ts";
import {
  abort,
  at as after,
  ended,
  existing,
  observed,
  ordered,
  orderNow,
  RUN,
  runAt,
  type Submitted,
  T0,
} from "../core/support/allocation.ts";

// A run is one value, and a row of storage takes 2 MB: nothing that a host says may make it larger.

const STORED_AT_MOST = 2_000_000;
const WIDE = "漢".repeat(MAX_TEXT_CHARS);
const BASE64 = btoa("x".repeat(MAX_INLINE_LOG_BYTES));

/** A run that is as large as it may be when it is submitted, of tasks that are started again and again. */
function largeRun(count: number, onRestart: { attempts: number; delay: string }): Submitted {
  const env = { FILL: "f".repeat(Math.floor((MAX_SPEC_BYTES * 0.8) / count)) };
  const tasks = Array.from({ length: count }, (_, n) => ({
    name: `t${n}`,
    argv: ["true"],
    env,
    restart: { ...onRestart, interval: "1h", mode: "fail" as const },
  }));
  return ordered({ argv: undefined, tasks, reschedule: { attempts: 0 } });
}

type End = (id: string) => AttemptReport;
const failing: End = (id) => ({
  id,
  state: "exited",
  startedAgoMs: 0,
  endedAgoMs: 0,
  exit: { code: 1, signal: null, oomKilled: false, message: WIDE },
  kill: { tries: 5, error: WIDE, treeGone: true, by: "processes" },
  outputs: { error: WIDE },
  log: {
    stdout: { from: 0, size: MAX_INLINE_LOG_BYTES, data: BASE64 },
    stderr: { from: 0, size: MAX_INLINE_LOG_BYTES, data: BASE64 },
  },
});
const unstarted: End = (id) => ({
  id,
  state: "exited",
  endedAgoMs: 0,
  startError: { code: "start_failed", text: WIDE, recoverable: true },
});

/** All that is ordered ends in this way, so many times. */
function endingAgain(state: Submitted, end: End, rounds: number): Submitted {
  let next = state;
  for (let n = 1; n <= rounds; n += 1) {
    const now = T0 + n;
    const order = orderNow(next, 1, now);
    const ids =
      order.kind === "order" ? order.attempts.flatMap((one) => (one.want === "run" ? [one.id] : [])) : [];
    next = runAt(next, now, observed(ids.map(end)));
    expect(serialize(next.record).length).toBeLessThan(STORED_AT_MOST);
  }
  return next;
}

test.each([
  ["one task", 1, 70, failing],
  ["some tasks", 8, 60, failing],
  ["as many tasks as there can be", MAX_TASKS, 12, failing],
  ["tasks that cannot be started", 32, 20, unstarted],
])("X17: %s with the longest texts in each attempt: the run is stored, and ends", (_, count, rounds, end) => {
  const restarts = { attempts: 1_000, delay: "0s" };
  const state = endingAgain(largeRun(count, restarts), end, rounds);
  const { tasks, events, eventsDropped } = state.record;
  const attempts = tasks.map((task) => task.attempts.length);
  expect(Math.max(...attempts)).toBeLessThanOrEqual(MAX_TASK_ATTEMPTS);
  expect(attempts.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(MAX_RUN_ATTEMPTS);
  // What is old has gone, and that is said; what is new is whole.
  expect(eventsDropped + events.length).toBe(events.at(-1)?.seq);
  expect(eventsDropped).toBeGreaterThan(0);
  expect(JSON.stringify(tasks)).toContain("… (cut)");
  const last = tasks.at(-1)?.attempts.at(-1);
  expect(last?.exit?.message.length ?? last?.startError?.text.length).toBe(MAX_TEXT_CHARS);
  const over = after(state, T0 + 1_000, abort(), ended("lost"));
  const { id, ended: isOver, outcome } = existing(over).record;
  expect([id, isOver, outcome?.state]).toEqual([RUN, true, "aborted"]);
});

test("X17: a run that has met the bound and fails by itself ends with what was said last", () => {
  const state = endingAgain(largeRun(4, { attempts: 60, delay: "0s" }), failing, 61);
  const { ended: isOver, outcome } = runAt(state, T0 + 3_600_000, { type: "tick" }).record;
  expect([isOver, outcome?.state]).toEqual([true, "failed"]);
});
