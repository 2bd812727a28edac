import { describe, expect, test } from "vitest";
import {
  type FakeAttempt,
  fakeEndsAt,
  fakeExit,
  fakeOrphaned,
  fakeSignaled,
  foundFake,
} from "../../../agent/core/attempts/fake.ts";
import type { SignalName } from "../../../src/schema/run/run.ts";
import type { FakeScript } from "../../../src/schema/run/task.ts";

// The scripted driver on a clock of the test: tasks.md#fake-driver.

const SCRIPT: FakeScript = {
  runForMs: 1_000,
  exitCode: 3,
  blockStartMs: 0,
  ignoreSignals: false,
  output: [],
  dieWithAgent: false,
};
const begun = (more: Partial<FakeScript> = {}): FakeAttempt => ({
  script: { ...SCRIPT, ...more },
  startedAt: 500,
});
const exit = (code: number | null, signal: string | null = null) => ({
  code,
  signal,
  oomKilled: false,
  message: "",
});

describe("how and when it ends", () => {
  test.each<[string, Partial<FakeScript>, [SignalName, number][], number, ReturnType<typeof exit>]>([
    ["by itself", {}, [], 1_500, exit(3)],
    ["by a signal of its own", { signal: "SIGQUIT" }, [], 1_500, exit(null, "SIGQUIT")],
    ["by a signal that it gets", {}, [["SIGTERM", 700]], 700, exit(null, "SIGTERM")],
    [
      "by the first of two",
      {},
      [
        ["SIGTERM", 700],
        ["SIGKILL", 800],
      ],
      700,
      exit(null, "SIGTERM"),
    ],
    ["by itself, if it ignores them", { ignoreSignals: true }, [["SIGTERM", 700]], 1_500, exit(3)],
    ["by SIGKILL all the same", { ignoreSignals: true }, [["SIGKILL", 700]], 700, exit(null, "SIGKILL")],
    ["not by one that comes when it is over", {}, [["SIGTERM", 1_500]], 1_500, exit(3)],
    ["at once", { runForMs: 0 }, [], 500, exit(3)],
  ])("%s", (_what, script, signals, at, how) => {
    const fake = signals.reduce((one, [signal, now]) => fakeSignaled(one, signal, now), begun(script));
    expect([fakeEndsAt(fake), fakeExit(fake)]).toEqual([at, how]);
  });
});

test.each<[string, SignalName[], boolean]>([
  ["its own end is one for want of memory", [], true],
  ["an end by somebody else's signal is none", ["SIGTERM"], false],
])("out of memory: %s", (_what, signals, oomKilled) => {
  const hog = begun({ signal: "SIGKILL", oomKilled: true });
  const fake = signals.reduce((one, signal) => fakeSignaled(one, signal, 700), hog);
  expect(fakeExit(fake)).toEqual({ ...exit(null, signals[0] ?? "SIGKILL"), oomKilled });
});

describe("what a later start of the agent finds (tasks.md#restore)", () => {
  test.each<[string, Partial<FakeScript>, number, object]>([
    ["its time is not over: it goes on", {}, 1_499, { kind: "running" }],
    ["it has ended meanwhile, when its script says", {}, 9_000, { kind: "ended", at: 1_500, exit: exit(3) }],
    ["it died with the agent", { dieWithAgent: true }, 1_499, { kind: "lost" }],
  ])("%s", (_what, script, now, main) => {
    expect(foundFake(begun(script), now)).toEqual(main);
  });

  test("what has died with an agent stays dead, also when its time would be over", () => {
    const orphan = fakeOrphaned(begun({ dieWithAgent: true }), 1_499);
    expect(foundFake(orphan, 9_000)).toEqual({ kind: "lost" });
  });

  test("what was over before its agent ended did not die with it", () => {
    const over = begun({ dieWithAgent: true });
    expect(fakeOrphaned(over, 1_500)).toBe(over);
    expect(foundFake(over, 9_000)).toEqual({ kind: "ended", at: 1_500, exit: exit(3) });
  });
});
