import { describe, expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { readRun } from "../../../src/core/allocation/read/cost.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import { summaryOf } from "../../../src/core/allocation/summary.ts";
import { tunnelPlace } from "../../../src/core/allocation/user/tunnels.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import { RunSpec, type RunSpecInput } from "../../../src/schema/run/run.ts";
import type { Why } from "../../../src/schema/why.ts";
import {
  abort,
  EXIT,
  ended,
  exited,
  exitedButUnlogged,
  FIRST,
  nothing,
  observed,
  ordered,
  orderNow,
  owed,
  placedOn,
  pool,
  REF,
  RUN,
  reloaded,
  runAt,
  type Submitted,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

// A failed run whose machine is kept for a look (tasks.md#kept).

const HOUR = 3_600_000;
const UNTIL = T0 + HOUR;

const KEEP: Partial<RunSpecInput> = { keep: "1h" };
const FAILED = exited({ code: 3 });
const released = (reason = "ann has released it") => ({ type: "release", by: "ann", reason }) as const;
const over = (report: AttemptReport = FAILED) => observed([{ ...report, hold: "over" }]);

/** A run with exit code 3 that its machine keeps. */
const kept = (more: Partial<RunSpecInput> = {}): Submitted =>
  runAt(started({ ...KEEP, ...more }), T0, observed([FAILED]));
/** The same, after somebody has released it. */
const letGo = (): Submitted => runAt(kept(), T0 + 1, released());

const eventsOf = ({ record }: Submitted) => record.events.map(({ type }) => type).slice(-2);
const isOpen = ({ record }: Submitted) => record.placements.at(-1)?.to === null;
const wantsHold = (state: Submitted, now = T0) => owed(state, now).order?.attempts;

describe("tasks.md#kept-1: which run is kept", () => {
  test.each<[string, () => Submitted, boolean]>([
    ["it has failed", () => kept(), true],
    [
      "a signal has ended it",
      () => runAt(started(KEEP), T0, observed([exited({ code: null, signal: "SIGSEGV" })])),
      true,
    ],
    [
      "it took too long",
      () =>
        runAt(started({ ...KEEP, timeout: "1m" }), T0 + 60_000, observed([{ ...FAILED, timedOut: true }])),
      true,
    ],
    ["it has succeeded", () => runAt(started(KEEP), T0, observed([exited()])), false],
    ["it does not ask for that", () => runAt(started(), T0, observed([FAILED])), false],
    ["it was aborted", () => runAt(started(KEEP), T0, abort(), observed([FAILED])), false],
    ["somebody wants its end while its last bytes are on the way", () => late(), false],
    ["its command never started", () => runAt(ordered(KEEP), T0, observed([UNSTARTED])), false],
    ["its exit is lost", () => runAt(started(KEEP), T0, observed([{ id: FIRST, state: "gone" }])), false],
    ["its machine is lost", () => runAt(started(KEEP), T0, ended("lost")), false],
    ["its host ends", () => runAt(started(KEEP), T0, observed([{ ...FAILED, stopped: "agent" }])), false],
  ])("%s", (_, state, isKept) => {
    const { record } = state();
    expect([record.ended, record.hold !== undefined, isOpen(state())]).toEqual([true, isKept, isKept]);
  });

  const UNSTARTED: AttemptReport = {
    id: FIRST,
    state: "exited",
    startError: { code: "command_not_found", text: "there is no such command" },
  };
  const late = () => {
    const waiting = runAt(started(KEEP), T0, observed([exitedButUnlogged]), abort());
    return runAt(waiting, T0 + 60_000, { type: "tick" });
  };

  test("a run that is placed again is kept only where it ends", () => {
    const tasks = ["main", "other"].map((name) => ({ name, argv: ["x"], restart: { attempts: 0 } }));
    const spec = { ...KEEP, argv: undefined, tasks, reschedule: { attempts: 1, delay: "5s" } };
    const reports = tasks.map(({ name }) => ({ ...FAILED, id: `${RUN}/${name}/1.1` }));
    const { record } = runAt(started(spec), T0, observed(reports));
    expect([record.ended, record.hold, record.endedEpoch]).toEqual([false, undefined, 1]);
  });
});

describe("what a kept run is to others (tasks.md#kept)", () => {
  test("its end is known at once, and its place stays taken", () => {
    const { run } = owed(kept(), T0);
    expect(run).toMatchObject({ state: "complete", exitCode: 3, finishedAt: T0, wants: "nothing" });
    expect(run).toMatchObject({ epoch: 1, ended: 0, keptUntil: UNTIL });
  });

  test("its host is told for how long to keep it", () => {
    expect(orderNow(kept(), 1, T0)).toMatchObject({
      attempts: [{ id: FIRST, want: "run", holdUntil: UNTIL }],
    });
    expect(wantsHold(reloaded(kept()))).toEqual([{ id: FIRST, want: "run", holdUntil: UNTIL }]);
  });

  test("its status says where it is kept, until when and for how much", () => {
    const placed = runAt(
      nothing(),
      T0,
      submit(KEEP),
      pool(1, { kind: "placed", worker: "w1", epoch: 1, rate: 2 }),
    );
    const state = runAt(placed, T0, observed([exited({ code: 3 })]));
    const found = readRun(state, T0).kept;
    expect(found).toEqual({
      worker: "w1",
      until: new Date(UNTIL).toISOString(),
      task: "main",
      perHour: 2,
      cost: 2,
      releasing: false,
    });
    expect(summaryOf(state, T0).keptUntil).toBe(new Date(UNTIL).toISOString());
  });

  test("why: it says so if its host is silent, until when it can be", () => {
    const at = new Date(T0 + 90_000).toISOString();
    const silent: Why = {
      state: "running",
      reason: { code: "silent", text: "nothing heard for 40 s" },
      next: { code: "lose_runs", action: "end what is placed there", at, waitsFor: "host" },
      chain: [],
    };
    const { reason, next, chain } = whyOf(letGo(), silent, "w1", T0);
    expect(reason.text).toMatch(/lets it go: .*, and its host is silent: nothing heard for 40 s$/);
    expect(next).toMatchObject({ at, action: "worker w1: end what is placed there" });
    expect(chain.map(({ what }) => what)).toEqual([`run ${RUN}`, "worker w1"]);
    expect(whyOf(kept(), silent, "w1", T0).next.at).toBe(at);
  });

  test("a price that nobody knows is not invented", () => {
    expect(readRun(kept(), T0).kept).toMatchObject({ perHour: null, cost: null });
  });

  test("why: it says how long, and how to end it sooner", () => {
    const { reason, next } = whyOf(kept(), null, null, T0);
    expect([reason.code, next.at, next.code]).toEqual(["kept", new Date(UNTIL).toISOString(), "release"]);
    expect(next.action).toContain(`drover release ${RUN}`);
    expect(whyOf(letGo(), null, null, T0)).toMatchObject({
      reason: { code: "kept" },
      next: { at: null, waitsFor: "host" },
    });
  });

  test("nothing about it is lost when its object is", () => {
    const loaded = reloaded(kept());
    expect([loaded.record.hold?.until, allocationMachine.wakeAt(loaded)]).toEqual([UNTIL, UNTIL]);
    expect(wantsHold(loaded)).toEqual([{ id: FIRST, want: "run", holdUntil: UNTIL }]);
  });
});

describe("tasks.md#kept-2: where commands lead", () => {
  const tasks = ["first", "second", "third"].map((name) => ({
    name,
    argv: [name],
    restart: { attempts: 0 },
  }));
  const group = () => {
    const placed = runAt(
      nothing(),
      T0,
      submit({ ...KEEP, argv: undefined, tasks, reschedule: { attempts: 0 } }),
      pool(1, placedOn()),
    );
    const report = (name: string, code: number, endedAgoMs: number): AttemptReport => ({
      id: `${RUN}/${name}/1.1`,
      state: "exited",
      startedAgoMs: 900,
      endedAgoMs,
      exit: { ...EXIT, code },
    });
    return runAt(
      placed,
      T0 + 1_000,
      observed([report("first", 0, 800), report("second", 1, 500), report("third", 2, 1)]),
    );
  };

  test.each<[string, string | undefined, string]>([
    ["the task that failed first", undefined, "second"],
    ["the task that is named", "third", "third"],
    ["one that ended well, too", "first", "first"],
  ])("%s", (_, task, expected) => {
    expect(tunnelPlace(group(), { task })).toEqual({ worker: "w1", attempt: `${RUN}/${expected}/1.1` });
  });

  test.each<[string, () => Submitted, string | undefined, string]>([
    ["a task that does not exist", group, "fourth", "unknown_task"],
    ["a run that is released", () => letGo(), undefined, "terminal"],
    ["a run that was not kept", () => runAt(started(), T0, observed([FAILED])), undefined, "terminal"],
  ])("not into %s", (_, state, task, code) => {
    expect(() => tunnelPlace(state(), { task })).toThrow(expect.objectContaining({ code }));
  });
});

describe("tasks.md#kept-3: what ends a hold", () => {
  test.each<[string, () => Submitted]>([
    ["somebody releases it", letGo],
    ["its time is over", () => runAt(kept(), UNTIL, { type: "tick" })],
    [
      "another run replaces it",
      () => runAt(kept(), T0, { type: "end_run", body: { ...REF, reason: "x", by: "ann", graceful: true } }),
    ],
  ])("%s: its host is told", (_, state) => {
    const run = state();
    expect(wantsHold(run, UNTIL)).toEqual([{ id: FIRST, want: "run", holdUntil: 0 }]);
    expect([run.record.hold?.released?.by !== undefined, isOpen(run)]).toEqual([true, true]);
  });

  test("tasks.md#kept-4: its place is free once its host confirms that", () => {
    const free = runAt(letGo(), T0 + 2, over());
    expect([free.record.hold, free.record.endedEpoch, isOpen(free)]).toEqual([undefined, 1, false]);
    expect(eventsOf(free)).toEqual(["Kept", "Released"]);
    expect(orderNow(free, 1, T0 + 2)).toMatchObject({ attempts: [] });
    expect(owed(free, T0 + 2).run).toMatchObject({ ended: 1, keptUntil: null, state: "complete" });
  });

  test.each<[string, () => Submitted]>([
    ["its host has ended it by itself", () => runAt(kept(), T0 + 1, over())],
    [
      "nothing of it is there any more",
      () => runAt(kept(), T0 + 1, observed([{ id: FIRST, state: "gone" }])),
    ],
    ["its machine is lost", () => runAt(kept(), T0 + 1, ended("lost"))],
    ["its worker was killed", () => runAt(letGo(), T0 + 2, ended("lost"))],
  ])("%s: it is over at once, and the run's end stays", (_, state) => {
    const { record } = state();
    expect([record.hold, record.ended, record.outcome?.exitCode]).toEqual([undefined, true, 3]);
  });

  test.each<[string, AttemptReport]>([
    ["keeps it, or still kills there", { ...FAILED, hold: "kept" }],
    ["has not heard of its end yet", { id: FIRST, state: "running", startedAgoMs: 0 }],
  ])("a report of a host that %s does not end it", (_, report) => {
    expect(runAt(letGo(), T0 + 2, observed([report])).record.hold).toBeDefined();
  });

  test("an agent that is older than `keep` says nothing of it: nothing is kept (compat.md#hosts)", () => {
    const { record } = runAt(kept(), T0 + 1, observed([FAILED]));
    expect([record.hold, record.ended, record.endedEpoch]).toEqual([undefined, true, 1]);
  });

  test("a release that comes twice changes nothing more", () => {
    expect(runAt(letGo(), T0 + 2, released("again")).record).toEqual(letGo().record);
  });

  test("a run that is kept is not forgotten", () => {
    expect(runAt(kept(), T0, { type: "forget", body: REF }).record.hold).toBeDefined();
  });
});

test.each<[string, string, boolean]>([
  ["the longest", "8h", true],
  ["more than the longest", "8h1ms", false],
  ["none", "0s", false],
])("tasks.md#kept-1: %s", (_, keep, isValid) => {
  expect(RunSpec.safeParse({ argv: ["true"], keep }).success).toBe(isValid);
});
