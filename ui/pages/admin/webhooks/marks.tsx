// How are the states of webhooks and of deliveries shown (ui.md#d16)?
import type { Webhook, WebhookDelivery } from "../../../../src/generated/api.ts";
import type { IconName } from "../../../parts/icon.tsx";
import { Mark, type Tone } from "../../../parts/state.tsx";

const WEBHOOKS: Record<Webhook["state"], [IconName, Tone]> = {
  active: ["good", "good"],
  failing: ["bad", "bad"],
  unsigned: ["bad", "bad"],
  disabled: ["stop", "plain"],
  unknown: ["lost", "bad"],
};

const DELIVERIES: Record<WebhookDelivery["state"], [IconName, Tone]> = {
  waiting: ["wait", "waits"],
  delivered: ["good", "good"],
  failed: ["bad", "bad"],
  superseded: ["gone", "plain"],
  skipped: ["gone", "plain"],
};

/** The state of a webhook. */
export function WebhookStateMark({ state }: Pick<Webhook, "state">) {
  const [icon, tone] = WEBHOOKS[state];
  return <Mark icon={icon} tone={tone} word={state} />;
}

/** The state of a delivery. */
export function DeliveryStateMark({ state }: Pick<WebhookDelivery, "state">) {
  const [icon, tone] = DELIVERIES[state];
  return <Mark icon={icon} tone={tone} word={state} />;
}
