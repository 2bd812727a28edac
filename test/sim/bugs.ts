import type { AllocationEvent } from "../../src/core/allocation/machine.ts";
import type { AllocationState } from "../../src/core/allocation/state.ts";
import type { Order, RunUpsert } from "../../src/core/messages.ts";
import type { PoolEvent, PoolMessage } from "../../src/core/pool/machine.ts";
import { runKey } from "../../src/core/pool/record.ts";
import type { PoolState, ReadonlyPool } from "../../src/core/pool/state.ts";
import type { WebhookEvent } from "../../src/core/webhook/machine.ts";
import { goneNow } from "../../src/core/worker/life/shutdown.ts";
import type { WorkerEvent } from "../../src/core/worker/machine.ts";
import type { WorkerState } from "../../src/core/worker/state.ts";
import { placementKey } from "../../src/shared/attempt-id.ts";
import { PROTOCOL } from "../../src/shared/compat.ts";
import { isTerminal } from "../../src/shared/run-state.ts";
import { type Machines, REAL_MACHINES } from "./objects.ts";

/** A report of a run whose hold is to end, as if its host had said that nobody is there any more. */
function asIfLetGo(state: AllocationState, event: AllocationEvent): AllocationEvent {
  if (event.type !== "observed" || state.record?.hold?.released === undefined) return event;
  const attempts = event.body.attempts.map((one) => ({ ...one, hold: "over" as const }));
  return { ...event, body: { ...event.body, attempts } };
}

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
  /** The pool does not see that a run replaces others, and places it beside them (pool.md#replacing). */
  "replacements that do not wait": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply: (state, event, now) => REAL_MACHINES.pool.apply(state, withoutKey(event), now),
    },
  },
  /** The pool does not see that runs share a concurrency key (pool.md#concurrency-keys). */
  "keys that nobody counts": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply: (state, event, now) => REAL_MACHINES.pool.apply(state, withoutConcurrency(event), now),
    },
  },
  /** A run that has ended keeps its slot of a concurrency key for ever (pool.md#concurrency-keys). */
  "a ghost that holds a slot": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply(before, event, now) {
        const state = REAL_MACHINES.pool.apply(before, event, now);
        if (event.type === "run" && isTerminal(event.body.state)) takeSlot(state, event.body, now);
        return state;
      },
    },
  },
  /** A run that is asked to end gives its slot away before it is proven to have ended (rule R2). */
  "a slot that is free once its run is to end": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply(before, event, now) {
        const state = REAL_MACHINES.pool.apply(before, event, now);
        freeSlots(state, now);
        return state;
      },
    },
  },
  /** The allocation takes the end of a run that it follows for a good one, whatever it was (api.md#after). */
  "every end is a good one": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply: (state, event, now) => REAL_MACHINES.allocation.apply(state, withGoodEnd(event), now),
    },
  },
  /** The pool takes an array that a run follows for over, whatever its runs do (pool.md#array-ends). */
  "arrays that are always over": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      due: (state, now) => [...REAL_MACHINES.pool.due(state, now), ...allOver(state)],
    },
  },
  /** The pool forgets that an array ends early, and places the rest of it (pool.md#fail-at). */
  "failures that nobody counts": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply: (state, event, now) => REAL_MACHINES.pool.apply(state, withoutFailAt(event), now),
    },
  },
  /** The allocation asks for the next try at once, and not after its wait (retry.md#next-try). */
  "tries that do not wait": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply: (state, event, now) => withoutWait(REAL_MACHINES.allocation.apply(state, event, now)),
    },
  },
  /** The allocation counts a lack of memory twice (retry.md#escalation). */
  "memory that grows twice": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply: (state, event, now) => withMoreMemory(REAL_MACHINES.allocation.apply(state, event, now)),
    },
  },
  /** The pool lets all projects on all machines, though nobody said that they share them. */
  "machines of everybody": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply: (state, event, now) => REAL_MACHINES.pool.apply(state, asIfShared(event), now),
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
  /** The allocation does not remember what it was asked for, and does it again when that comes twice. */
  "no remembered requests": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply(state, event, now) {
        const forgets = event.type === "signal" || event.type === "restart";
        return REAL_MACHINES.allocation.apply(state, forgets ? { ...event, key: undefined } : event, now);
      },
    },
  },
  /** The allocation gives the place of a kept run away once somebody releases it (tasks.md#kept-4). */
  "a release that nobody confirms": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply: (state, event, now) => REAL_MACHINES.allocation.apply(state, asIfLetGo(state, event), now),
    },
  },
  /** The allocation takes every agent for one that waits for restart delays by itself. */
  "a delay that nobody waits for": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply(state, event, now) {
        const asIfWaiting =
          event.type === "observed" && !event.body.kept
            ? { ...event, body: { ...event.body, protocol: PROTOCOL } }
            : event;
        return REAL_MACHINES.allocation.apply(state, asIfWaiting, now);
      },
    },
  },
  /** The worker forgets at once which placements have ended or were refused (rule R2). */
  "no remembered refusal": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply(before, event, now) {
        if (event.type === "order") forgetIfEnded(before, event.body);
        return REAL_MACHINES.worker.apply(before, event, now);
      },
    },
  },
  /** The worker lets its host drop what it keeps, whatever the run says (tasks.md#sticky-data). */
  "data that nobody is asked about": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply: (state, event, now) => REAL_MACHINES.worker.apply(state, asIfUnneeded(event), now),
    },
  },
  /** The worker believes the first listing that misses its machine (invariant 3, rule R5). */
  "trusting one listing": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply(before, event, now) {
        const state = REAL_MACHINES.worker.apply(before, event, now);
        if (event.type !== "sighting" || event.body.instance !== undefined || state.record === null)
          return state;
        return goneNow({ ...state, record: state.record }, "a listing omits it", now);
      },
    },
  },
  /** What a listing omits is gone, although its zone was not read (clouds.md#gaps). */
  "absence in a zone that nobody has read": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply: (state, event, now) => REAL_MACHINES.pool.apply(state, asIfRead(event), now),
    },
    worker: {
      ...REAL_MACHINES.worker,
      apply: (state, event, now) => REAL_MACHINES.worker.apply(state, asIfUnknown(event), now),
    },
  },
  /** The call that is repeated has other bytes than the first one (clouds.md#same-bytes). */
  "a token that changes its meaning": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      due: (state, now) =>
        REAL_MACHINES.worker.due(state, now).map((message) => {
          if (message.to !== "provider" || message.kind !== "create") return message;
          return { ...message, body: { ...message.body, notAfter: now } };
        }),
    },
  },
  /** A forced end does not wait for the lease of what may still run there (workers.md#kills). */
  "force that waits for no lease": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply(before, event, now) {
        const state = REAL_MACHINES.worker.apply(before, event, now);
        const isForced = event.type === "destroy_answered" && (state.record?.forced ?? null) !== null;
        if (!isForced || state.record === null) return state;
        return goneNow({ ...state, record: state.record }, "its end was forced", now);
      },
    },
  },
  /** A pool that is deleted by force tells each run once, whether the run has heard it or not (rule R1). */
  "an end by force that is said once": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply(before, event, now) {
        const state = REAL_MACHINES.pool.apply(before, event, now);
        if (event.type !== "configure" && state.record?.forced !== undefined) takeAsTold(state, now);
        return state;
      },
    },
  },
  /** A pool that is deleted by force does not say which machines it may leave behind. */
  "machines left behind in silence": {
    ...REAL_MACHINES,
    pool: {
      ...REAL_MACHINES.pool,
      apply(before, event, now) {
        const state = REAL_MACHINES.pool.apply(before, event, now);
        if (state.record?.forced === undefined) return state;
        return { ...state, record: { ...state.record, forced: { ...state.record.forced, left: [] } } };
      },
    },
  },
  /** The allocation takes the word of any host for that of the worker that was ordered to run it (X5). */
  "runs for whoever claims them": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply: (state, event, now) => REAL_MACHINES.allocation.apply(state, asIfHeld(event), now),
    },
  },
  /** The endpoint takes an attempt without an answer for one that was accepted (webhooks.md#attempts). */
  "events that nobody has accepted": {
    ...REAL_MACHINES,
    webhook: {
      ...REAL_MACHINES.webhook,
      apply: (state, event, now) => REAL_MACHINES.webhook.apply(state, asIfAccepted(event), now),
    },
  },
};

