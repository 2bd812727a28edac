// Which calls can the edge make to an endpoint of webhooks?
import type { Via } from "../../core/audit/via.ts";
import type { Sample } from "../../schema/metrics.ts";
import type { Delivery, DeliveryList, ReplayRequest, Webhook } from "../../schema/webhook/webhook.ts";
import type { Instant } from "../../shared/machine.ts";
import type { DeliveryState } from "../../shared/webhooks/words.ts";

/** The methods of an endpoint for the edge. All throw `unknown_webhook` if it does not exist. */
export interface WebhookApi {
  read(): Promise<Webhook>;
  /** Samples for Prometheus. */
  metrics(): Promise<Sample[]>;
  /** The deliveries, newest first. `cursor`: the `next` of an earlier answer. */
  deliveries(page: { limit: number; states: DeliveryState[]; cursor?: string }): Promise<DeliveryList>;
  /** Sends a test event, and answers when its only attempt is over. */
  test(by: string): Promise<Delivery>;
  /** How many deliveries are tried again; null: a range, in steps. Code: `unknown_delivery`. */
  replay(request: ReplayRequest, by: string, via?: Via): Promise<number | null>;
  disable(by: string, via?: Via): Promise<Webhook>;
  /** `last`: the endpoint goes on where it stopped; an instant: with what ends from then on. */
  enable(from: "last" | Instant, by: string, via?: Via): Promise<Webhook>;
}
