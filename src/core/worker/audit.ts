// Which entries of the audit log does a worker owe its pool (audit.md#outbox)?
import type { Instant } from "../../shared/machine.ts";
import type { OwedEntry } from "../audit/entry.ts";
import { withEntry } from "../audit/outbox.ts";
import type { IdleBehavior } from "../messages.ts";
import type { Kill } from "./life/kill.ts";
import type { WorkerState } from "./state.ts";

/** What an operator can do to a worker that exists. */
export type OperatorEvent =
  | { type: "behavior"; behavior: IdleBehavior; by: string }
  | ({ type: "kill" } & Kill);

function isOperatorEvent(event: { type: string }): event is OperatorEvent {
  return event.type === "behavior" || event.type === "kill";
}

const ACTIONS = { hold: "worker.hold", drain: "worker.drain", run: "worker.resume" } as const;

/**
 * Adds the entry of what an operator has done to a worker, in the same step. `after`: the state after the
 * event. An event that has changed nothing, such as a repeated hold, has no entry.
 */
export function noteAudit(
  before: WorkerState,
  after: WorkerState,
  event: { type: string },
  now: Instant,
): WorkerState {
  if (!isOperatorEvent(event)) return after;
  if (before.record === null || after.record === null || before.record === after.record) return after;
  const audit = withEntry(after.record.audit, { at: now, ...entryOf(event) });
  return { ...after, record: { ...after.record, audit } };
}

function entryOf(event: OperatorEvent): Omit<OwedEntry, "n" | "at"> {
  switch (event.type) {
    case "behavior":
      return { by: event.by, action: ACTIONS[event.behavior] };
    case "kill": {
      const { by, reason, force } = event;
      return { by, action: "worker.kill", reason: force === true ? `force; ${reason}` : reason };
    }
  }
}
