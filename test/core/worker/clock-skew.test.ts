import { describe, expect, test } from "vitest";
import { SKEW_NEWS_MS } from "../../../src/core/worker/host/clock-skew.ts";
import { UNITS_OF_AN_EVENT } from "../../../src/core/worker/host/pace.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import { at, MINUTE, ready, reloaded, report, T0 } from "../support/worker.ts";

const NOW = T0 + MINUTE;
/** A ready worker after a report of its host, whose date is this far ahead. */
const afterDate = (skewMs: number, state: ExistingWorker = ready(), now = NOW, seq = 2) =>
  at(state, now, report(seq, { date: now + skewMs }));
const told = (state: ExistingWorker) => upsertOf(state, NOW).clockSkewMs;

describe("the pool hears how far the clock of a host is off (pool.md#clock-skew)", () => {
  test.each([
    ["as much as it takes", SKEW_NEWS_MS, SKEW_NEWS_MS],
    ["far behind", -3_600_000, -3_600_000],
    ["hardly", SKEW_NEWS_MS - 1, 0],
    ["hardly behind", 1 - SKEW_NEWS_MS, 0],
  ])("%s", (_what, skewMs, expected) => {
    expect(told(afterDate(skewMs))).toBe(expected);
    expect(told(reloaded(afterDate(skewMs)))).toBe(expected);
  });

  test("at once, and again only when it has changed by much", () => {
    const before = ready();
    const off = afterDate(60_000, before);
    expect(off.record.version).toBe(before.record.version + 1);
    const still = afterDate(60_000 + SKEW_NEWS_MS - 1, off, NOW + MINUTE, 3);
    expect(still.record.version).toBe(off.record.version);
    const mended = afterDate(0, still, NOW + 2 * MINUTE, 4);
    expect(mended.record.version).toBe(off.record.version + 1);
    expect(told(mended)).toBe(0);
  });

  test("a report without a date says nothing of it", () => {
    expect(told(at(afterDate(60_000), NOW + MINUTE, report(3, { full: false })))).toBe(60_000);
  });

  test("the time for which a report lay somewhere is no difference of clocks", () => {
    const quick = at(ready(), NOW, report(2, { clock: 100_000, date: NOW }));
    const sentAt = NOW + MINUTE;
    const late = at(quick, sentAt + 30_000, report(3, { clock: 100_000 + MINUTE, date: sentAt }));
    expect(told(late)).toBe(0);
  });

  test("a host that changes its date with each report pays for it (reports.md#how-fast)", () => {
    const spent = (state: ExistingWorker) => state.memo.spent;
    const off = afterDate(60_000);
    expect(spent(off) - spent(ready())).toBe(UNITS_OF_AN_EVENT);
    expect(spent(afterDate(60_000, off, NOW + MINUTE, 3))).toBe(spent(off));
  });

  test("nothing but what is shown depends on it (host-protocol.md#times)", () => {
    const { record, memo } = afterDate(60_000);
    const exact = afterDate(0);
    expect({ ...record, clockSkewMs: 0, version: 0 }).toMatchObject({
      ...exact.record,
      lastSeq: record.lastSeq,
      lastReportAt: record.lastReportAt,
      hostClock: record.hostClock,
      version: 0,
    });
    expect({ ...memo, spent: 0 }).toEqual({ ...exact.memo, spent: 0 });
  });
});
