// Which storage and methods does an endpoint of webhooks have? Its decisions are in `core/webhook`.
import { DurableObject } from "cloudflare:workers";
import type { Via } from "../../core/audit/via.ts";
import type { Answer, Message } from "../../core/inbox.ts";
import { Rows } from "../../core/rows.ts";
import { webhookInbox } from "../../core/webhook/inbox.ts";
import {
  type DeliverLetter,
  type WebhookEvent,
  type WebhookMessage,
  webhookMachine,
} from "../../core/webhook/machine.ts";
import { webhookMetrics } from "../../core/webhook/metrics.ts";
import { deliveryView, webhookView } from "../../core/webhook/read.ts";
import {
  type DeliveryRow,
  deliveryKey,
  endpointOf,
  isLiveDelivery,
  type ReadonlyEndpoint,
  type WebhookRecord,
  type WebhookState,
} from "../../core/webhook/record.ts";
import type { Sample } from "../../schema/metrics.ts";
import type { Delivery, DeliveryList, ReplayRequest, Webhook as View } from "../../schema/webhook/webhook.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import type { DeliveryState } from "../../shared/webhooks/words.ts";
import { allowsLocalWebhooks, type Env, urlOf, type WebhookStub } from "../env.ts";
import { post, receive } from "../messages/post.ts";
import { peersOf } from "../messages/stubs.ts";
import { Shell } from "../shell.ts";
import { SqlRowDisk, ValueStore } from "../store.ts";
import { until } from "../waiting.ts";
import { signingSecrets } from "./secret-box.ts";
import { ATTEMPT_TIMEOUT_MS, attempt } from "./send.ts";

/** How many rows one page of deliveries looks at, whether they match or not. */
const SCANNED_ROWS = 10_000;
/** A key above all keys. */
const ABOVE_ALL = "~";

/** The Durable Object of an endpoint. */
export class Webhook extends DurableObject<Env> implements WebhookStub {
  readonly #store = new ValueStore<WebhookRecord>(this.ctx.storage);
  readonly #disk = new SqlRowDisk<DeliveryRow>(this.ctx.storage.sql, "deliveries");
  readonly #shell = new Shell<WebhookState, WebhookEvent, WebhookMessage>(this.ctx, webhookMachine, {
    load: () => ({
      record: this.#store.read(),
      deliveries: new Rows(this.#disk, isLiveDelivery),
      memo: { url: urlOf(this.env), forgotAt: 0, clockAt: 0, news: {} },
    }),
    isStored: ({ deliveries, record }) => deliveries.isFlushed && this.#store.has(record),
    save: (state) => {
      state.deliveries.flush();
      if (state.record === null) return;
      this.#logDisabled(state.record);
      this.#store.write(state.record);
    },
    send: (message) => this.#send(message),
  });
  readonly #actor = this.#shell.actor;

  override async alarm(): Promise<void> {
    this.#shell.alarm();
  }

  async deliver(message: Message<"webhook">): Promise<Answer<"webhook">> {
    this.#shell.count();
    return receive(webhookInbox, this.#actor, message, this.#shell.now());
  }

  /** An operator who reads logs learns of it, too. */
  #logDisabled({ id, settings, disabled }: WebhookRecord): void {
    if (disabled === null || this.#actor.state.record?.disabled != null) return;
    console.warn({ event: "webhook_disabled", id, name: settings?.name, ...disabled });
  }

  #existing(): ReadonlyEndpoint {
    const endpoint = endpointOf(this.#actor.state);
    if (endpoint === undefined) throw new DroverError("unknown_webhook", "there is no such webhook");
    return endpoint;
  }

  async #send(message: WebhookMessage): Promise<WebhookEvent> {
    if (message.kind === "deliver") return this.#attempt(message);
    if (message.kind !== "audit") return post(peersOf(this.env), message);
    const { webhook, entries } = message;
    await peersOf(this.env).registry().takeEntries(webhook, entries);
    return { type: "audit_taken", sent: entries };
  }

  /** Sends the stored bytes of a delivery. What comes of it is an event. */
  async #attempt({ number, tries }: DeliverLetter): Promise<WebhookEvent> {
    const { record, deliveries } = this.#existing();
    const row = deliveries.get(deliveryKey(number));
    if (row === undefined) throw new Error(`delivery ${number} is gone`);
    const { secrets: stored } = record.settings;
    const opened = await signingSecrets(this.env, record.id, stored, this.#shell.now());
    if ("problem" in opened) return { type: "unsigned", number, ...opened };
    const { secrets } = opened;
    const allowLocal = allowsLocalWebhooks(this.env);
    const network = this.env.WEBHOOK_NETWORK;
    const send = (url: string, init: RequestInit) => (network ?? globalThis).fetch(url, init);
    const parcel = { id: row.id, body: row.body, url: record.settings.fields.url, secrets, allowLocal };
    const outcome = await attempt(parcel, send, this.#shell.now);
    return { type: "attempted", number, tries, outcome };
  }

  async read(): Promise<View> {
    this.#shell.enter();
    return webhookView(this.#existing(), this.#shell.now());
  }

  async metrics(): Promise<Sample[]> {
    this.#shell.enter();
    return webhookMetrics(this.#existing());
  }

  async deliveries(page: { limit: number; states: DeliveryState[]; cursor?: string }): Promise<DeliveryList> {
    this.#shell.enter();
    this.#existing();
    const filters = [{ field: "$.state", values: page.states }];
    const { rows, next } = this.#disk.readMatching(
      page.cursor ?? ABOVE_ALL,
      SCANNED_ROWS,
      page.limit,
      filters,
    );
    return { items: rows.map(([, row]) => deliveryView(row)), next };
  }

  async test(by: string): Promise<Delivery> {
    const before = this.#shell.enter().record?.nextNumber ?? 0;
    this.#existing();
    this.#shell.enter({ type: "test", by });
    const key = deliveryKey(before);
    const isOver = () => this.#actor.state.deliveries.get(key)?.state !== "waiting";
    await until(this.#actor, isOver, 2 * ATTEMPT_TIMEOUT_MS);
    const row = this.#actor.state.deliveries.get(key);
    if (row === undefined) throw new DroverError("unknown_webhook", "the webhook was deleted meanwhile");
    return deliveryView(row);
  }

  async replay(
    { ids, since, until: end, all }: ReplayRequest,
    by: string,
    via?: Via,
  ): Promise<number | null> {
    this.#shell.enter();
    const { record, deliveries } = this.#existing();
    if (ids === undefined) {
      const range = {
        since: since === undefined ? 0 : Date.parse(since),
        until: end === undefined ? this.#shell.now() : Date.parse(end),
        all,
      };
      this.#shell.enter({ type: "replay_range", range, by, via });
      return null;
    }
    const numbers = ids.map((id) => {
      const number = id.startsWith(`msg_${record.id}_`) ? Number(id.slice(`msg_${record.id}_`.length)) : 0;
      if (deliveries.get(deliveryKey(number))?.id === id) return number;
      throw new DroverError("unknown_delivery", `there is no delivery "${id}" of this webhook`);
    });
    this.#shell.enter({ type: "replay", numbers, by, via });
    return numbers.length;
  }

  async disable(by: string, via?: Via): Promise<View> {
    this.#shell.enter({ type: "disable", by, via });
    return this.read();
  }

  async enable(from: "last" | Instant, by: string, via?: Via): Promise<View> {
    this.#shell.enter({ type: "enable", from, by, via });
    return this.read();
  }
}
