import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changed } from "../../../src/core/allocation/draft.ts";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import {
  decodeBase64,
  logsComplete,
  MAX_INLINE_LOG_BYTES,
  storedOffsets,
  takeLogs,
} from "../../../src/core/allocation/output/logs.ts";
import type { AllocationRecord, LogSegment } from "../../../src/core/allocation/state.ts";
import { isLogOver } from "../../../src/core/allocation/time/order-deadlines.ts";
import type { AttemptReport, LogPiece } from "../../../src/schema/host.ts";
import { LAST_BYTE_MS, MAX_LOG_BYTES } from "../../../src/shared/limits.ts";
import {
  at,
  ended,
  existing,
  exited,
  exitedButUnlogged,
  FIRST,
  observed,
  ordered,
  orderNow,
  runAt,
  running,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";
import { base64, textOf } from "../support/bytes.ts";

const piece = (from: number, text: string, size = from + text.length): LogPiece => ({
  from,
  size,
  data: base64(text),
});
const says = (stdout: LogPiece, report: AttemptReport = running) =>
  observed([{ ...report, log: { stdout } }]);
const tail = ({ record }: Submitted) => textOf(record.logs[FIRST]?.stdout.tail ?? new Uint8Array());

/** The run after more bytes of a stream, and the segments that left its tails. */
function taken(record: AllocationRecord, stdout: LogPiece) {
  const report = { ...running, log: { stdout } };
  return existing(changed({ ...started(), record, spill: [] }, T0, (run) => takeLogs(run, "main", report)));
}

describe("log bytes continue what is stored, by offset: nothing is stored twice or out of order", () => {
  const before = runAt(started(), T0, says(piece(0, "hello ")));

  test.each([
    ["the next piece", piece(6, "world"), "hello world"],
    ["the same piece again", piece(0, "hello "), "hello "],
    ["a part of it again", piece(2, "llo"), "hello "],
    ["an overlapping piece", piece(3, "lo world"), "hello world"],
    ["an overlapping piece from the start", piece(0, "hello world"), "hello world"],
    ["a piece after a gap", piece(7, "orld"), "hello "],
    ["an empty piece", piece(6, ""), "hello "],
    ["a size without bytes", { from: 6, size: 11 }, "hello "],
  ])("%s", (_what, next, stored) => {
    const state = runAt(before, T0 + 1, says(next));
    expect(tail(state)).toBe(stored);
    expect(storedOffsets(state.record, FIRST)).toEqual({ stdout: stored.length, stderr: 0 });
  });

  test("the two streams do not mix", () => {
    const log = { stdout: piece(0, "out"), stderr: piece(0, "error") };
    const { record } = runAt(started(), T0, observed([{ ...running, log }]));
    expect(storedOffsets(record, FIRST)).toEqual({ stdout: 3, stderr: 5 });
  });

  test("the answer says how far they are stored: what lies before the host may drop", () => {
    expect(orderNow(before, 1, T0)).toMatchObject({ logs: { [FIRST]: { stdout: 6, stderr: 0 } } });
    expect(orderNow(ordered(), 1, T0)).toMatchObject({ logs: { [FIRST]: {} } });
  });

  test("they change no version: the pool would write a row for each", () => {
    const state = runAt(before, T0 + 1, says(piece(6, "world")));
    expect(state.record.version).toBe(before.record.version);
    expect(state.record).not.toBe(before.record);
  });
});

describe("a stream's latest bytes are kept in the one value up to MAX_INLINE_LOG_BYTES", () => {
  const full = "x".repeat(MAX_INLINE_LOG_BYTES);

  test("exactly so many stay, and no row is written", () => {
    const state = runAt(started(), T0, says(piece(0, full)));
    expect(tail(state)).toBe(full);
    expect(state.spill).toEqual([]);
  });

  test("one more, and all of them leave as a row of their own", () => {
    const state = runAt(started(), T0, says(piece(0, "start ")), says(piece(6, full)));
    expect(tail(state)).toBe("");
    expect(state.spill).toMatchObject([{ attempt: FIRST, stream: "stdout", from: 0 }]);
    expect(state.spill.map((row) => ("data" in row ? textOf(row.data) : ""))).toEqual([`start ${full}`]);
    expect(storedOffsets(state.record, FIRST).stdout).toBe(full.length + 6);
  });

  test("the next event does not write the row again", () => {
    const state = runAt(started(), T0, says(piece(0, `${full}!`)));
    expect(at(state, T0, says(piece(full.length + 1, "more"))).spill).toEqual([]);
  });
});

describe("of a stream MAX_LOG_BYTES are kept", () => {
  const nearly = (missing: number): AllocationRecord => {
    const stored = MAX_LOG_BYTES - missing;
    const stream = { size: stored, stored, tail: new Uint8Array() };
    return { ...started().record, logs: { [FIRST]: { stdout: stream, stderr: stream } } };
  };
  const take = (record: AllocationRecord, text: string) =>
    taken(record, piece(record.logs[FIRST]?.stdout.stored ?? 0, text));

  test.each([
    ["up to the last byte", 3, "abc", "abc"],
    ["not one more", 3, "abcd", "abc"],
    ["nothing after it", 0, "abc", ""],
  ])("%s", (_what, missing, text, kept) => {
    const { record } = take(nearly(missing), text);
    const stdout = record.logs[FIRST]?.stdout;
    expect(textOf(stdout?.tail ?? new Uint8Array())).toBe(kept);
    expect(stdout?.size).toBe(MAX_LOG_BYTES - missing + text.length);
    expect(record.logs[FIRST]?.stdout.stored).toBe(MAX_LOG_BYTES);
  });

  test("a longer stream is complete when so much of it is stored", () => {
    expect(logsComplete(take(nearly(1), "ab").record, FIRST)).toBe(true);
    expect(logsComplete(take(nearly(2), "a").record, FIRST)).toBe(true);
    expect(logsComplete(taken(nearly(1), { from: 0, size: MAX_LOG_BYTES }).record, FIRST)).toBe(false);
  });
});

// cases.md#case-13
describe("a run ends when the last byte of its logs is stored, or LAST_BYTE_MS after its exit", () => {
  const waiting = runAt(started(), T0, observed([exitedButUnlogged]));
  const rest = says(piece(0, "0123456789"), exited({ code: 3 }));

  test("an exit with all its bytes ends it at once", () => {
    expect(at(started(), T0, rest).record).toMatchObject({ ended: true, outcome: { exitCode: 3 } });
  });

  test("while bytes are missing it goes on, its end stored, and is woken in time", () => {
    expect(waiting.record).toMatchObject({ ended: false, outcome: { exitCode: 3, at: T0 } });
    expect(allocationMachine.wakeAt(waiting)).toBe(T0 + LAST_BYTE_MS);
    expect(orderNow(waiting, 1, T0)).toMatchObject({ attempts: [{ id: FIRST }] });
  });

  test("the last byte ends it, as it was at the exit", () => {
    const half = runAt(waiting, T0 + 1, says(piece(0, "01234", 10), exited({ code: 3 })));
    expect(half.record.ended).toBe(false);
    const { record } = runAt(half, T0 + 2, says(piece(5, "56789"), exited({ code: 3 })));
    expect(record).toMatchObject({ ended: true, outcome: { exitCode: 3, at: T0 } });
    expect(record.events.map((event) => event.type)).not.toContain("Log Truncated");
  });

  test.each([
    [LAST_BYTE_MS - 1, false],
    [LAST_BYTE_MS, true],
  ])("%d ms after the exit it is over: %s, and the run says that something is missing", (ms, over) => {
    const { record } = runAt(waiting, T0 + ms, { type: "tick" });
    expect(record.ended).toBe(over);
    expect(record.events.filter((event) => event.type === "Log Truncated").length > 0).toBe(over);
  });

  test("what is missing is said once", () => {
    for (const end of [
      runAt(waiting, T0 + LAST_BYTE_MS, { type: "tick" }),
      runAt(waiting, T0, ended("gone")),
    ]) {
      expect(end.record.events.filter((event) => event.type === "Log Truncated")).toHaveLength(1);
    }
  });
});

test("base64 is read as the bytes that it says", () => {
  expect([...decodeBase64("AAH/gA==")]).toEqual([0, 1, 255, 128]);
  expect([...decodeBase64("")]).toEqual([]);
});

test("whatever pieces arrive, doubled, gapped, overlapping or late, a prefix is stored", () => {
  const whole = Array.from({ length: 300 }, (_, i) => String.fromCharCode(97 + (i % 26))).join("");
  const cut = fc
    .tuple(fc.nat(299), fc.nat(300))
    .map(([from, length]) => piece(from, whole.slice(from, from + length), 300));
  fc.assert(
    fc.property(fc.array(cut, { maxLength: 12 }), (pieces) => {
      let record = started().record;
      const segments: LogSegment[] = [];
      let stored = 0;
      for (const stdout of pieces) {
        const after = taken(record, stdout);
        record = after.record;
        segments.push(...after.spill);
        const now = record.logs[FIRST]?.stdout.stored ?? 0;
        expect(now).toBeGreaterThanOrEqual(stored);
        stored = now;
      }
      const kept =
        segments.map((one) => ("data" in one ? textOf(one.data) : "")).join("") +
        textOf(record.logs[FIRST]?.stdout.tail ?? new Uint8Array());
      expect(kept).toBe(whole.slice(0, stored));
    }),
  );
});

describe("a log is over, and who follows it goes", () => {
  const restarting = { restart: { attempts: 1, delay: "1s" } };
  const over = ({ record }: Submitted, now = T0) => {
    const first = record.tasks[0]?.attempts[0];
    return first !== undefined && isLogOver(record, first, now);
  };
  const unlogged = runAt(started(restarting), T0, observed([exitedButUnlogged]));

  test.each<[string, Submitted, number, boolean]>([
    ["not while it runs", started(), T0, false],
    ["when all of it is stored", runAt(started(restarting), T0, observed([exited({ code: 3 })])), T0, true],
    ["not while bytes are missing", unlogged, T0 + LAST_BYTE_MS - 1, false],
    ["when they are given up, though its task goes on", unlogged, T0 + LAST_BYTE_MS, true],
    ["when its placement has ended", runAt(unlogged, T0, ended("lost")), T0, true],
  ])("%s", (_what, state, now, expected) => {
    expect(over(state, now)).toBe(expected);
  });
});
