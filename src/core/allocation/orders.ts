import type { AttemptOrder } from "../../schema/host.ts";
import type { TaskSpec } from "../../schema/run.ts";
import { durationMs } from "../duration.ts";
import type { Instant } from "../machine.ts";
import type { Observed, ObservedAnswer, Order } from "../messages.ts";
import { resourcesOf, tasksOf } from "../spec.ts";
import { storedOffsets } from "./logs.ts";
import { type AllocationRecord, type AllocationState, openPlacement, type Wish } from "./state.ts";

/** The id of the n-th attempt of a task in an epoch (`decisions.md`, new attempt id). */
export function attemptId(run: string, task: string, epoch: number, n: number): string {
  return `${run}/${task}/${epoch}.${n}`;
}

/** When the run's time is over: counted from its first placement, preparation and restarts included. */
export function deadlineOf(record: AllocationRecord, placedAt: Instant | null): Instant | undefined {
  const from = record.firstPlacedAt ?? placedAt;
  if (from === null || record.spec.timeout === undefined) return undefined;
  return from + durationMs(record.spec.timeout);
}

/** What shall run of an epoch. Nothing, once the run has ended or the epoch has. */
export function wantedAttempts(state: AllocationState, epoch: number, now: Instant): AttemptOrder[] {
  const { record } = state;
  const placement = openPlacement(state);
  if (record === null || record.ended || placement === null || placement.epoch !== epoch) return [];
  const deadline = deadlineOf(record, placement.from);
  const timeoutMs = deadline === undefined ? {} : { timeoutMs: Math.max(0, deadline - now) };
  return tasksOf(record.spec).map((task) => {
    const id = attemptId(record.id, task.name, epoch, 1);
    return record.wish === null ? { id, want: "run", task, ...timeoutMs } : stopOrder(id, task, record.wish);
  });
}

function stopOrder(id: string, task: TaskSpec, wish: Wish): AttemptOrder {
  return { id, want: "stop", signal: task.killSignal, timeoutMs: task.killTimeoutMs, reason: wish.reason };
}

/** The order for the worker that the run is placed on. */
export function orderOf(state: AllocationState, now: Instant): Order | null {
  const { record } = state;
  const placement = openPlacement(state);
  if (record === null || placement === null) return null;
  const { epoch } = placement;
  const attempts = wantedAttempts(state, epoch, now);
  return { run: record.id, epoch, revision: record.revision, resources: resourcesOf(record.spec), attempts };
}

/** The answer to `observed`: the order as it is now, and what is stored of the logs. */
export function answerObserved(state: AllocationState, observed: Observed, now: Instant): ObservedAnswer {
  const { record } = state;
  if (record === null) return { kind: "no_such" };
  const here = openPlacement(state)?.worker === observed.worker;
  const attempts = here ? wantedAttempts(state, observed.epoch, now) : [];
  const logs = Object.fromEntries(attempts.map(({ id }) => [id, storedOffsets(record, id)]));
  return { kind: "order", revision: record.revision, attempts, logs };
}
