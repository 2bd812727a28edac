import { expect, test } from "vitest";
import { changed } from "../../../src/core/allocation/draft.ts";
import { MAX_INLINE_LOG_BYTES } from "../../../src/core/allocation/output/logs.ts";
import { MAX_RUN_INLINE_LOG_BYTES, spillTails } from "../../../src/core/allocation/output/tails.ts";
import type { AllocationRecord } from "../../../src/core/allocation/state.ts";
import { existing, started, T0 } from "../support/allocation.ts";

const stream = (length: number, stored = length) => ({ size: stored, stored, tail: new Uint8Array(length) });

/** A run with so many full tails, and one of `more` bytes. */
function withTails(count: number, more: number): AllocationRecord {
  const full = Array.from({ length: count }, (_, i) => [
    `r/t${i}/1.1`,
    { stdout: stream(MAX_INLINE_LOG_BYTES, 5 * MAX_INLINE_LOG_BYTES), stderr: stream(0) },
  ]);
  const last = ["r/last/1.1", { stdout: stream(more), stderr: stream(0) }];
  return { ...started().record, logs: Object.fromEntries([...full, last]) };
}

/** The run with bounded tails, and what has left them. */
const spilled = (record: AllocationRecord) =>
  existing(changed({ ...started(), record, spill: [] }, T0, spillTails));

const fitting = MAX_RUN_INLINE_LOG_BYTES / MAX_INLINE_LOG_BYTES - 1;
const tailBytes = ({ logs }: AllocationRecord) =>
  Object.values(logs).reduce((sum, { stdout, stderr }) => sum + stdout.tail.length + stderr.tail.length, 0);

test("up to MAX_RUN_INLINE_LOG_BYTES all tails stay in the one value", () => {
  const record = withTails(fitting, MAX_INLINE_LOG_BYTES);
  expect(tailBytes(record)).toBe(MAX_RUN_INLINE_LOG_BYTES);
  expect(spilled(record)).toEqual({ ...started(), record, spill: [] });
});

test("a byte more, and the longest leave it, with their offsets", () => {
  const record = withTails(fitting + 1, 1);
  const { record: kept, spill: rows } = spilled(record);
  expect(tailBytes(kept)).toBeLessThanOrEqual(MAX_RUN_INLINE_LOG_BYTES);
  expect(rows).toMatchObject([{ attempt: "r/t0/1.1", stream: "stdout", from: 4 * MAX_INLINE_LOG_BYTES }]);
  expect(rows[0]).toHaveProperty("data.length", MAX_INLINE_LOG_BYTES);
  expect(kept.logs["r/t0/1.1"]?.stdout).toMatchObject({ stored: 5 * MAX_INLINE_LOG_BYTES });
});

test("stamps count like bytes, and leave with their tail (budgets.md#stamps)", () => {
  const record = withTails(fitting, MAX_INLINE_LOG_BYTES);
  const stamps = [MAX_INLINE_LOG_BYTES, 1_000];
  const [id = "", ...others] = Object.keys(record.logs);
  const stamped = { stdout: { ...stream(MAX_INLINE_LOG_BYTES), stamps }, stderr: stream(0) };
  const { record: kept, spill: rows } = spilled({ ...record, logs: { ...record.logs, [id]: stamped } });
  expect(rows).toMatchObject([{ attempt: id, from: 0, stamps }]);
  expect(kept.logs[id]?.stdout).toEqual({
    ...stream(0),
    size: MAX_INLINE_LOG_BYTES,
    stored: MAX_INLINE_LOG_BYTES,
    lines: 0,
  });
  expect(others.every((other) => kept.logs[other] === record.logs[other])).toBe(true);
});