/** Bugs that only show where a whole fleet has troubles: stories of chaos must find them. */
export const FLEET_BUGS: Record<string, Machines> = {
  /**
   * The worker waits a hundred times as long until it proposes to stop (workers.md#idle-behaviors). While
   * runs wait no machine is idle: it shows in the last ones of a story alone.
   */
  "machines that idle": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply: (state, event, now) => REAL_MACHINES.worker.apply(state, asIfPatient(event), now),
    },
  },
  /** The worker does not listen to a host that says that its machine is broken (workers.md#broken-hosts). */
  "broken machines in use": {
    ...REAL_MACHINES,
    worker: {
      ...REAL_MACHINES.worker,
      apply: (state, event, now) => REAL_MACHINES.worker.apply(state, asIfWell(event), now),
    },
  },
  /** The allocation takes an attempt of which nobody knows the end for one that has ended well. */
  "lost attempts that count as done": {
    ...REAL_MACHINES,
    allocation: {
      ...REAL_MACHINES.allocation,
      apply: (state, event, now) => REAL_MACHINES.allocation.apply(state, asIfDone(event), now),
    },
  },
};

function asIfShared(event: PoolEvent): PoolEvent {
  if (event.type !== "configure") return event;
  return { ...event, body: { ...event.body, config: { ...event.body.config, shareMachines: true } } };
}

function asIfRead(event: PoolEvent): PoolEvent {
  if (event.type !== "listed" || event.answer.kind !== "listed") return event;
  const { partial: _, ...answer } = event.answer;
  return { ...event, answer };
}

