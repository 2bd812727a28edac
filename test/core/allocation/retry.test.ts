import { describe, expect, test } from "vitest";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { AttemptReport, StartError } from "../../../src/schema/host.ts";
import type { RunSpecInput } from "../../../src/schema/run/run.ts";
import {
  abort,
  ended,
  observed,
  orderNow,
  owed,
  place,
  pool,
  queued,
  RUN,
  reloaded,
  runAt,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";
import { GroupStory, task } from "../support/group.ts";

type Given = NonNullable<RunSpecInput["retry"]>;
type Retry = Given & { on: NonNullable<Given["on"]> };

/** No jitter, so that times can be named. */
const BACKOFF = { first: "10s", factor: 2, max: "1m", jitter: 0 };
const GIB = 2 ** 30;

function retried(retry: Partial<Retry> & Pick<Retry, "on">, more: Partial<RunSpecInput> = {}): Submitted {
  const limit = retry.on.includes("timeout") ? { timeout: "1h" } : {};
  return started({ retry: { backoff: BACKOFF, ...retry }, ...limit, ...more });
}

const report = (epoch: number, more: Partial<AttemptReport>): AttemptReport => ({
  id: `${RUN}/main/${epoch}.1`,
  state: "exited",
  startedAgoMs: 1_000,
  endedAgoMs: 0,
  ...more,
});
const exit = (code: number | null, more: { signal?: string; oomKilled?: boolean } = {}) => ({
  exit: { code, signal: null, oomKilled: false, message: "", ...more },
});
const OOM = exit(null, { signal: "SIGKILL", oomKilled: true });

/** The open try ends with this report, on the worker of its number. */
function ends(state: Submitted, now: number, more: Partial<AttemptReport>): Submitted {
  const epoch = state.record.endedEpoch + 1;
  return runAt(state, now, observed([report(epoch, more)], { epoch, worker: `w${epoch}` }));
}

/** The wait of the run is over, and its next try runs. */
function goesOn(state: Submitted, now: number): Submitted {
  const epoch = state.record.endedEpoch + 1;
  const on = { epoch, worker: `w${epoch}` };
  const placed = runAt(state, now, { type: "tick" }, place(on.worker, epoch));
  return runAt(
    placed,
    now,
    observed([{ id: `${RUN}/main/${epoch}.1`, state: "running", startedAgoMs: 0 }], on),
  );
}

const start = (code: StartError["code"], recoverable?: boolean): Partial<AttemptReport> => ({
  startedAgoMs: undefined,
  startError: { code, text: "no", ...(recoverable === undefined ? {} : { recoverable }) },
});

describe("each cause leads to another try only if the policy names it (retry.md#causes)", () => {
  const all: Retry["on"] = ["exit", "timeout", "oom", "machine_lost", "interrupted", "boot", "image"];
  const stop = (stopped: AttemptReport["stopped"]) => ({ ...exit(null, { signal: "SIGTERM" }), stopped });

  test.each<[string, Retry["on"][number] | undefined, Partial<AttemptReport>]>([
    ["an exit code other than 0", "exit", exit(3)],
    ["a signal", "exit", exit(null, { signal: "SIGSEGV" })],
    ["exit code 0", undefined, exit(0)],
    ["exit code 0 after a child ran out of memory", undefined, exit(0, { oomKilled: true })],
    ["a lack of memory", "oom", OOM],
    ["the end of its lease", "machine_lost", stop("lease")],
    ["the end of its agent", "machine_lost", stop("agent")],
    ["a lost process", "machine_lost", { state: "gone" }],
    ["the notice of an interruption", "interrupted", stop("interruption")],
    ["files that could not be fetched", "boot", start("artifact_failed", true)],
    ["a snapshot that could not be fetched", "boot", start("snapshot_failed", true)],
    ["secrets that could not be fetched", "boot", start("secrets_failed", true)],
    ["an engine that does not answer", "boot", start("engine_failed", true)],
    ["a machine without processes left", "boot", start("start_failed", true)],
    ["files with other digests", undefined, start("artifact_failed")],
    ["a registry that does not answer", "image", start("image_failed", true)],
    ["an image that does not fit", undefined, start("image_failed")],
    ["an image that does not exist", undefined, start("image_missing")],
    ["an image that is denied", undefined, start("image_denied")],
    ["a command that does not exist", undefined, start("command_not_found")],
    ["a file that is not executable", undefined, start("not_executable")],
    ["outputs that could not be stored", undefined, { ...exit(0), outputs: { error: "no room" } }],
  ])("%s: %s", (_what, cause, how) => {
    const named = ends(retried({ on: all }), T0 + 5_000, how);
    expect(named.record.retries?.map((one) => one.cause)).toEqual(cause === undefined ? undefined : [cause]);
    expect(named.record.ended).toBe(cause === undefined);
    const others = all.filter((one) => one !== cause);
    const unnamed = ends(retried({ on: others }), T0 + 5_000, how);
    expect(unnamed.record).toMatchObject({ ended: true, endedEpoch: 1 });
    expect(unnamed.record.retries).toBeUndefined();
  });

  test.each(["image_missing", "image_denied"] as const)("%s by its own name", (code) => {
    expect(ends(retried({ on: [code] }), T0 + 5_000, start(code)).record.retries).toMatchObject([
      { cause: code },
    ]);
  });

  test.each([
    ["without notice", undefined, "machine_lost"],
    ["with notice", "interruption", "interrupted"],
  ] as const)("a machine that was lost %s", (_what, cause, expected) => {
    const loss = ended("lost");
    const event = loss.type === "ended" ? { ...loss, body: { ...loss.body, cause } } : loss;
    const lost = (on: Retry["on"]) => runAt(retried({ on }), T0 + 5_000, event).record;
    expect(lost([expected]).retries).toMatchObject([{ cause: expected, epoch: 1, worker: "w1" }]);
    expect(lost(all.filter((one) => one !== expected))).toMatchObject({
      ended: true,
      outcome: { state: "unknown" },
    });
  });

  test("of a group, that of the task that failed first; only tasks that ran out of memory get more", () => {
    const of = (name: string) => ({
      ...task(name, { restart: { attempts: 0 } }),
      resources: { memory: "1GiB" },
    });
    const retry: Retry = { on: ["oom"], escalate: { oom: { memory: 2 } } };
    const story = new GroupStory({ tasks: [of("a"), of("b")], retry });
    story.ends("a", { code: 137, oomKilled: true });
    expect(story.run.record.retries).toMatchObject([{ cause: "oom", tasks: ["a"] }]);
    expect(owed(story.run, story.now).run?.resources.memoryBytes).toBe(3 * GIB);
    const exits = new GroupStory({ tasks: [of("a"), of("b")], retry }).ends("b", { code: 1 });
    expect(exits.run.record).toMatchObject({ ended: true, outcome: { state: "failed" } });
  });
});

describe("exit codes (retry.md#exit-codes)", () => {
  test.each<[string, Partial<Retry>, number, boolean]>([
    ["any", {}, 3, true],
    ["a listed one", { exitCodes: [3, 4] }, 3, true],
    ["one that is not listed", { exitCodes: [4] }, 3, false],
    ["one that is excluded", { notExitCodes: [3] }, 3, false],
    ["one that is not excluded", { notExitCodes: [4] }, 3, true],
  ])("%s", (_what, lists, code, again) => {
    const run = ends(retried({ on: ["exit"], ...lists }), T0 + 5_000, exit(code));
    expect(run.record.ended).toBe(!again);
  });

  test("a signal counts as a shell shows it", () => {
    const how = exit(null, { signal: "SIGSEGV" });
    expect(ends(retried({ on: ["exit"], exitCodes: [139] }), T0, how).record.ended).toBe(false);
    expect(ends(retried({ on: ["exit"], notExitCodes: [139] }), T0, how).record.ended).toBe(true);
  });
});

describe("the next try (retry.md#next-try)", () => {
  const failed = ends(retried({ on: ["exit"], max: 2 }), T0 + 5_000, exit(3));

  test("waits, wants nothing, and still runs as far as anybody can see", () => {
    expect(failed.record).toMatchObject({ ended: false, outcome: null, endedEpoch: 1, placeAt: T0 + 15_000 });
    expect(owed(failed, T0 + 5_000).run).toMatchObject({ wants: "nothing", state: "running", retried: 1 });
    expect(failed.record.events.at(-1)).toMatchObject({
      type: "Retrying",
      details: { cause: "exit", try: "1", delay: "10s" },
    });
  });

  test("is asked for once the wait is over, and not earlier", () => {
    expect(runAt(failed, T0 + 14_999, { type: "tick" }).record.placeAt).toBeDefined();
    const after = runAt(failed, T0 + 15_000, { type: "tick" });
    expect(owed(after, T0 + 15_000).run).toMatchObject({ wants: "place", avoid: [] });
  });

  test("waits longer each time, and the last one ends the run as without a policy", () => {
    const second = ends(goesOn(failed, T0 + 15_000), T0 + 20_000, exit(4));
    expect(second.record.placeAt).toBe(T0 + 40_000);
    const third = ends(goesOn(second, T0 + 40_000), T0 + 50_000, exit(5));
    expect(third.record).toMatchObject({ ended: true, outcome: { state: "complete", exitCode: 5 } });
    expect(third.record.outcome?.again).toBeUndefined();
    expect(third.record.tasks[0]?.attempts.map(({ id }) => id)).toEqual(
      [1, 2, 3].map((epoch) => `${RUN}/main/${epoch}.1`),
    );
  });

  test("has the same wait after the object is loaded again", () => {
    const wait = (state: Submitted) => state.record.retries?.[0]?.delayMs ?? 0;
    const jittered = { ...BACKOFF, jitter: 0.5 };
    const one = ends(retried({ on: ["exit"], backoff: jittered }), T0 + 5_000, exit(3));
    const other = ends(reloaded(retried({ on: ["exit"], backoff: jittered })), T0 + 5_000, exit(3));
    expect(wait(one)).toBe(wait(other));
    expect(wait(one)).toBeGreaterThanOrEqual(10_000);
    expect(wait(one)).toBeLessThan(15_000);
  });

  test("avoids a machine that could not start it, and not one on which its command failed", () => {
    const boot = ends(retried({ on: ["boot"] }), T0, start("start_failed", true));
    expect(owed(boot, T0).run?.avoid).toEqual(["w1"]);
    expect(owed(failed, T0 + 5_000).run?.avoid).toEqual([]);
  });

  test("does not follow an abort, at any moment", () => {
    const none = (run: Submitted, now: number) =>
      runAt(run, now, pool(run.record.version, { kind: "none", version: run.record.version }));
    expect(none(runAt(failed, T0 + 6_000, abort()), T0 + 6_000).record.outcome?.state).toBe("aborted");
    const stopping = runAt(retried({ on: ["exit"] }), T0, abort());
    expect(ends(stopping, T0 + 1_000, exit(3)).record.outcome?.state).toBe("aborted");
  });

  test("an epoch whose order the host never held is no try (R2)", () => {
    const refused = runAt(retried({ on: ["machine_lost"] }), T0, ended("refused", { held: false }));
    expect(refused.record).toMatchObject({ ended: false, endedEpoch: 1 });
    expect(refused.record.retries).toBeUndefined();
  });
});

describe("the time limit (retry.md#time-limit)", () => {
  const each = () => retried({ on: ["timeout"], max: 1 }, { timeout: "60s" });
  const late = (state: Submitted, now: number) => ends(state, now, { ...exit(null), timedOut: true });

  test("is that of each try if the policy names `timeout`", () => {
    const first = late(each(), T0 + 60_000);
    expect(first.record).toMatchObject({ ended: false, stopRequest: null, retries: [{ cause: "timeout" }] });
    const second = goesOn(first, T0 + 90_000);
    expect(orderNow(second, 2, T0 + 90_000, "w2")).toMatchObject({ attempts: [{ timeoutMs: 60_000 }] });
    expect(late(second, T0 + 150_000).record).toMatchObject({ ended: true, outcome: { state: "timedout" } });
  });

  test("does not count between tries", () => {
    const first = late(each(), T0 + 60_000);
    const waiting = runAt(first, T0 + 1_000_000, { type: "tick" });
    expect(waiting.record).toMatchObject({ ended: false, stopRequest: null });
    expect(owed(waiting, T0 + 1_000_000).run).toMatchObject({ wants: "place" });
  });

  test("is that of all tries together if it does not", () => {
    const failed = ends(retried({ on: ["exit"] }, { timeout: "12s" }), T0 + 5_000, exit(1));
    expect(runAt(failed, T0 + 12_000, { type: "tick" }).record.stopRequest?.state).toBe("timedout");
  });

  test("gives way to an abort while it ends a try", () => {
    const stopping = runAt(each(), T0 + 61_000, { type: "tick" }, abort());
    expect(late(stopping, T0 + 62_000).record.outcome?.state).toBe("aborted");
  });

  test("that was over when the machine was lost is what the try failed for", () => {
    expect(runAt(each(), T0 + 70_000, ended("lost")).record.retries).toMatchObject([{ cause: "timeout" }]);
  });
});

describe("case 23: more memory after a lack of it, once each time (retry.md#escalation)", () => {
  const oom = (retry: Partial<Retry> = {}) =>
    retried({ on: ["oom"], escalate: { oom: { memory: 2 } }, ...retry }, { resources: { memory: "2GiB" } });
  const first = ends(oom(), T0 + 5_000, OOM);

  test("the pool and the host learn of twice the memory, and of no other change", () => {
    expect(owed(first, T0 + 5_000).run?.resources).toMatchObject({ vcpus: 1, memoryBytes: 4 * GIB });
    const second = goesOn(first, T0 + 15_000);
    expect(orderNow(second, 2, T0 + 15_000, "w2")).toMatchObject({
      attempts: [{ task: { resources: { memoryBytes: 4 * GIB } } }],
    });
    expect(statusOf(second).spec.resources.memory).toBe("2GiB");
  });

  test("once, whatever is repeated, and again after the next lack of it", () => {
    const again = runAt(first, T0 + 5_002, ended("gone"), observed([report(1, OOM)]), ended("lost"));
    expect(owed(again, T0 + 5_002).run?.resources.memoryBytes).toBe(4 * GIB);
    const third = ends(goesOn(first, T0 + 15_000), T0 + 20_000, OOM);
    expect(owed(third, T0 + 20_000).run?.resources.memoryBytes).toBe(8 * GIB);
  });

  test("up to a limit, at which it is not tried again", () => {
    const bounded = { escalate: { oom: { memory: 2, upTo: "3GiB" } } };
    const second = ends(oom(bounded), T0 + 5_000, OOM);
    expect(owed(second, T0 + 5_000).run?.resources.memoryBytes).toBe(3 * GIB);
    expect(ends(goesOn(second, T0 + 15_000), T0 + 20_000, OOM).record).toMatchObject({ ended: true });
  });

  test("not after another cause", () => {
    const lost = runAt(oom({ on: ["oom", "machine_lost"] }), T0, ended("lost"));
    expect(owed(lost, T0).run?.resources.memoryBytes).toBe(2 * GIB);
  });

  test("shown with its price, in `why`, in the status and in an event", () => {
    const { version } = first.record;
    const told = runAt(first, T0 + 5_000, pool(version, { kind: "none", version, offeredRate: 0.04 }));
    expect(whyOf(told, null, null, T0 + 6_000).reason.text).toBe(
      "it waits until 2026-11-21T08:30:15.000Z for try 2 of 4 with 4GiB of memory, at 0.040 per hour, " +
        "since it ran out of memory (2GiB)",
    );
    expect(statusOf(told).retries).toMatchObject({
      try: 2,
      of: 4,
      nextAt: "2026-11-21T08:30:15.000Z",
      items: [
        { try: 1, cause: "oom", memoryBytes: 2 * GIB },
        { try: 2, cause: null, memoryBytes: 4 * GIB, perHour: 0.04, epoch: null },
      ],
    });
    const placed = runAt(
      told,
      T0 + 15_000,
      { type: "tick" },
      {
        type: "place",
        body: { run: RUN, worker: "w2", epoch: 2, version, submittedAt: T0, rate: 0.05 },
      },
    );
    const running = runAt(
      placed,
      T0 + 15_000,
      observed([report(2, { state: "running" })], { epoch: 2, worker: "w2" }),
    );
    expect(running.record.events.filter(({ type }) => type === "Placed").at(-1)?.message).toBe(
      "placed on worker w2: try 2 of 4 with 4GiB of memory, at 0.050 per hour",
    );
    expect(statusOf(running).retries?.items.at(-1)).toMatchObject({ perHour: 0.05, worker: "w2", epoch: 2 });
  });

  test("that no machine has ends the run, with the reason, once the pool has confirmed it", () => {
    const waiting = runAt(first, T0 + 15_000, { type: "tick" });
    const { version } = waiting.record;
    const outOfReach =
      "its next try asks for 1 vCPUs, 4GiB of memory, and no machine of its pool can hold that";
    const told = runAt(waiting, T0 + 15_000, pool(version, { kind: "queued", outOfReach }));
    expect(told.record).toMatchObject({ ended: false, stopRequest: { failure: "unsatisfiable" } });
    const last = told.record.version;
    const over = runAt(told, T0 + 15_001, pool(last, { kind: "none", version: last }));
    expect(statusOf(over)).toMatchObject({
      state: "failed",
      failure: { code: "unsatisfiable", text: `${outOfReach}; before that, ran out of memory (2GiB)` },
    });
  });
});

describe("an end after an earlier lack of memory is told as what it is (retry.md#parked)", () => {
  const short = (spec: Partial<RunSpecInput> = {}) => {
    const retry = { on: ["oom" as const], escalate: { oom: { memory: 2 } }, park: true };
    return ends(retried(retry, { resources: { memory: "2GiB" }, ...spec }), T0 + 5_000, OOM);
  };
  const confirmed = (run: Submitted, now: number) =>
    runAt(run, now, pool(run.record.version, { kind: "none", version: run.record.version }));
  const placed = runAt(short(), T0 + 20_000, { type: "tick" }, place("w2", 2), abort("not needed"));
  const limit = "the time limit of 12s was reached";

  test.each<[string, Submitted, string, string | undefined]>([
    [
      "aborted while it waits",
      confirmed(runAt(short(), T0 + 6_000, abort("no")), T0 + 6_000),
      "no",
      undefined,
    ],
    [
      "aborted before its second try began",
      confirmed(
        runAt(placed, T0 + 20_001, ended("gone", { epoch: 2, worker: "w2", held: false })),
        T0 + 21_000,
      ),
      "not needed",
      undefined,
    ],
    [
      "out of time while it waits",
      confirmed(runAt(short({ timeout: "12s" }), T0 + 12_500, { type: "tick" }), T0 + 12_500),
      limit,
      `after one try: ${limit}`,
    ],
  ])("%s", (_how, run, description, reason) => {
    const status = statusOf(run);
    expect(run.record.ended).toBe(true);
    expect(status.description).toBe(description);
    expect(status.parked?.reason).toBe(reason);
  });
});

describe("a parked run says how many tries it had (retry.md#parked)", () => {
  test("none, if no place was found", () => {
    const waits = queued({ queueTimeout: "1m", retry: { on: [], park: true } });
    const late = runAt(waits, T0 + 61_000, { type: "tick" });
    const { version } = late.record;
    const over = runAt(late, T0 + 61_000, pool(version, { kind: "none", version }));
    expect(statusOf(over).parked).toMatchObject({
      tries: 0,
      reason: "before any try: no place was found within the queueTimeout of 1m",
    });
  });
});

describe("on-demand machines after an interruption (retry.md#escalation)", () => {
  const interrupted = (retry: Partial<Retry>) =>
    ends(retried({ on: ["interrupted"], ...retry }), T0, { ...exit(null), stopped: "interruption" });

  test("are asked for by each later try", () => {
    const run = interrupted({ escalate: { interrupted: "on-demand" } });
    expect(owed(run, T0).run?.asks).toEqual({ spot: "never" });
    expect(run.record.events.at(-1)?.message).toContain("on an on-demand machine");
  });

  test("only if the policy says so", () => {
    expect(owed(interrupted({}), T0).run?.asks).toBeUndefined();
  });
});
