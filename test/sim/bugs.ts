import type { Order } from "../../src/core/messages.ts";
import type { PoolEvent } from "../../src/core/pool/machine.ts";
import { type PoolState, runKey } from "../../src/core/pool/state.ts";
import { goneNow } from "../../src/core/worker/ending.ts";
import { placementKey, type WorkerState } from "../../src/core/worker/state.ts";
import { type Machines, REAL_MACHINES } from "./objects.ts";

/**
 * Bugs that somebody could well have written, put in by hand around the real machines. A simulator that does
 * not find them proves nothing by finding none.
 */
export const BUGS: Record<string, Machines> = {
  /** The pool takes any wish for a place as the end of the epoch that is open (rules R2 and R3). */
  "no epoch check": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply: (state, event, now) => REAL_MACHINES.pool.apply(state, asIfEnded(state, event), now),
    },
  },
  /** The allocation changes what it orders, and keeps the number (rule R1). */
  "orders that keep their number": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply(before, event, now) {
        const state = REAL_MACHINES.allocation.apply(before, event, now);
        if (state.record === null || before.record?.endedEpoch !== state.record.endedEpoch) return state;
        return { ...state, record: { ...state.record, revision: before.record.revision } };
      },
    },
  },
  /** The worker forgets at once which placements have ended or were refused (rule R2). */
  "no remembered refusal": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply(before, event, now) {
        if (event.type === "order") forgetIfEnded(before, event.order);
        return REAL_MACHINES.worker.apply(before, event, now);
      },
    },
  },
  /** The worker believes the first listing that misses its machine (invariant 3, rule R5). */
  "trusting one listing": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply(before, event, now) {
        const state = REAL_MACHINES.worker.apply(before, event, now);
        if (event.type !== "sighting" || event.sighting.instance !== undefined || state.record === null)
          return state;
        return goneNow({ ...state, record: state.record }, "a listing omits it", now);
      },
    },
  },
};

function asIfEnded(state: PoolState, event: PoolEvent): PoolEvent {
  if (event.type !== "run" || event.upsert.wants !== "place") return event;
  const row = state.runs.get(runKey(event.upsert.submittedAt, event.upsert.run));
  return {
    ...event,
    upsert: { ...event.upsert, ended: row?.opened ?? 0, version: event.upsert.version + 1 },
  };
}

function forgetIfEnded(state: WorkerState, { run, epoch }: Order): void {
  const key = placementKey(run, epoch);
  if (state.placements.get(key)?.state === "ended") state.placements.delete(key);
}
