// Which entries of the audit log does an endpoint owe the registry (audit.md#outbox)?
import type { Envelope, Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { OwedEntry } from "../audit/entry.ts";
import { confirmed, withEntry } from "../audit/outbox.ts";
import { type Caused, viaField } from "../audit/via.ts";
import type { RangeReplay, WebhookRecord, WebhookState } from "./record.ts";

/** What a user can ask of an endpoint itself. */
export type AskedEvent = Caused &
  /** Deliveries are sent again, with their ids and bytes. */
  (
    | { type: "replay"; numbers: number[]; by: string }
    | { type: "replay_range"; range: Pick<RangeReplay, "since" | "until" | "all">; by: string }
    | { type: "disable"; by: string }
    /** The endpoint goes on where it stopped (`last`), or with what ends from an instant on. */
    | { type: "enable"; from: "last" | Instant; by: string }
  );

/** The entries that the registry does not have yet. */
export type AuditLetter = Envelope & { kind: "audit"; webhook: string; entries: OwedEntry[] };

/** The registry has these entries. */
export interface AuditTaken {
  type: "audit_taken";
  sent: OwedEntry[];
}

const ASKED: readonly string[] = [
  "replay",
  "replay_range",
  "disable",
  "enable",
] satisfies AskedEvent["type"][];

function isAsked(event: { type: string }): event is AskedEvent {
  return ASKED.includes(event.type);
}

/**
 * Adds the entry of what a user has asked of an endpoint, in the same step. What changes neither the record
 * nor a delivery, such as a repeated `disable`, has no entry. `before.version`: that of the deliveries, which
 * are changed in place.
 */
export function noteAudit(
  before: Pick<WebhookState, "record"> & { version: number },
  after: WebhookState,
  event: { type: string },
  now: Instant,
): WebhookState {
  if (!isAsked(event) || before.record === null || before.record.settings === null) return after;
  const { record, deliveries } = after;
  const isSame = record === before.record && deliveries.version === before.version;
  if (record === null || isSame) return after;
  const entry = entryOf(before.record.id, event);
  const audit = withEntry(record.audit, { at: now, by: event.by, ...entry, ...viaField(event) });
  return { ...after, record: { ...record, audit } };
}

function entryOf(id: string, event: AskedEvent): Pick<OwedEntry, "action" | "reason"> {
  switch (event.type) {
    case "disable":
      return { action: "webhook.disable" };
    case "enable": {
      const { from } = event;
      if (from === "last") return { action: "webhook.enable" };
      return { action: "webhook.enable", reason: `with what ends from ${iso(from)} on` };
    }
    case "replay": {
      const ids = event.numbers.map((number) => `msg_${id}_${number}`).join(", ");
      return { action: "webhook.replay", reason: ids };
    }
    case "replay_range": {
      const { since, until, all } = event.range;
      const which = all ? "all" : "what was not delivered";
      return { action: "webhook.replay", reason: `${which}, from ${iso(since)} until ${iso(until)}` };
    }
  }
}

/** The entries for the registry. Nobody else repeats what was asked of an endpoint. */
export function auditOwed({ id, audit }: WebhookRecord): AuditLetter[] {
  if (audit === undefined || audit.owed.length === 0) return [];
  return [{ to: "registry", kind: "audit", repeatedBy: "self", webhook: id, entries: audit.owed }];
}

/** The state once the registry has these entries. */
export function foldTaken(state: WebhookState, { sent }: AuditTaken): WebhookState {
  const { record } = state;
  const audit = confirmed(record?.audit, sent);
  if (record === null || audit === undefined || audit === record.audit) return state;
  return { ...state, record: { ...record, audit } };
}
