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
 * Adds the entry of what a user has asked of an endpoint, or that Drover has disabled it, in the same step.
 * What changes neither the record nor a delivery, such as a repeated `disable`, has no entry.
 * `before.version`: that of the deliveries, which are changed in place.
 */
export function noteAudit(
  before: Pick<WebhookState, "record"> & { version: number },
  after: WebhookState,
  event: { type: string },
  now: Instant,
): WebhookState {
  const { record, deliveries } = after;
  if (before.record === null || before.record.settings === null || record === null) return after;
  const isSame = record === before.record && deliveries.version === before.version;
  if (isSame) return after;
  const entry = isAsked(event)
    ? { by: event.by, ...entryOf(before.record.id, event), ...viaField(event) }
    : entryOfDrover(before.record, record);
  if (entry === undefined) return after;
  return { ...after, record: { ...record, audit: withEntry(record.audit, { at: now, ...entry }) } };
}

/** The entry of what Drover itself has done with an endpoint in this step: it has disabled it, or nothing. */
function entryOfDrover(
  before: WebhookRecord,
  { disabled }: WebhookRecord,
): Pick<OwedEntry, "by" | "action" | "reason"> | undefined {
  if (before.disabled !== null || disabled === null) return undefined;
  return { by: "drover", action: "webhook.disable", reason: disabled.text };
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

/** The entries for the registry. Nobody else repeats what was done to an endpoint. */
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
