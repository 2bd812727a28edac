// Which entries of the audit log does a worker owe its pool (audit.md#outbox)?
import type { Instant } from "../../shared/machine.ts";
import type { OwedEntry } from "../audit/entry.ts";
import { withEntry } from "../audit/outbox.ts";
import type { WorkerEvent } from "./machine.ts";
import type { WorkerState } from "./state.ts";

const ACTIONS = { hold: "worker.hold", drain: "worker.drain", run: "worker.resume" } as const;

/**
 * Adds the entry of what an operator has done to a worker, in the same step. `after`: the state after the
 * event. An event that has changed nothing, such as a repeated hold, has no entry.
 */
export function noteAudit(
  before: WorkerState,
  after: WorkerState,
  event: WorkerEvent,
  now: Instant,
): WorkerState {
  if (before.record === null || after.record === null || before.record === after.record) return after;
  const entry = entryOf(event);
  if (entry === undefined) return after;
  const audit = withEntry(after.record.audit, { at: now, ...entry });
  return { ...after, record: { ...after.record, audit } };
}

function entryOf(event: WorkerEvent): Omit<OwedEntry, "n" | "at"> | undefined {
  switch (event.type) {
    case "behavior":
      return { by: event.by, action: ACTIONS[event.behavior] };
    case "kill": {
      const { by, reason, force } = event;
      return { by, action: "worker.kill", reason: force === true ? `force; ${reason}` : reason };
    }
    default:
      return undefined;
  }
}
