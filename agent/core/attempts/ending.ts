// How does the agent end: what is stopped first, and with which exit code?
import type { HostStop } from "../../../src/schema/host.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { LAST_WORDS_MS } from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import { withNews } from "../reports/pace.ts";
import type { Ending, HostState } from "../types.ts";
import { ownStop, stopAttempt } from "./attempt.ts";

/** Why and how the agent ends. `graceMs`: the longest kill timeout that is still granted. */
export interface EndPlan {
  code: number;
  reason: string;
  graceMs?: Millis;
  silent?: boolean;
  powerOff?: boolean;
  /** Whose end it is: unless it is said, the agent's own. */
  by?: HostStop;
}

/** Begins to end: every attempt is stopped, none is started. The first reason stays. */
export function endHost(state: HostState, plan: EndPlan, now: Instant): HostState {
  if (state.ending !== undefined) return state;
  const { code, reason, graceMs = Infinity, silent = false, powerOff = false, by: why = "agent" } = plan;
  let by = now;
  const attempts = Object.fromEntries(
    Object.entries(state.attempts).map(([id, attempt]) => {
      const own = ownStop(attempt);
      const short = { ...own, timeoutMs: Math.min(own.timeoutMs, graceMs) };
      const stopped = stopAttempt(attempt, short, now, why);
      by = Math.max(by, stopped.stop?.killAt ?? now);
      return [id, stopped];
    }),
  );
  const ending: Ending = { code, reason, silent, powerOff, by: by + LAST_WORDS_MS };
  return withNews({ ...state, attempts, ending }, now);
}

/**
 * The end of this process: owed when no tree is left and the control plane has been told so, or when the
 * time for that is over. A lease that runs out then tells it anyway.
 */
export function dueExit({ ending, setup, attempts, exchange }: HostState, now: Instant): HostMessage[] {
  if (ending === undefined) return [];
  const nobodyToTell = ending.silent || setup === undefined;
  const told = nobodyToTell || (exchange.newsBy === undefined && exchange.sent === undefined);
  const left = Object.values(attempts).filter(({ treeGone }) => !treeGone);
  if (!(told && left.length === 0) && now < ending.by) return [];
  const leaving = left.length === 0 ? "" : `; could not end ${left.map(({ id }) => id).join(", ")}`;
  const code = left.length === 0 ? ending.code : Math.max(1, ending.code);
  const { powerOff } = ending;
  return [
    { to: "process", kind: "exit", repeatedBy: "self", code, reason: ending.reason + leaving, powerOff },
  ];
}
