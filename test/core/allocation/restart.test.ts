import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Cause,
  decideRestart,
  type RestartInput,
  reasonText,
  restartsOnSuccess,
} from "../../../src/core/allocation/tasks/attempt-end.ts";
import { jittered } from "../../../src/core/jitter.ts";
import type { GroupTask, Hook } from "../../../src/core/spec.ts";
import type { RestartPolicy } from "../../../src/shared/policy.ts";
import { T0 } from "../support/allocation.ts";

const MINUTE = 60_000;
const ID = "r/main/1.1";
const POLICY: RestartPolicy = { attempts: 2, intervalMs: 30 * MINUTE, delayMs: 1_000, mode: "fail" };

const killed: Cause = { kind: "killed" };
const triggered: Cause = { kind: "triggered" };
const ok: Cause = { kind: "exit", successful: true };
const bad: Cause = { kind: "exit", successful: false };
const lost: Cause = { kind: "lost" };
const hopeless: Cause = { kind: "start_error", recoverable: false };
const hopeful: Cause = { kind: "start_error", recoverable: true };

interface Row {
  row: string;
  cause: Cause;
  policy?: Partial<RestartPolicy>;
  onSuccess?: boolean;
  count?: number;
  /** After the start of the window. */
  afterMs?: number;
  decision: string;
  reason: string | null;
  delay?: number | "jittered";
  counted: number;
}

// Evaluated top to bottom: restart.md#the-decision.
const TABLE: Row[] = [
  {
    row: "restart.md#row-1, restart.md#cause-5",
    cause: killed,
    decision: "killed",
    reason: null,
    counted: 0,
  },
  {
    row: "restart.md#row-1, attempts 0",
    cause: killed,
    policy: { attempts: 0 },
    decision: "killed",
    reason: null,
    counted: 0,
  },
  {
    row: "restart.md#row-2, restart.md#cause-3",
    cause: triggered,
    decision: "restarting",
    reason: null,
    counted: 0,
  },
  {
    row: "restart.md#row-2, even when attempts = 0",
    cause: triggered,
    policy: { attempts: 0 },
    decision: "restarting",
    reason: null,
    counted: 0,
  },
  {
    row: "restart.md#row-2, used up",
    cause: triggered,
    count: 2,
    decision: "restarting",
    reason: null,
    counted: 2,
  },
  {
    row: "restart.md#row-3",
    cause: ok,
    policy: { attempts: 0 },
    decision: "terminated",
    reason: "not_allowed",
    counted: 0,
  },
  {
    row: "restart.md#row-4, failure",
    cause: bad,
    policy: { attempts: 0 },
    decision: "not_restarting",
    reason: "not_allowed",
    counted: 0,
  },
  {
    row: "restart.md#row-4, restart.md#note-5: a service that exits 0",
    cause: ok,
    policy: { attempts: 0 },
    onSuccess: true,
    decision: "not_restarting",
    reason: "not_allowed",
    counted: 0,
  },
  {
    row: "restart.md#row-4, no result",
    cause: lost,
    policy: { attempts: 0 },
    decision: "not_restarting",
    reason: "not_allowed",
    counted: 0,
  },
  {
    row: "restart.md#row-4, restart.md#cause-6: stopped for a check",
    cause: { kind: "unhealthy" },
    policy: { attempts: 0 },
    decision: "not_restarting",
    reason: "not_allowed",
    counted: 0,
  },
  {
    row: "restart.md#row-11, restart.md#cause-6: stopped for a check",
    cause: { kind: "unhealthy" },
    decision: "restarting",
    reason: "within_policy",
    delay: "jittered",
    counted: 1,
  },
  {
    row: "restart.md#row-4, start error",
    cause: hopeful,
    policy: { attempts: 0 },
    decision: "not_restarting",
    reason: "not_allowed",
    counted: 0,
  },
  {
    row: "restart.md#row-7, restart.md#cause-1",
    cause: hopeless,
    decision: "not_restarting",
    reason: "unrecoverable",
    counted: 1,
  },
  {
    row: "restart.md#row-7, in mode delay",
    cause: hopeless,
    policy: { mode: "delay" },
    decision: "not_restarting",
    reason: "unrecoverable",
    counted: 1,
  },
  {
    row: "restart.md#row-8, restart.md#cause-2",
    cause: ok,
    decision: "terminated",
    reason: "unnecessary",
    counted: 1,
  },
  {
    row: "restart.md#row-8, used up",
    cause: ok,
    count: 2,
    decision: "terminated",
    reason: "unnecessary",
    counted: 3,
  },
  {
    row: "restart.md#row-9",
    cause: bad,
    count: 2,
    decision: "not_restarting",
    reason: "exceeded",
    counted: 3,
  },
  {
    row: "restart.md#row-9, a service that exits 0",
    cause: ok,
    onSuccess: true,
    count: 2,
    decision: "not_restarting",
    reason: "exceeded",
    counted: 3,
  },
  {
    row: "restart.md#row-9, restart.md#note-8: no result",
    cause: lost,
    count: 2,
    decision: "not_restarting",
    reason: "exceeded",
    counted: 3,
  },
  {
    row: "restart.md#row-10, restart.md#window-delay, restart.md#note-9: endlessly many",
    cause: bad,
    policy: { mode: "delay" },
    count: 2,
    afterMs: 10 * MINUTE,
    decision: "restarting",
    reason: "delaying",
    delay: 20 * MINUTE,
    counted: 3,
  },
  {
    row: "restart.md#row-11",
    cause: bad,
    decision: "restarting",
    reason: "within_policy",
    delay: "jittered",
    counted: 1,
  },
  {
    row: "restart.md#row-11, the last one",
    cause: bad,
    count: 1,
    decision: "restarting",
    reason: "within_policy",
    delay: "jittered",
    counted: 2,
  },
  {
    row: "restart.md#row-11, recoverable start error",
    cause: hopeful,
    decision: "restarting",
    reason: "within_policy",
    delay: "jittered",
    counted: 1,
  },
  {
    row: "restart.md#row-11, restart.md#note-4: a service that exits 0",
    cause: ok,
    onSuccess: true,
    decision: "restarting",
    reason: "within_policy",
    delay: "jittered",
    counted: 1,
  },
  {
    row: "restart.md#row-5, restart.md#window-step, restart.md#note-2: at the end of the window exactly",
    cause: bad,
    count: 2,
    afterMs: 30 * MINUTE,
    decision: "not_restarting",
    reason: "exceeded",
    counted: 3,
  },
  {
    row: "restart.md#row-5, a millisecond later",
    cause: bad,
    count: 2,
    afterMs: 30 * MINUTE + 1,
    decision: "restarting",
    reason: "within_policy",
    delay: "jittered",
    counted: 1,
  },
];

