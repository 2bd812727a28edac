import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changed } from "../../../src/core/allocation/draft.ts";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import {
  answerChunk,
  foldChunk,
  logObjectKey,
  type StoredChunk,
} from "../../../src/core/allocation/output/chunks.ts";
import type { AllocationState, LogSegment } from "../../../src/core/allocation/state.ts";
import { LAST_BYTE_MS, MAX_LOG_BYTES } from "../../../src/shared/limits.ts";
import {
  at,
  ended,
  exited,
  FIRST,
  nothing,
  observed,
  ordered,
  placedOn,
  pool,
  RUN,
  reloaded,
  runAt,
  running,
  started,
  submit,
  T0,
} from "../support/allocation.ts";
import { base64 } from "../support/bytes.ts";

const chunk = (from: number, length: number, more: Partial<StoredChunk> = {}): StoredChunk => {
  return { worker: "w1", attempt: FIRST, stream: "stdout", from, length, ...more };
};
const brings = (from: number, length: number, more: Partial<StoredChunk> = {}) => {
  return { type: "chunk" as const, chunk: chunk(from, length, more) };
};
const stored = (state: AllocationState) => state.record?.logs[FIRST]?.stdout.stored ?? 0;

describe("a chunk continues what is stored, or changes nothing (decisions/files.md#log-chunks)", () => {
  const before = runAt(started(), T0, brings(0, 100));

  test.each([
    ["the next", brings(100, 50), 150],
    ["the same again", brings(0, 100), 100],
    ["one that overlaps", brings(50, 100), 100],
    ["one behind a gap", brings(101, 50), 100],
    ["one of no length, which only asks", brings(100, 0), 100],
    ["the next of another worker", brings(100, 50, { worker: "w2" }), 100],
    ["the next of another run", brings(100, 50, { attempt: "other/main/1.1" }), 100],
    ["the next of a task that it has not", brings(100, 50, { attempt: `${RUN}/other/1.1` }), 100],
    ["the next of another epoch", brings(100, 50, { attempt: `${RUN}/main/2.1` }), 100],
    ["the next of the other stream", brings(0, 7, { stream: "stderr" }), 100],
  ])("%s", (_what, event, bytes) => {
    expect(stored(at(before, T0 + 1, event))).toBe(bytes);
  });

  test("it is recorded by both of its ends, and under such a key it lies in the bucket", () => {
    expect(before.spill).toEqual([{ attempt: FIRST, stream: "stdout", from: 0, length: 100, lines: 0 }]);
    expect(logObjectKey(chunk(8_192, 100))).toBe(`logs/${FIRST}/stdout/000000008192-100`);
  });

  test("a tail that lies before it becomes a segment of its own", () => {
    const tail = runAt(
      started(),
      T0,
      observed([{ ...running, log: { stdout: { from: 0, size: 6, data: base64("hello ") } } }]),
    );
    const { spill, record } = runAt(tail, T0 + 1, brings(6, 10));
    expect(spill.map(({ from }) => from)).toEqual([0, 6]);
    expect(record.logs[FIRST]?.stdout).toMatchObject({ size: 16, stored: 16, tail: new Uint8Array() });
  });

  test("it changes no version: the pool would write a row for each", () => {
    expect(runAt(before, T0 + 1, brings(100, 50)).record.version).toBe(before.record.version);
  });

  test.each([
    ["up to the cap", 10, 10, MAX_LOG_BYTES],
    ["beyond it", 10, 11, MAX_LOG_BYTES - 10],
  ])("%s", (_what, missing, length, bytes) => {
    const from = MAX_LOG_BYTES - missing;
    expect(stored(runAt(started(), T0, brings(0, from), brings(from, length)))).toBe(bytes);
  });

  test("the first may come before any report of its attempt: the worker's placement is enough", () => {
    const { record } = runAt(ordered(), T0, brings(0, 100));
    expect(record.placements).toMatchObject([{ worker: "w1", epoch: 1 }]);
    expect(stored(runAt(ordered(), T0, brings(0, 100)))).toBe(100);
  });
});

