// What does the registry answer to calls about webhooks (webhooks.md#endpoints)? `core/registry` decides.
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import {
  arePokedAt,
  refusalOfNewWebhook,
  type WebhookRow,
  webhookNamed,
} from "../../core/registry/webhooks.ts";
import type { WebhookFields } from "../../schema/webhook/webhook.ts";
import { refusalOfAddress } from "../../shared/access/outgoing.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { acknowledged, type Watchable } from "../waiting.ts";

/** An endpoint as the registry names it. */
export interface WebhookRef {
  id: string;
  name: string;
  fields: WebhookFields;
}

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "webhooks">;
  readonly actor: Watchable & { readonly state: Pick<RegistryState, "webhooks"> };
}

/** The calls of `RegistryApi` about webhooks. Each change is answered once the endpoint has it. */
export class WebhookCalls {
  readonly #registry: Entered;
  readonly #allowLocal: boolean;

  /** `allowLocal`: loopback and private addresses are allowed. */
  constructor(registry: Entered, allowLocal: boolean) {
    this.#registry = registry;
    this.#allowLocal = allowLocal;
  }

  async create(webhook: WebhookRef & { sealed: string }, by: string): Promise<void> {
    this.#refuseAddress(webhook.fields);
    const refusal = refusalOfNewWebhook(this.#registry.enter().webhooks, webhook.name);
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "webhook_created", ...webhook, by });
    await this.#settled(webhook.id);
  }

  async change(name: string, fields: WebhookFields, by: string): Promise<string> {
    const { id } = this.#row(name);
    this.#refuseAddress(fields);
    this.#registry.enter({ type: "webhook_changed", id, fields, by });
    return this.#settled(id);
  }

  async rotate(name: string, sealed: string, overlapMs: number, by: string): Promise<string> {
    const { id } = this.#row(name);
    this.#registry.enter({ type: "webhook_rotated", id, sealed, overlapMs, by });
    return this.#settled(id);
  }

  async remove(name: string, by: string): Promise<void> {
    const { id } = this.#row(name);
    this.#registry.enter({ type: "webhook_deleted", id, by });
    await this.#settled(id);
  }

  find(name: string): WebhookRef {
    const { id, fields } = this.#row(name);
    return { id, name, fields };
  }

  list(): WebhookRef[] {
    const rows = [...this.#registry.enter().webhooks.live()].filter(({ deletedBy }) => deletedBy === null);
    return rows
      .map(({ id, name, fields }) => ({ id, name, fields }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Pokes the endpoints by `poke`, if it is time (webhooks.md#attempts). `all`: the clock was set. */
  async poke(all: boolean, now: Instant, poke: (id: string) => Promise<unknown>): Promise<void> {
    if (all || arePokedAt(now)) await Promise.allSettled(this.list().map(({ id }) => poke(id)));
  }

  /** Waits until the endpoint has the present settings, or has confirmed its end. */
  async #settled(id: string): Promise<string> {
    const isSettled = () => {
      const row = this.#registry.actor.state.webhooks.get(id);
      return row === undefined || row.accepted >= row.revision;
    };
    const text = "the change is stored, but the webhook has not confirmed it in time; it will be tried again";
    await acknowledged(this.#registry.actor, isSettled, text);
    return id;
  }

  #refuseAddress({ url }: WebhookFields): void {
    const detail = refusalOfAddress(url, this.#allowLocal);
    if (detail === undefined) return;
    throw new DroverError("invalid_request", `/url ${detail}`, { fields: [{ pointer: "/url", detail }] });
  }

  #row(name: string): WebhookRow {
    const row = webhookNamed(this.#registry.enter().webhooks, name);
    if (row !== undefined) return row;
    throw new DroverError(
      "unknown_webhook",
      `there is no webhook "${name}"; \`drover webhooks list\` shows all`,
    );
  }
}
