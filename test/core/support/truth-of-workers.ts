import { workerMachine } from "../../../src/core/worker/machine.ts";
import { whyOf } from "../../../src/core/worker/read/status.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { type ExistingWorker, livePlacements, type WorkerState } from "../../../src/core/worker/state.ts";
import { LOOK_AGAIN_MS } from "../../../src/objects/actor.ts";
import type { NextCode } from "../../../src/schema/why.ts";
import type { Instant } from "../../../src/shared/machine.ts";

/** How often a worker has done what it promised, by the code of the promise. */
const DONE: Partial<Record<NextCode, (state: ExistingWorker, now: Instant) => number>> = {
  give_up: ({ record: { phase } }) => Number(phase === "shutdown") + 2 * Number(phase === "gone"),
  propose_stop: (state, now) => Number(upsertOf(state, now).wantsStop),
  lose_runs: (state) => -livePlacements(state).length,
};

/**
 * What is wrong with the reason that a worker gives; undefined: nothing. A worker waits for somebody, or says
 * what it will do itself and when: then that must happen at that moment, and not before. `copy`: the table is
 * changed in place, so the passing of time is tried on a copy.
 */
export function lieOfWorker(
  state: ExistingWorker,
  copy: (state: ExistingWorker) => ExistingWorker,
  now: Instant,
): string | undefined {
  // What could not be stored for some time, since the disk was full, takes more than one step.
  const awake = ticked(later(copy(state), now, now), now);
  const { next, reason } = whyOf(awake, now);
  const said = `${reason.code}: ${reason.text}; ${next.action} (${next.code}) at ${next.at}`;
  if (next.at === null) {
    const waits = next.code === "nothing" ? awake.record.phase === "gone" : typeof next.waitsFor === "string";
    return waits ? undefined : `it waits for nobody: ${said}`;
  }
  const at = Date.parse(next.at);
  if (at <= now) return `that time has passed: ${said}`;
  if (next.code === "destroy") return undefined; // it takes a listing that is later than that
  const done = next.code === undefined ? undefined : DONE[next.code];
  if (done === undefined) return `nobody can tell whether that happens: ${said}`;
  const first = done(awake, now);
  const before = later(awake, now, at - 1);
  const early = done(before, at - 1);
  if (early > first) return `that happens before: ${said}`;
  // What is overdue is looked at again each second, and other deadlines are noticed that much later.
  const by = at + LOOK_AGAIN_MS;
  return done(later(before, at - 1, by), by) > early ? undefined : `that does not happen: ${said}`;
}

/** A worker after a time in which nobody has sent it anything: it wakes whenever it wants to. */
function later(state: ExistingWorker, now: Instant, until: Instant): ExistingWorker {
  let next = ticked(state, now);
  for (let at = now; at < until; ) {
    const wake = workerMachine.wakeAt(next) ?? until;
    at = Math.min(wake > at ? wake : at + LOOK_AGAIN_MS, until);
    next = ticked(next, at);
  }
  return next;
}

function ticked(state: WorkerState, now: Instant): ExistingWorker {
  const next = workerMachine.apply(state, { type: "tick" }, now);
  if (next.record === null) throw new Error("there is no worker");
  return { ...next, record: next.record };
}