describe("what a chunk is answered (R6: the present view)", () => {
  const before = runAt(started(), T0, brings(0, 100));
  const over = runAt(before, T0, observed([exited()]));

  test.each([
    ["how far it is stored", before, chunk(0, 100), { kind: "stored", stored: 100 }],
    ["the same when all is over", over, chunk(100, 9), { kind: "stored", stored: 100 }],
    ["that it was placed elsewhere", before, chunk(0, 1, { worker: "w2" }), { kind: "foreign" }],
    [
      "that there is no such attempt",
      before,
      chunk(0, 1, { attempt: `${RUN}/main/7.1` }),
      { kind: "unknown" },
    ],
    [
      "that a second start was never ordered",
      before,
      chunk(0, 1, { attempt: `${RUN}/main/1.2` }),
      { kind: "unknown" },
    ],
    ["that there is no such run", nothing(), chunk(0, 1), { kind: "unknown" }],
  ] as const)("%s", (_what, state, asked, answer) => {
    expect(answerChunk(state, asked)).toEqual(answer);
  });

  test("a placement that was only told is forgotten with the process: reports bring it back", () => {
    const told = runAt(nothing(), T0, submit(), pool(1, placedOn()));
    expect(answerChunk(told, chunk(0, 1))).toEqual({ kind: "stored", stored: 0 });
    expect(answerChunk(reloaded(told), chunk(0, 1))).toEqual({ kind: "unknown" });
  });

  test("nothing is added to what has ended", () => {
    expect(over.record.ended).toBe(true);
    expect(changed(over, T0, (run) => foldChunk(run, chunk(100, 9)))).toBe(over);
    const lost = runAt(before, T0, ended("lost"));
    expect(stored(runAt(lost, T0, brings(100, 9)))).toBe(100);
  });
});

describe("a run that has come out waits while bytes arrive, and LAST_BYTE_MS after the latest", () => {
  const size = 1_000;
  const waiting = runAt(
    started(),
    T0,
    observed([{ ...exited({ code: 3 }), log: { stdout: { from: 0, size } } }]),
  );
  const half = runAt(waiting, T0 + LAST_BYTE_MS - 1, brings(0, 500));

  test("each chunk puts the end off", () => {
    expect(allocationMachine.wakeAt(waiting)).toBe(T0 + LAST_BYTE_MS);
    expect(allocationMachine.wakeAt(half)).toBe(T0 + 2 * LAST_BYTE_MS - 1);
    expect(runAt(half, T0 + 2 * LAST_BYTE_MS - 2, { type: "tick" }).record.ended).toBe(false);
    expect(runAt(half, T0 + 2 * LAST_BYTE_MS - 1, { type: "tick" }).record.ended).toBe(true);
  });

  test("a chunk that adds nothing does not", () => {
    expect(allocationMachine.wakeAt(runAt(half, T0 + LAST_BYTE_MS, brings(0, 500)))).toBe(
      T0 + 2 * LAST_BYTE_MS - 1,
    );
  });

  test("the last one ends it", () => {
    const { record } = runAt(half, T0 + LAST_BYTE_MS, brings(500, 500));
    expect(record).toMatchObject({ ended: true, outcome: { exitCode: 3, at: T0 } });
  });
});

describe("a stream that outgrows MAX_LOG_BYTES is said so", () => {
  const says = (bytes: number) =>
    observed([{ ...running, log: { stdout: { from: 0, size: bytes }, stderr: { from: 0, size: 1 } } }]);
  const limits = (...sizes: number[]) =>
    runAt(started(), T0, ...sizes.map(says)).record.events.filter(({ type }) => type === "Log Limit");

  test.each([
    ["not at the cap", [MAX_LOG_BYTES], 0],
    ["one byte later", [MAX_LOG_BYTES + 1], 1],
    ["once", [5, MAX_LOG_BYTES, MAX_LOG_BYTES + 1, MAX_LOG_BYTES + 9], 1],
  ])("%s", (_what, sizes, times) => {
    expect(limits(...sizes)).toHaveLength(times);
  });

  test("with its stream and what is kept", () => {
    expect(limits(MAX_LOG_BYTES + 1)).toMatchObject([
      { task: "main", details: { attempt: FIRST, stream: "stdout", kept_bytes: String(MAX_LOG_BYTES) } },
    ]);
  });
});

test("whatever arrives, segments and tail are the stream without hole or overlap", () => {
  const some = fc.oneof(
    fc.record({ from: fc.nat(300), length: fc.nat(100) }).map(({ from, length }) => brings(from, length)),
    fc
      .record({ from: fc.nat(300), length: fc.nat(100) })
      .map(({ from, length }) =>
        observed([
          { ...running, log: { stdout: { from, size: from + length, data: base64("x".repeat(length)) } } },
        ]),
      ),
  );
  fc.assert(
    fc.property(fc.array(some, { maxLength: 20 }), (events) => {
      let state: AllocationState = started();
      const segments: LogSegment[] = [];
      for (const event of events) {
        state = at(state, T0, event);
        segments.push(...state.spill);
      }
      let end = 0;
      for (const segment of segments) {
        expect(segment.from).toBe(end);
        end += "data" in segment ? segment.data.length : segment.length;
      }
      const { stdout } = state.record?.logs[FIRST] ?? {};
      expect(stdout?.stored ?? 0).toBe(end + (stdout?.tail.length ?? 0));
    }),
  );
});
