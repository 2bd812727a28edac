// Which entries of the audit log does a worker owe its pool (audit.md#outbox)?
import type { Instant } from "../../shared/machine.ts";
import type { OwedEntry } from "../audit/entry.ts";
import { withEntry } from "../audit/outbox.ts";
import { type Caused, viaField } from "../audit/via.ts";
import type { IdleBehavior } from "../messages.ts";
import type { Kill } from "./life/kill.ts";
import type { WorkerState } from "./state.ts";

/** The registry has sealed secrets for the host, which gets them now (secrets.md#handed). */
export interface SecretsHanded {
  type: "secrets_handed";
  /** The names of the secrets. */
  names: readonly string[];
  run: string;
  attempt: string;
}

/** What an operator can do to a worker that exists. */
export type OperatorEvent = Caused &
  ({ type: "behavior"; behavior: IdleBehavior; by: string } | ({ type: "kill" } & Kill));

type AuditedEvent = OperatorEvent | SecretsHanded;

const AUDITED: readonly string[] = ["behavior", "kill", "secrets_handed"] satisfies AuditedEvent["type"][];

function isAudited(event: { type: string }): event is AuditedEvent {
  return AUDITED.includes(event.type);
}

const ACTIONS = { hold: "worker.hold", drain: "worker.drain", run: "worker.resume" } as const;

/**
 * Adds the entry of what an operator has done to a worker, or of what its host was given, in the same step.
 * `after`: the state after the event. An operator's event that has changed nothing, such as a repeated hold,
 * has no entry.
 */
export function noteAudit(
  before: WorkerState,
  after: WorkerState,
  event: { type: string },
  now: Instant,
): WorkerState {
  if (!isAudited(event) || before.record === null || after.record === null) return after;
  if (before.record === after.record && event.type !== "secrets_handed") return after;
  const audit = withEntry(after.record.audit, { at: now, ...entryOf(event, after.record.intent.worker) });
  return { ...after, record: { ...after.record, audit } };
}

function entryOf(event: AuditedEvent, worker: string): Omit<OwedEntry, "n" | "at"> {
  switch (event.type) {
    case "behavior":
      return { by: event.by, action: ACTIONS[event.behavior], ...viaField(event) };
    case "kill": {
      const { by, reason, force } = event;
      const text = force === true ? `force; ${reason}` : reason;
      return { by, action: "worker.kill", reason: text, ...viaField(event) };
    }
    case "secrets_handed": {
      const { names, run, attempt } = event;
      const reason = `${names.join(", ")} to ${worker}, for ${attempt}`;
      return { by: `host:${worker}`, action: "secret.hand", about: run, reason };
    }
  }
}