describe("the restart decision", () => {
  test.each(TABLE)("$row", ({ cause, policy, onSuccess = false, count = 0, afterMs = 0, ...expected }) => {
    const input = {
      policy: { ...POLICY, ...policy },
      onSuccess,
      window: { start: T0, count },
      cause,
      attempt: ID,
    };
    const made = decideRestart(input, T0 + afterMs);
    const delayMs = expected.delay === "jittered" ? jittered(POLICY.delayMs, ID) : (expected.delay ?? 0);
    expect(made).toMatchObject({ decision: expected.decision, reason: expected.reason, delayMs });
    expect(made.window.count).toBe(expected.counted);
  });

  test("a new window begins with the decision that found the old one over (restart.md#note-1)", () => {
    const window = { start: T0, count: 9 };
    const later = T0 + POLICY.intervalMs + 5;
    const made = decideRestart({ policy: POLICY, onSuccess: false, window, cause: bad, attempt: ID }, later);
    expect(made.window).toEqual({ start: later, count: 1 });
  });
});

test.each<[string, string, Hook, boolean, boolean]>([
  ["restart.md#on-success-1", "service", "main", false, true],
  ["restart.md#on-success-2", "batch", "main", false, false],
  ["restart.md#on-success-3", "batch", "prestart", true, true],
  ["restart.md#on-success-3", "batch", "poststart", true, true],
  ["restart.md#on-success-4", "service", "prestart", false, false],
  ["restart.md#on-success-4", "service", "poststart", false, false],
  ["restart.md#on-success-5, tasks.md#poststop-3", "service", "poststop", false, false],
])(
  "%s: a %s's %s task, sidecar: %s, is started again after a success: %s",
  (_, type, hook, sidecar, again) => {
    const task = { hook, sidecar } as GroupTask; // the rule looks at nothing else
    expect(restartsOnSuccess(task, type as "batch" | "service")).toBe(again);
  },
);

