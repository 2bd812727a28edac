import { describe, expect, test } from "vitest";
import { ASK_AGAIN_MS } from "../../../src/core/allocation/after/awaiting.ts";
import { answerAwaitEnd, MAX_FOLLOWERS } from "../../../src/core/allocation/after/followers.ts";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { AllocationState } from "../../../src/core/allocation/state.ts";
import { upsertOf } from "../../../src/core/allocation/summary.ts";
import type { AwaitAnswer, RunEnd, Unmet } from "../../../src/core/messages.ts";
import type { After, AfterOn } from "../../../src/shared/after/entries.ts";
import {
  abort,
  at,
  ended,
  existing,
  exited,
  nothing,
  observed,
  owed,
  pool,
  queued,
  RUN,
  reloaded,
  runAt,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

// A run starts only after others have ended well, and ends if one of them does not (api.md#after).

const LATER = T0 + 60_000;
const follower = { run: RUN, submittedAt: T0 };
const asks = (state: AllocationState, now = T0) =>
  allocationMachine.due(state, now).flatMap((one) => (one.kind === "await_end" ? [one.to] : []));
const answer = (run: string, said: AwaitAnswer) =>
  ({ type: "await_end_answered", sent: { run, follower }, answer: said }) as const;
const goesOn = (run: string, tells = true) => answer(run, { kind: "goes_on", tells });
const word = (of: string, end: RunEnd, submittedAt = T0) =>
  ({ type: "run_ended", body: { run: RUN, submittedAt, of, end } }) as const;
const wordOf = (of: string) => word(of, { well: true });
const bad: RunEnd = { well: false, text: "ended with exit code 3" };
const good: RunEnd = { well: true };
/** A run that follows others, and is known to its pool. */
const following = (...after: After[]) =>
  runAt(nothing(), T0, submit({ after }), pool(1, { kind: "none", version: 1 }));

describe("a run that follows others", () => {
  test("wants no place, and asks each of them; its pool knows that it is to come", () => {
    const state = following("a", "b", "a");
    expect(upsertOf(state)).toMatchObject({ wants: "nothing", deferred: true, state: "pending" });
    expect(asks(state)).toEqual(["a", "b"]);
  });

  test("asks again after a while, after a crash, and when its pool pokes it: no single word counts", () => {
    const told = runAt(following("a"), T0, goesOn("a"));
    expect(asks(told)).toEqual([]);
    expect(allocationMachine.wakeAt(told)).toBe(T0 + ASK_AGAIN_MS);
    expect(asks(told, T0 + ASK_AGAIN_MS)).toEqual(["a"]);
    expect(asks(reloaded(told))).toEqual(["a"]);
    const poked = runAt(told, T0, { type: "poke_run", body: follower });
    expect(asks(poked)).toEqual(["a"]);
  });

  test("does not count on what was promised to an earlier submission under its id", () => {
    const sent = { run: "a", follower: { run: RUN, submittedAt: T0 - 5 } };
    const promise = { type: "await_end_answered", sent, answer: { kind: "goes_on", tells: true } } as const;
    expect(asks(runAt(following("a"), T0, promise))).toEqual(["a"]);
  });

  test("asks sooner if the other one has too many followers to tell it", () => {
    const told = runAt(following("a"), T0, goesOn("a", false));
    expect(asks(told, LATER)).toEqual(["a"]);
  });

  test("wants a place once the last of them has ended well, however it hears of that", () => {
    const one = runAt(following("a", "b"), T0, word("a", good));
    expect(upsertOf(one)).toMatchObject({ wants: "nothing" });
    expect(asks(one)).toEqual(["b"]);
    const both = runAt(one, LATER, answer("b", { kind: "run_end", end: good }));
    expect(upsertOf(both)).toMatchObject({ wants: "place" });
    expect(upsertOf(both).deferred).toBeUndefined();
    expect(owed(both, LATER).run).toMatchObject({ wants: "place" });
    expect(both.record.waitingSince).toBe(LATER);
  });

  test.each<[string, RunEnd | undefined, string]>([
    ["ended otherwise", bad, "run a, after which it was to start, ended with exit code 3"],
    [
      "did not start itself",
      { well: false, text: "did not start", cause: { run: "z", text: "ended with exit code 3" } },
      "run a, after which it was to start, did not start, since run z ended with exit code 3",
    ],
    [
      "was deleted",
      undefined,
      "run a, after which it was to start, was deleted before this run knew how it had ended",
    ],
  ])("ends at once if one of them %s, and names the first cause", (_what, end, reason) => {
    const said = end === undefined ? answer("a", { kind: "no_such" }) : word("a", end);
    const stops = runAt(following("a", "b"), LATER, said);
    expect(asks(stops)).toEqual([]);
    const { version } = upsertOf(stops);
    const over = runAt(stops, LATER, pool(version, { kind: "none", version }));
    const failure = { code: "dependency_failed", text: reason };
    expect(over.record).toMatchObject({ ended: true, outcome: { state: "failed", failure } });
  });

  test("passes the first cause on to those that follow it", () => {
    const stops = runAt(following("a"), LATER, word("a", bad));
    const { version } = upsertOf(stops);
    const over = runAt(stops, LATER, pool(version, { kind: "none", version }));
    expect(answerAwaitEnd(over, { run: RUN, follower: { run: "next", submittedAt: T0 } })).toEqual({
      kind: "run_end",
      end: { well: false, text: "did not start", cause: { run: "a", text: "ended with exit code 3" } },
    });
  });

  test.each<[string, ReturnType<typeof word>]>([
    ["of a run that it does not follow", word("x", bad)],
    ["to an earlier submission under its id", word("a", bad, T0 - 1)],
  ])("ignores a word %s", (_what, said) => {
    const state = following("a");
    expect(runAt(state, T0, said).record).toEqual(state.record);
  });

  test.each<[AfterOn, string, boolean, RunEnd | undefined]>([
    ["failure", "ended badly", true, bad],
    ["failure", "did not start itself", true, { ...bad, cause: { run: "z", text: "failed" } }],
    ["any", "ended badly", true, bad],
    ["any", "ended well", true, good],
    ["any", "was deleted, as only a run that has ended is", true, undefined],
    ["failure", "ended well", false, good],
    ["failure", "was deleted", false, undefined],
  ])("on %s of a run that %s starts: %s", (on, _what, starts, end) => {
    const said = end === undefined ? answer("a", { kind: "no_such" }) : word("a", end);
    const state = runAt(following({ run: "a", on }), LATER, said);
    expect(upsertOf(state).wants).toBe(starts ? "place" : "nothing");
    expect(state.record.stopRequest?.reason).toBe(
      starts
        ? undefined
        : `run a, after whose failure it was to start, ${
            end === undefined ? "was deleted before this run knew how it had ended" : "ended well"
          }`,
    );
    expect(state.record.stopRequest?.failure).toBe(starts ? undefined : "dependency_failed");
  });

  test("that needs two ends of one run, which exclude each other, ends at once", () => {
    const state = following("a", { run: "a", on: "failure" });
    expect(asks(state)).toEqual(["a"]);
    for (const end of [good, bad])
      expect(runAt(following("a", { run: "a", on: "failure" }), LATER, word("a", end)).record).toMatchObject({
        stopRequest: { failure: "dependency_failed" },
      });
  });

  test("says what it waits for, whatever the number", () => {
    const many = following("a", { run: "b", on: "failure" }, { array: "parts", on: "any" }, "d", "e");
    expect(whyOf(many, null, null, T0).reason).toEqual({
      code: "awaiting",
      text:
        "it starts after others: it waits for run a to end well, run b to fail, array parts to end and " +
        "2 others",
    });
  });

  test("does not end twice: what it hears when it runs or is to stop changes nothing", () => {
    const runs = started({ after: ["a"] });
    for (const state of [runAt(following("a"), T0, abort()), existing(runs)])
      expect(runAt(state, LATER, word("b", bad)).record.stopRequest).toEqual(state.record.stopRequest);
  });

  test("its `queueTimeout` begins when it may start", () => {
    const waits = runAt(
      nothing(),
      T0,
      submit({ after: ["a"], queueTimeout: "1s" }),
      pool(1, { kind: "none", version: 1 }),
    );
    expect(runAt(waits, LATER, { type: "tick" }).record.stopRequest).toBeNull();
    const free = runAt(waits, LATER, word("a", good));
    expect(runAt(free, LATER + 999, { type: "tick" }).record.stopRequest).toBeNull();
    expect(runAt(free, LATER + 1_000, { type: "tick" }).record.stopRequest).toMatchObject({
      failure: "queue_timeout",
    });
  });
});

describe("a run that follows an array", () => {
  const entry = { array: "parts", on: "success" } as const;
  const word = (unmet?: Unmet, submittedAt = T0, more = {}) =>
    ({
      type: "array_ended",
      body: { run: RUN, submittedAt, ...entry, ...(unmet === undefined ? {} : { unmet }), ...more },
    }) as const;

  test("asks nobody, and tells its pool what it awaits as long as it does", () => {
    const state = following("a", { array: "parts" });
    expect(asks(state)).toEqual(["a"]);
    expect(upsertOf(state)).toMatchObject({ wants: "nothing", deferred: true, awaitsArrays: [entry] });
    const one = runAt(state, LATER, word());
    expect(upsertOf(one)).toMatchObject({ wants: "nothing", deferred: true });
    expect(upsertOf(one).awaitsArrays).toBeUndefined();
    expect(owed(one, LATER).run).toMatchObject({ version: upsertOf(one).version });
    expect(upsertOf(runAt(one, LATER, wordOf("a"))).wants).toBe("place");
  });

  test("ends at once if that cannot be met, though others have not begun, and names the first cause", () => {
    const cause = { run: "parts-3", text: "ended with exit code 3" };
    const stops = runAt(
      following({ array: "parts" }, "a"),
      LATER,
      word({ text: "has not ended well", cause }),
    );
    expect(upsertOf(stops).awaitsArrays).toBeUndefined();
    const { version } = upsertOf(stops);
    const over = runAt(stops, LATER, pool(version, { kind: "none", version }));
    expect(over.record).toMatchObject({
      ended: true,
      outcome: {
        failure: {
          code: "dependency_failed",
          text:
            "array parts, after which it was to start, has not ended well, since run parts-3 ended with " +
            "exit code 3",
        },
      },
    });
    expect(upsertOf(over)).toMatchObject({ firstCause: cause });
  });

  test.each<[string, ReturnType<typeof word>]>([
    ["of an array that it does not follow", word(undefined, T0, { array: "others" })],
    ["of another end than it awaits", word(undefined, T0, { on: "any" })],
    ["to an earlier submission under its id", word(undefined, T0 - 1)],
  ])("ignores a word %s", (_what, said) => {
    const state = following({ array: "parts" });
    expect(runAt(state, T0, said).record).toEqual(state.record);
  });
});

describe("a run that others follow", () => {
  const asked = (name = "b") =>
    ({ type: "await_end", body: { run: RUN, follower: { run: name, submittedAt: T0 } } }) as const;
  const news = (state: AllocationState) =>
    allocationMachine.due(state, LATER).flatMap((one) => (one.kind === "run_ended" ? [one.body] : []));
  const ofFollower = { run: RUN, follower: { run: "b", submittedAt: T0 } };

  test("promises to tell of its end, and keeps that through a crash, until it is answered", () => {
    const promised = runAt(started(), T0, asked(), asked());
    expect(answerAwaitEnd(promised, ofFollower)).toEqual({ kind: "goes_on", tells: true });
    expect(news(promised)).toEqual([]);
    const over = runAt(reloaded(promised), LATER, observed([exited()]));
    const body = { run: "b", submittedAt: T0, of: RUN, end: good };
    expect(news(over)).toEqual([body]);
    expect(news(reloaded(over))).toEqual([body]);
    const told = runAt(over, LATER, { type: "run_ended_answered", sent: body, answer: { kind: "noted" } });
    expect(news(told)).toEqual([]);
    expect(answerAwaitEnd(told, ofFollower)).toEqual({ kind: "run_end", end: { well: true } });
  });

  test("tells the latest submission of a run, and not an earlier one, which was refused", () => {
    const again = { run: "b", submittedAt: T0 + 5 };
    const anew = { type: "await_end", body: { run: RUN, follower: again } } as const;
    const promised = runAt(started(), T0, asked(), anew, asked());
    expect(answerAwaitEnd(promised, { run: RUN, follower: again })).toMatchObject({ tells: true });
    expect(answerAwaitEnd(promised, ofFollower)).toMatchObject({ tells: false });
    const over = runAt(promised, LATER, observed([exited()]));
    expect(news(over).map(({ submittedAt }) => submittedAt)).toEqual([T0 + 5]);
    const [body] = news(over);
    const told = (submittedAt: number) => ({ ...body, submittedAt }) as NonNullable<typeof body>;
    const answered = (submittedAt: number) =>
      runAt(over, LATER, {
        type: "run_ended_answered",
        sent: told(submittedAt),
        answer: { kind: "noted" },
      });
    expect(news(answered(T0))).toHaveLength(1);
    expect(news(answered(T0 + 5))).toEqual([]);
  });

  test("shows its readers no new version for that, and does not bother its pool", () => {
    const before = started();
    const { record } = runAt(before, T0, asked());
    expect([record.version, record.poolVersion]).toEqual([before.record.version, before.record.poolVersion]);
  });

  test("tells what it can, and says to others that it cannot", () => {
    const names = Array.from({ length: MAX_FOLLOWERS }, (_, index) => `b${index}`);
    const full = names.reduce((state, name) => runAt(state, T0, asked(name)), existing(started()));
    const late = runAt(full, T0, asked("late"));
    expect(answerAwaitEnd(late, { run: RUN, follower: { run: "late", submittedAt: T0 } })).toEqual({
      kind: "goes_on",
      tells: false,
    });
    expect(answerAwaitEnd(late, { run: RUN, follower: { run: "b0", submittedAt: T0 } })).toMatchObject({
      tells: true,
    });
  });

  test("that does not exist writes nothing (rule R6)", () => {
    expect(at(nothing(), T0, asked()).record).toBeNull();
    expect(answerAwaitEnd(nothing(), ofFollower)).toEqual({ kind: "no_such" });
  });

  test.each<[string, AllocationState, RunEnd]>([
    ["exit code 0", runAt(started(), T0, observed([exited()])), good],
    ["another exit code", runAt(started(), T0, observed([exited({ code: 3 })])), bad],
    [
      "a signal",
      runAt(started(), T0, observed([exited({ code: null, signal: "SIGKILL" })])),
      { well: false, text: "was ended by SIGKILL" },
    ],
    [
      "an abort",
      runAt(queued(), T0, abort("wrong branch"), pool(3, { kind: "none", version: 3 })),
      { well: false, text: "was aborted: wrong branch" },
    ],
    [
      "the loss of its machine",
      runAt(started(), T0, ended("lost")),
      { well: false, text: expect.stringMatching(/^was lost: worker w1 was lost/) },
    ],
  ])("says how it has ended: %s", (_what, state, end) => {
    expect(answerAwaitEnd(state, ofFollower)).toEqual({ kind: "run_end", end });
  });
});
