import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import { wantedAttempts } from "../../../src/core/allocation/placements/orders.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import { type AllocationState, type Existing, openPlacement } from "../../../src/core/allocation/state.ts";
import { upsertOf } from "../../../src/core/allocation/summary.ts";
import type { WantedAttempt } from "../../../src/core/messages.ts";
import { LOOK_AGAIN_MS } from "../../../src/objects/actor.ts";
import type { NextCode, Why } from "../../../src/schema/why.ts";
import { parseAttemptId } from "../../../src/shared/attempt-id.ts";
import type { Instant } from "../../../src/shared/machine.ts";

/** A run after a time in which nobody has sent it anything: it wakes whenever it wants to. */
export function runLater(state: AllocationState, now: Instant, until: Instant): AllocationState {
  let next = state;
  for (let at = now; at < until; ) {
    const wake = allocationMachine.wakeAt(next) ?? until;
    at = Math.min(wake > at ? wake : at + LOOK_AGAIN_MS, until);
    next = allocationMachine.apply(next, { type: "tick" }, at);
  }
  return next;
}

/** How often a run has done what it promised, by the code of the promise. */
const DONE: Partial<Record<NextCode, (state: Existing, now: Instant) => number>> = {
  end: ({ record }) => Number(record.ended || record.outcome === null),
  // Its host is ordered to, or enforces the limit by itself, and reports so. It may be only a try that ends.
  stop_run: (state, now) => {
    const { stopRequest, retries = [] } = state.record;
    const isStopped = stopRequest?.state === "timedout" || ordersOf(state, now).some(isOver);
    return Number(isStopped) + retries.filter(({ cause }) => cause === "timeout").length;
  },
  give_up: ({ record }) => Number(record.stopRequest?.failure === "queue_timeout"),
  release: ({ record }) => Number(record.hold?.released !== undefined),
  reschedule: (state) => Number(upsertOf(state).wants === "place"),
  stop_task: (state, now) => ordersOf(state, now).filter(({ want }) => want === "stop").length,
  // Each start has a higher number than the previous one.
  start_task: (state, now) => {
    const startable = ordersOf(state, now).filter((one) => one.want === "run" && (one.startAt ?? 0) <= now);
    return startable.reduce((sum, { id }) => sum + (parseAttemptId(id)?.n ?? 0), 0);
  },
};

/** Whether an order is one from after the time limit. */
function isOver(order: WantedAttempt): boolean {
  return order.want === "stop" ? order.timedOut === true : !order.task && order.timeoutMs === undefined;
}

/** The orders of the tasks that are not over. */
function ordersOf(state: Existing, now: Instant) {
  const over = state.record.tasks.filter(({ dead }) => dead !== undefined).map(({ name }) => name);
  const orders = wantedAttempts(state, openPlacement(state)?.epoch ?? 0, now);
  return orders.filter(({ id }) => !over.includes(parseAttemptId(id)?.task ?? ""));
}

/**
 * What is wrong with the reason that a run gives; undefined: nothing. A run waits for somebody, or says what
 * it will do itself and when: then that must happen at that moment, and not before.
 */
export function lieOfRun(state: Existing, other: Why | null, now: Instant): string | undefined {
  const awake = existing(allocationMachine.apply(state, { type: "tick" }, now));
  const why = whyOf(awake, other, openPlacement(awake)?.worker ?? null, now);
  const { next, reason } = why;
  const said = `${reason.code}: ${reason.text}; ${next.action} (${next.code}) at ${next.at}`;
  if (next.at === null) {
    const waits = next.code === "nothing" ? awake.record.ended : typeof next.waitsFor === "string";
    return waits ? undefined : `it waits for nobody: ${said}`;
  }
  const at = Date.parse(next.at);
  if (at <= now) return `that time has passed: ${said}`;
  // What its pool or its worker will do is for them to prove.
  if (next.at === other?.next.at) return undefined;
  const done = next.code === undefined ? undefined : DONE[next.code];
  if (done === undefined) return `nobody can tell whether that happens: ${said}`;
  const before = existing(runLater(awake, now, at - 1));
  if (done(before, at - 1) > done(awake, now)) return `that happens before: ${said}`;
  // The promised instant is a whole millisecond; clocks of a simulation are finer. By the next one the time
  // limit may have ended again what began at this one.
  const happens = [at, at + 1].some((by) => {
    return done(existing(runLater(before, at - 1, by)), by) > done(before, at - 1);
  });
  return happens ? undefined : `that does not happen: ${said}`;
}

function existing(state: AllocationState): Existing {
  if (state.record === null) throw new Error("there is no run");
  return { ...state, record: state.record };
}