test("each reason is a sentence of its own (restart.md#reasons)", () => {
  const reasons = [
    ...(["not_allowed", "unrecoverable", "within_policy"] as const),
    ...(["delaying", "exceeded", "unnecessary"] as const),
  ];
  const texts = reasons.map((reason) => reasonText(reason, POLICY));
  expect(new Set(texts).size).toBe(reasons.length);
  for (const text of [texts[3], texts[4]]) expect(text).toContain("more than 2 restarts in 30m");
});

// restart.md#jitter
describe("the jitter is a hash of the attempt's id, in [d, 1.25 d)", () => {
  test("whatever the id and the delay", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 0, max: 86_400_000 }), (id, delayMs) => {
        const made = jittered(delayMs, id);
        expect(made).toBe(jittered(delayMs, id));
        expect(made).toBeGreaterThanOrEqual(delayMs);
        expect(made).toBeLessThan(Math.max(1.25 * delayMs, delayMs + 1));
      }),
    );
  });

  test("and ids that differ in a digit are spread over all of it", () => {
    const delays = Array.from({ length: 400 }, (_, n) => jittered(4_000, `run/main/1.${n + 1}`) - 4_000);
    for (let quarter = 0; quarter < 4; quarter += 1) {
      const here = delays.filter((delay) => delay >= quarter * 250 && delay < (quarter + 1) * 250);
      expect(here.length).toBeGreaterThan(60);
    }
  });
});

/** The same table once more, as a list of rows that are tried one after the other. */
function secondOpinion({ policy, onSuccess, window, cause, attempt }: RestartInput, now: number) {
  const { attempts, intervalMs, mode, delayMs } = policy;
  const over = now > window.start + intervalMs;
  const start = over ? now : window.start;
  const count = over ? 1 : window.count + 1;
  const good = cause.kind === "exit" && cause.successful;
  const rows: [boolean, string, string | null, number, boolean][] = [
    [cause.kind === "killed", "killed", null, 0, false],
    [cause.kind === "triggered", "restarting", null, 0, false],
    [attempts === 0 && !onSuccess && good, "terminated", "not_allowed", 0, false],
    [attempts === 0, "not_restarting", "not_allowed", 0, false],
    [cause.kind === "start_error" && !cause.recoverable, "not_restarting", "unrecoverable", 0, true],
    [good && !onSuccess, "terminated", "unnecessary", 0, true],
    [count > attempts && mode === "fail", "not_restarting", "exceeded", 0, true],
    [count > attempts, "restarting", "delaying", start + intervalMs - now, true],
    [true, "restarting", "within_policy", jittered(delayMs, attempt), true],
  ];
  const row = rows.findIndex(([applies]) => applies);
  const [, decision, reason, delay, counts] = rows[row] ?? [];
  return { row, decision, reason, delayMs: delay, window: counts ? { start, count } : window };
}

test("it agrees with a second implementation, over whole histories", () => {
  const cause = fc.constantFrom(killed, triggered, ok, bad, lost, hopeless, hopeful);
  const policy = fc.record({
    attempts: fc.nat(3),
    intervalMs: fc.integer({ min: 5_000, max: 60_000 }),
    delayMs: fc.nat(20_000),
    mode: fc.constantFrom("fail" as const, "delay" as const),
  });
  const reached = new Set<number>();
  fc.assert(
    fc.property(
      policy,
      fc.boolean(),
      fc.array(fc.tuple(cause, fc.nat(40_000))),
      (rules, onSuccess, story) => {
        let window = { start: T0, count: 0 };
        let now = T0;
        for (const [i, [why, ms]] of story.entries()) {
          now += ms;
          const input = { policy: rules, onSuccess, window, cause: why, attempt: `r/main/1.${i + 1}` };
          const made = decideRestart(input, now);
          const { row, ...opinion } = secondOpinion(input, now);
          reached.add(row);
          expect(made).toEqual(opinion);
          expect(made.delayMs).toBeGreaterThanOrEqual(0);
          window = made.window;
        }
      },
    ),
  );
  expect(reached.size, "rows that were reached").toBe(9);
});
