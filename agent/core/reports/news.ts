// By when must a change be reported (budgets.md#budgets)?
import { START_REPORT_DELAY_MS } from "../../../src/shared/limits.ts";
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import { isWaiting } from "../attempts/attempt.ts";
import { isCollecting, isOver } from "../attempts/outputs.ts";
import { MAX_REPORT_LOG_BYTES, OUTPUT_REPORT_DELAY_MS } from "../bounds.ts";
import { hasCheckNews } from "../checks/checks.ts";
import type { AttemptState, HostState } from "../types.ts";
import { allUnackedBytes, sendableBytes } from "./logs.ts";
import { withNews } from "./pace.ts";

/**
 * Notes by when the change from `before` to `after` must be reported. An end, a stop, processes that cannot
 * be killed, the outcome of storing data and the outcome of the boot probe are reported at once. A start and
 * output may wait a little: each report costs something (budgets.md#budgets), and a short command then needs
 * only one report. So may a check whose status changes. An attempt that waits for its time to start needs no
 * separate report.
 */
export function withNewsOf(before: HostState, after: HostState, now: Instant): HostState {
  let by = after.boot.outcome === before.boot.outcome ? undefined : now;
  if (after.means !== before.means) by = now;
  let { begun } = after.socket;
  for (const [id, attempt] of Object.entries(after.attempts)) {
    const known = before.attempts[id];
    if (attempt === known) continue;
    // A check that goes to and fro costs a report a second at most.
    const healthBy = hasCheckNews(known, attempt) ? now + START_REPORT_DELAY_MS : undefined;
    const own = earliest(healthBy, newsBy(before, after, known, attempt, now));
    const { [id]: begunBy = now + START_REPORT_DELAY_MS, ...others } = begun;
    if (own !== undefined) begun = others;
    else if (begins(known, attempt)) begun = { ...others, [id]: begunBy };
    by = earliest(by, own, begun[id]);
  }
  if (keepsMore(before, after)) by = earliest(by, now + START_REPORT_DELAY_MS);
  const noted = begun === after.socket.begun ? after : { ...after, socket: { ...after.socket, begun } };
  return by === undefined ? noted : withNews(noted, by);
}

/** How long news of a preparation may wait: each writes a row of the run. */
const DOING_REPORT_DELAY_MS: Millis = 5_000;

/** Newly kept data are reported, because the control plane decides when to drop them (`Orders.drop`). */
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
  const stops = after.main === "running" && after.stop !== undefined && before?.stop === undefined;
  const unkillable = after.kill.error !== null && before?.kill.error === null;
  const wasOver = before !== undefined && isOver(before);
  const saved = after.saved !== before?.saved;
  const released = after.hold?.phase === "over" && before?.hold?.phase !== "over";
  if (isOver(after) !== wasOver || stops || unkillable || saved || released) return now;
  const sendableBefore = before === undefined ? 0 : sendableBytes(stateBefore, before);
  if (sendableBytes(state, after) > sendableBefore) return outputBy(state, now);
  // Outputs that are stored within this delay need no separate report: the report of the end contains them.
  if (isCollecting(after) && !(before !== undefined && isCollecting(before)))
    return now + START_REPORT_DELAY_MS;
  if (after.main === "over" || isWaiting(after)) return undefined;
  return after.doing === before?.doing ? undefined : now + DOING_REPORT_DELAY_MS;
}

/** Whether an attempt has begun, or goes on after it has waited, and nothing else need be said of it. */
function begins(before: AttemptState | undefined, after: AttemptState): boolean {
  if (after.main === "over" || isWaiting(after)) return false;
  return before === undefined || after.main !== before.main || isWaiting(before);
}

/**
 * By when new output must be reported: at once if there is enough for a whole report. While the control plane
 * does not acknowledge log bytes, further bytes wait for the retry.
 */
function outputBy(state: HostState, now: Instant): Instant {
  const full = allUnackedBytes(state) >= MAX_REPORT_LOG_BYTES;
  return Math.max(full ? now : now + OUTPUT_REPORT_DELAY_MS, state.exchange.logRetryAt ?? now);
}
