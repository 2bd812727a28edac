// Which entries of the audit log does a run owe its pool (audit.md#outbox)?
import type { AuditDiff } from "../../schema/access/audit.ts";
import type { RunSpec } from "../../schema/run/run.ts";
import type { Instant } from "../../shared/machine.ts";
import { diffOf } from "../audit/diff.ts";
import type { OwedEntry } from "../audit/entry.ts";
import { withEntry } from "../audit/outbox.ts";
import { type Caused, viaField } from "../audit/via.ts";
import type { Release } from "./placements/hold.ts";
import type { Redrive } from "./retry/parked.ts";
import { type AllocationState, exists, type RequestKey } from "./state.ts";
import type { Abort } from "./stop.ts";
import type { TaskRequest } from "./user/requests.ts";
import type { TaskTunnel } from "./user/tunnels.ts";

/** What a user can do to a run that exists. */
export type UserEvent = Caused &
  (
    | ({ type: "abort" } & Abort)
    | ({ type: "release" } & Release)
    | ({ type: "redrive" } & Redrive)
    | TaskRequest
    | { type: "tunnel"; request: TaskTunnel; key?: RequestKey | undefined }
    | { type: "update"; spec: RunSpec; specIndex: number; by: string }
  );

const USER_EVENTS: readonly string[] = [
  "abort",
  "release",
  "redrive",
  "restart",
  "signal",
  "tunnel",
  "update",
] satisfies UserEvent["type"][];

function isUserEvent(event: { type: string }): event is UserEvent {
  return USER_EVENTS.includes(event.type);
}

/**
 * Adds the entry of what a user has done to a run, in the same step. `after`: the state after the event. An
 * event that has changed nothing, such as a repeated abort, has no entry.
 */
export function noteAudit(
  before: AllocationState,
  after: AllocationState,
  event: { type: string },
  now: Instant,
): AllocationState {
  if (!isUserEvent(event) || !exists(before) || !exists(after) || before.record === after.record)
    return after;
  const entry = { at: now, ...entryOf(event, before.record.spec), ...viaField(event) };
  const audit = withEntry(after.record.audit, entry);
  return { ...after, record: { ...after.record, audit } };
}

function entryOf(event: UserEvent, spec: RunSpec): Omit<OwedEntry, "n" | "at"> {
  switch (event.type) {
    case "abort": {
      const { by, reason, force } = event;
      return { by, action: "run.abort", reason: force === true ? `force; ${reason}` : reason };
    }
    case "release":
      return { by: event.by, action: "run.release", reason: event.reason };
    case "redrive":
      return { by: event.by, action: "run.redrive", reason: `as ${event.run}` };
    case "restart": {
      const { by, task, all } = event.request;
      return { by, action: "run.restart", reason: all === true ? "all tasks" : ofTask(task) };
    }
    case "signal": {
      const { by, task, signal } = event.request;
      return { by, action: "run.signal", reason: `${signal} to ${ofTask(task)}` };
    }
    case "tunnel": {
      const { by, task, kind } = event.request;
      return { by, action: "run.tunnel", reason: task === undefined ? kind : `${kind} to ${ofTask(task)}` };
    }
    case "update":
      return { by: event.by, action: "run.update", diff: diffOfSpecs(spec, event.spec) };
  }
}

function ofTask(task: string | undefined): string {
  return task === undefined ? "all running tasks" : `task ${task}`;
}

/** The difference of two specs, without the values of environments, standard input and payload. */
function diffOfSpecs(before: RunSpec, after: RunSpec): AuditDiff[] {
  return diffOf(before, after, (pointer) => /^\/(env|stdin|payload|tasks)(\/|$)/.test(pointer));
}
