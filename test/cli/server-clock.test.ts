import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ServerClock } from "../../client/transport/server-clock.ts";

const NOW = Date.UTC(2026, 10, 30, 12);
beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

/** An answer that was made at this time of the server, as its `Date` says it. */
const answeredAt = (ms: number) =>
  new Response(null, { headers: { date: new Date(Math.floor(ms / 1_000) * 1_000).toUTCString() } });

/** By how much a clock is corrected that was this much ahead, by an answer which took so long. */
function corrected(known: number, serverAhead: number, { there = 0, back = 0 }): number {
  const clock = new ServerClock();
  if (known !== 0) clock.ask()(answeredAt(NOW + known));
  const learn = clock.ask();
  vi.advanceTimersByTime(there);
  const answer = answeredAt(Date.now() + serverAhead);
  vi.advanceTimersByTime(back);
  learn(answer);
  return clock.now() - Date.now();
}

const MINUTE = 60_000;
test.each([
  ["a clock that is right stays so", 0, 0, {}, 0],
  ["however long an answer is under way", 0, 0, { back: 30_000 }, 0],
  ["and however long it is waited for", 0, 0, { there: 30_000 }, 0],
  ["a clock that is an hour slow is set", 0, 60 * MINUTE, {}, 60 * MINUTE],
  ["a clock that is an hour fast is set", 0, -60 * MINUTE, {}, -60 * MINUTE + 999],
  ["what is known stays known after a long wait", 10_000, 10_000, { there: 30_000 }, 10_000],
  ["an answer that was late corrects it as far as it proves", 0, MINUTE, { back: 20_000 }, 40_000],
])("the time at Drover: %s (ui.md#time)", (_, known, serverAhead, took, expected) => {
  expect(corrected(known, serverAhead, took)).toBe(expected);
});

test("a clock that is set back by an hour before the answer is right afterwards (ui.md#time)", () => {
  const clock = new ServerClock();
  const learn = clock.ask();
  vi.setSystemTime(NOW - 60 * MINUTE);
  learn(answeredAt(Date.now()));
  expect(clock.now()).toBe(NOW - 60 * MINUTE);
});

test("an answer without a time teaches nothing (ui.md#time)", () => {
  const clock = new ServerClock();
  clock.ask()(answeredAt(NOW + 60 * MINUTE));
  clock.ask()(new Response(null));
  expect(clock.now()).toBe(NOW + 60 * MINUTE);
});
