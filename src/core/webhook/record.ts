// What does an endpoint of webhooks store (webhooks.md#state)?
import type { EventType } from "../../schema/webhook/webhook.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { DeliveryState } from "../../shared/webhooks/words.ts";
import type { Outbox } from "../audit/outbox.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import type { Reach, WebhookSettings } from "./messages.ts";

/** How far an endpoint is with one pool. */
export interface Cursor extends Reach {
  /** `WebhookSettings.pools` of this pool: another instant begins another cursor. */
  listedAt: Instant;
  /** Ends that the pool learned of before are not delivered. */
  since: Instant;
  /** Whether the pool has found where `since` is. Before, `ends` means nothing. */
  placed: boolean;
  /** The latest news of the pool: what is behind `ends` and `changes`, up to here, is owed. */
  told: Reach;
  /** The endpoint follows the pool no longer: once everything is read, the cursor is dropped. */
  leaving: boolean;
}

/** Why an endpoint is disabled. */
export interface Disabled {
  code: "gone" | "failing" | "asked";
  text: string;
  at: Instant;
  by: string | null;
}

/** A replay of a range of stored deliveries, which goes on in steps. */
export interface RangeReplay {
  since: Instant;
  until: Instant;
  all: boolean;
  /** The number of the last delivery that it has looked at. */
  at: number;
  /** Deliveries made later than the request are left out. */
  upTo: number;
}

/** What an endpoint stores as one value. */
export interface WebhookRecord {
  id: string;
  revision: number;
  /** Null: the endpoint is deleted. What is left tells a late message that it is late. */
  settings: WebhookSettings | null;
  cursors: Record<string, Cursor>;
  /** The number of the next delivery. */
  nextNumber: number;
  disabled: Disabled | null;
  /** Since when every attempt has failed. */
  failing: { since: Instant; failures: number; text: string } | null;
  /** How many attempts have failed in all; tests do not count. */
  failures: number;
  /** No delivery begins before. */
  pausedUntil: Instant;
  /** Nothing can be signed, for a reason that is not the receiver's. Null: the latest delivery was signed. */
  unsigned: Unsigned | null;
  replay: RangeReplay | null;
  /** Entries of the audit log for the registry. Absent: nobody has asked anything of it. */
  audit?: Outbox;
  /** Ends that are never delivered, since their runs were deleted before they were read (webhooks.md#gap). */
  gap: Gap | null;
}

/** Since when nothing can be signed and why, and when the secret is tried again (webhooks.md#unsigned). */
export interface Unsigned {
  since: Instant;
  text: string;
  tries: number;
  nextAt: Instant;
}

/** How many ends were missed, and when the latest of them was noticed. */
export interface Gap {
  runs: number;
  at: Instant;
}

/** The latest attempt of a delivery. */
export interface Attempt {
  at: Instant;
  status: number | null;
  durationMs: Millis;
  problem: string | null;
  answer: string | null;
}

/** A delivery: the exact bytes, and what became of them. */
export interface DeliveryRow {
  number: number;
  /** The `webhook-id`. */
  id: string;
  type: EventType;
  pool: string | null;
  run: string | null;
  /** Tells the run from another one under the same id: deliveries of one run keep their order. */
  submittedAt: string | null;
  body: string;
  state: DeliveryState;
  tries: number;
  createdAt: Instant;
  /** When its first attempt since its creation, or its replay, ended. Null: there was none. */
  firstTriedAt: Instant | null;
  /** When it is tried next, if it waits. */
  nextAt: Instant;
  last: Attempt | null;
  /** When it was over or, before that, when it was made. */
  at: Instant;
}

/** An endpoint as `apply` consumes it. */
export interface WebhookState {
  record: WebhookRecord | null;
  deliveries: Rows<DeliveryRow>;
  memo: {
    /** The URL of this Drover, for links. Empty: unknown. */
    url: string;
    /** When deliveries that are too old were last forgotten. */
    forgotAt: Instant;
    /** The latest time that this process has seen. The clock may have been set back since then. */
    clockAt: Instant;
    /** By pool: how far its changes go, by news that came while the endpoint was asking the pool. */
    news: Record<string, Reach>;
  };
}

/** An endpoint as readers see it. */
export interface ReadonlyWebhook {
  readonly record: WebhookRecord | null;
  readonly deliveries: ReadonlyRows<DeliveryRow>;
}

/** An endpoint that has settings. */
export type ReadonlyEndpoint = ReadonlyWebhook & { record: WebhookRecord & { settings: WebhookSettings } };
export type Endpoint = WebhookState & ReadonlyEndpoint;

/** The endpoint, unless it is deleted or was never configured. */
export function endpointOf<State extends ReadonlyWebhook>(
  state: State,
): (State & ReadonlyEndpoint) | undefined {
  const { record } = state;
  if (record === null || record.settings === null) return undefined;
  return state as State & ReadonlyEndpoint; // it has a record with settings
}

/** The key of a delivery's row: keys sort by number. */
export function deliveryKey(number: number): string {
  return String(number).padStart(12, "0");
}

/** Whether a delivery is not over. */
export function isLiveDelivery({ state }: DeliveryRow): boolean {
  return state === "waiting";
}
