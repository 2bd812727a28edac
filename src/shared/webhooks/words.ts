// Which types of events do webhooks send, and which states does a delivery have (webhooks.md#types)?

/** The types for the end of a run, one for each final state. */
export const END_TYPES = [
  "run.completed",
  "run.failed",
  "run.aborted",
  "run.timedout",
  "run.unknown",
] as const;

/** The types that an endpoint can choose. */
export const WEBHOOK_TYPES = [...END_TYPES, "run.updated"] as const;

/** The states of an endpoint that answers (webhooks.md#states). */
export const WEBHOOK_STATES = ["active", "failing", "unsigned", "disabled"] as const;

/** The states of a delivery (webhooks.md#deliveries). */
export const DELIVERY_STATES = ["waiting", "delivered", "failed", "superseded", "skipped"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