function asIfUnknown(event: WorkerEvent): WorkerEvent {
  return event.type === "find_answered" ? { ...event, answer: { kind: "none" } } : event;
}

function asIfHeld(event: AllocationEvent): AllocationEvent {
  return event.type === "observed" ? { ...event, body: { ...event.body, held: true } } : event;
}

function asIfPatient(event: WorkerEvent): WorkerEvent {
  if (event.type !== "create") return event;
  const { settings } = event.body;
  return { ...event, body: { ...event.body, settings: { ...settings, idleMs: 100 * settings.idleMs } } };
}

function asIfWell(event: WorkerEvent): WorkerEvent {
  return event.type === "report" ? { ...event, report: { ...event.report, broken: null } } : event;
}

function asIfDone(event: AllocationEvent): AllocationEvent {
  if (event.type !== "observed") return event;
  const exit = { code: 0, signal: null, oomKilled: false, message: "" };
  const attempts = event.body.attempts.map((one) =>
    one.state === "gone" ? { ...one, state: "exited" as const, exit } : one,
  );
  return { ...event, body: { ...event.body, attempts } };
}

function asIfAccepted(event: WebhookEvent): WebhookEvent {
  if (event.type !== "attempted" || event.outcome.status !== null) return event;
  return { ...event, outcome: { ...event.outcome, status: 204 } };
}

function asIfEnded(state: PoolState, event: PoolEvent): PoolEvent {
  if (event.type !== "run" || event.body.wants !== "place") return event;
  const row = state.runs.get(runKey(event.body.submittedAt, event.body.run));
  return {
    ...event,
    body: { ...event.body, ended: row?.opened ?? 0, version: event.body.version + 1 },
  };
}

function takeAsTold({ runs }: PoolState, now: number): void {
  for (const row of [...runs.live()])
    if (row.endAcknowledged !== true)
      runs.set(runKey(row.submittedAt, row.run), { ...row, endAcknowledged: true }, now);
}

function asIfUnneeded(event: WorkerEvent): WorkerEvent {
  const asked = event.type === "observed_answered" && event.sent.kept === true;
  return asked ? { ...event, answer: { kind: "no_such" } } : event;
}

function forgetIfEnded(state: WorkerState, { run, epoch }: Order): void {
  const key = placementKey(run, epoch);
  if (state.placements.get(key)?.state === "ended") state.placements.delete(key);
}

function withoutKey(event: PoolEvent): PoolEvent {
  if (event.type !== "run") return event;
  const { replace: _, ...body } = event.body;
  return { ...event, body };
}

function withoutConcurrency(event: PoolEvent): PoolEvent {
  if (event.type !== "run") return event;
  const { concurrency: _, ...body } = event.body;
  return { ...event, body };
}

function takeSlot({ runs }: PoolState, { concurrency }: RunUpsert, now: number): void {
  if (concurrency === undefined) return;
  for (const row of [...runs.live()]) {
    if (row.concurrency?.key !== concurrency.key || row.wants !== "place" || row.opened > row.ended) continue;
    const full = { ...row, concurrency: { ...row.concurrency, limit: 0 } };
    runs.set(runKey(row.submittedAt, row.run), full, now);
  }
}

function freeSlots({ runs }: PoolState, now: number): void {
  for (const row of [...runs.live()])
    if (row.replacedBy?.confirmed === true && row.concurrency !== undefined && row.opened > row.ended)
      runs.set(runKey(row.submittedAt, row.run), { ...row, ended: row.opened }, now);
}

function allOver({ runs }: ReadonlyPool): PoolMessage[] {
  return [...runs.live()].flatMap(({ run, submittedAt, awaitsArrays = [] }) =>
    awaitsArrays.map(({ array, on }): PoolMessage => {
      const body = { run, submittedAt, array, on };
      return { object: "allocation", to: run, kind: "array_ended", repeatedBy: "self", body };
    }),
  );
}

function withoutFailAt(event: PoolEvent): PoolEvent {
  if (event.type !== "run" || event.body.array === undefined) return event;
  const { failAt: _, ...array } = event.body.array;
  return { ...event, body: { ...event.body, array } };
}

function withoutWait(state: AllocationState): AllocationState {
  const { record } = state;
  if (record?.retries === undefined || record.placeAt === undefined) return state;
  const { placeAt: _, ...rest } = record;
  return { ...state, record: rest };
}

function withMoreMemory(state: AllocationState): AllocationState {
  const { record } = state;
  const last = record?.retries?.at(-1);
  if (record === null || last === undefined || last.tasks === undefined || record.retries?.length !== 1)
    return state;
  const { tasks: _, ...other } = last;
  return { ...state, record: { ...record, retries: [last, { ...last, ...other }] } };
}

function withGoodEnd(event: AllocationEvent): AllocationEvent {
  const end = { well: true } as const;
  if (event.type === "run_ended") return { ...event, body: { ...event.body, end } };
  if (event.type !== "await_end_answered" || event.answer.kind !== "run_end") return event;
  return { ...event, answer: { kind: "run_end", end } };
}
