import { expect, test } from "vitest";
import { QueueRate } from "../../../src/core/pool/rows/queue-rate.ts";

const T0 = 1_700_000_000_000;

test.each([
  { what: "nothing is known", placedAt: [], queue: 10_000, afterMs: 0, ms: 10_000 },
  {
    what: "ten a second leave a long queue",
    placedAt: every(100, 32),
    queue: 10_000,
    afterMs: 100,
    ms: 10_000,
  },
  { what: "a hundred a second do", placedAt: every(10, 32), queue: 10_000, afterMs: 10, ms: 1_000 },
  { what: "one in 5 s leaves a short one", placedAt: every(5_000, 32), queue: 10, afterMs: 5_000, ms: 5_000 },
  {
    what: "one in 5 s leaves a long one",
    placedAt: every(5_000, 32),
    queue: 10_000,
    afterMs: 5_000,
    ms: 60_000,
  },
  { what: "all came at once, now", placedAt: every(0, 32), queue: 10_000, afterMs: 0, ms: 1_000 },
  { what: "none has left for an hour", placedAt: every(1, 32), queue: 10, afterMs: 3_600_000, ms: 60_000 },
])(
  "a full queue says when to try again, by how fast it drains: $what",
  ({ placedAt, queue, afterMs, ms }) => {
    const drain = new QueueRate();
    for (const at of placedAt) drain.note(T0 + at);
    expect(drain.retryAfterMs(queue, T0 + (placedAt.at(-1) ?? 0) + afterMs)).toBe(ms);
  },
);

/** So many instants, each so long after the one before. */
function every(ms: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index * ms);
}
