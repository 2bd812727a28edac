// By when must a change be reported (budgets.md#budgets)?
import { START_REPORT_DELAY_MS } from "../../../src/shared/limits.ts";
import { earliest, type Instant } from "../../../src/shared/machine.ts";
import { isWaiting } from "../attempts/attempt.ts";
import { isCollecting, isOver } from "../attempts/outputs.ts";
import { MAX_REPORT_LOG_BYTES, OUTPUT_REPORT_DELAY_MS } from "../bounds.ts";
import type { AttemptState, HostState } from "../types.ts";
import { allUnackedBytes, sendableBytes } from "./logs.ts";
import { withNews } from "./pace.ts";

/**
 * By when what has changed must be reported. An end, a stop, an unkillable tree and the outcome of the boot
 * probe at once; a start and output may wait a little, because each report has a price (budgets.md#budgets)
 * and a command that ends quickly says all of it in one. What only waits for its time is no news.
 */
export function withNewsOf(before: HostState, after: HostState, now: Instant): HostState {
  let by = after.boot.outcome === before.boot.outcome ? undefined : now;
  if (after.attempts !== before.attempts) {
    for (const [id, attempt] of Object.entries(after.attempts)) {
      const known = before.attempts[id];
      if (attempt !== known) by = earliest(by, newsBy(before, after, known, attempt, now));
    }
  }
  const kept = after.sticky.kept !== before.sticky.kept && keepsMore(before, after);
  if (kept) by = earliest(by, now + START_REPORT_DELAY_MS);
  return by === undefined ? after : withNews(after, by);
}

/** That is news, because only the control plane knows for how long (`Orders.drop`). */
function keepsMore({ sticky: before }: HostState, { sticky: after }: HostState): boolean {
  return Object.keys(after.kept).some((placement) => before.kept[placement] === undefined);
}

function newsBy(
  stateBefore: HostState,
  state: HostState,
  before: AttemptState | undefined,
  after: AttemptState,
  now: Instant,
): Instant | undefined {
  const began = after.main === "running" && after.stop !== undefined && before?.stop === undefined;
  const unkillable = after.kill.error !== null && before?.kill.error === null;
  const over = before !== undefined && isOver(before);
  const saved = after.saved !== before?.saved;
  if (isOver(after) !== over || began || unkillable || saved) return now;
  const sendableBefore = before === undefined ? 0 : sendableBytes(stateBefore, before);
  if (sendableBytes(state, after) > sendableBefore) return outputBy(state, now);
  // What is collected within a moment is told with its end.
  if (isCollecting(after) && !(before !== undefined && isCollecting(before)))
    return now + START_REPORT_DELAY_MS;
  if (after.main === "over" || isWaiting(after)) return undefined;
  const begins = after.main !== before?.main || isWaiting(before);
  return begins ? now + START_REPORT_DELAY_MS : undefined;
}

/**
 * A full report goes at once; while the control plane does not store what it is sent, there is no use in
 * more.
 */
function outputBy(state: HostState, now: Instant): Instant {
  const full = allUnackedBytes(state) >= MAX_REPORT_LOG_BYTES;
  return Math.max(full ? now : now + OUTPUT_REPORT_DELAY_MS, state.exchange.logRetryAt ?? now);
}
