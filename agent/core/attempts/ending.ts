// How does the agent end: what does it stop first, and with which exit code does it exit?
import type { HostStop } from "../../../src/schema/host.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { LAST_WORDS_MS } from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import { withNews } from "../reports/pace.ts";
import type { Ending, HostState } from "../types.ts";
import { mapAttempts, ownStop, stopAttempt } from "./attempt.ts";
import { endHold, mayBeInside } from "./hold.ts";

/** Why and how the agent ends. `graceMs`: the longest kill timeout that an attempt gets. */
export interface EndPlan {
  code: number;
  reason: string;
  graceMs?: Millis;
  silent?: boolean;
  powerOff?: boolean;
  /** Why attempts are stopped; absent: because the agent ends. */
  by?: HostStop;
}

/** Begins to end the agent: stops every attempt, and starts no more. A second call changes nothing. */
export function endHost(state: HostState, plan: EndPlan, now: Instant): HostState {
  if (state.ending !== undefined) return state;
  const { code, reason, graceMs = Infinity, silent = false, powerOff = false, by: why = "agent" } = plan;
  let by = now;
  const attempts = mapAttempts(state, (attempt) => {
    const own = ownStop(attempt);
    const short = { ...own, timeoutMs: Math.min(own.timeoutMs, graceMs) };
    const stopped = stopAttempt(attempt, short, now, why);
    by = Math.max(by, stopped.stop?.killAt ?? now);
    return endHold(stopped);
  });
  const ending: Ending = { code, reason, silent, powerOff, by: by + LAST_WORDS_MS };
  return withNews({ ...state, attempts, ending }, now);
}

/**
 * The exit of this process. It is due when no process of an attempt is left and the control plane has
 * answered a report of that, or when the time for both is over. In the second case the control plane learns
 * of the end only when the lease ends.
 */
export function dueExit({ ending, setup, attempts, exchange }: HostState, now: Instant): HostMessage[] {
  if (ending === undefined) return [];
  const reportsNothing = ending.silent || setup === undefined;
  const isReported = reportsNothing || (exchange.newsBy === undefined && exchange.sent === undefined);
  const alive = Object.values(attempts).filter((one) => !one.treeGone || mayBeInside(one));
  if (!(isReported && alive.length === 0) && now < ending.by) return [];
  const { powerOff } = ending;
  const failure = alive.length === 0 ? "" : `; could not end ${alive.map(({ id }) => id).join(", ")}`;
  const code = alive.length === 0 ? ending.code : Math.max(1, ending.code);
  const reason = ending.reason + failure;
  return [{ to: "process", kind: "exit", code, reason, powerOff }];
}
