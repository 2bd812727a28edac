// What does the registry answer to calls about webhooks (webhooks.md#endpoints)? `core/registry` decides.
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import { keyOf, type Named } from "../../core/registry/projects.ts";
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
  project: string;
  fields: WebhookFields;
}

/** An endpoint that exists: all that its object need not be asked for. */
export interface KnownWebhook extends WebhookRef {
  createdAt: Instant;
  createdBy: string;
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
    const refusal = refusalOfNewWebhook(this.#registry.enter().webhooks, webhook);
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "webhook_created", ...webhook, by });
    await this.#settled(webhook.id);
  }

  async change(named: Named, fields: WebhookFields, by: string): Promise<string> {
    const { id } = this.#row(named);
    this.#refuseAddress(fields);
    this.#registry.enter({ type: "webhook_changed", id, fields, by });
    return this.#settled(id);
  }

  /** `seal` seals the new secret for the endpoint with this id. */
  async rotate(
    named: Named,
    seal: (id: string) => Promise<string>,
    overlapMs: number,
    by: string,
  ): Promise<string> {
    const { id } = this.#row(named);
    const sealed = await seal(id);
    this.#registry.enter({ type: "webhook_rotated", id, sealed, overlapMs, by });
    return this.#settled(id);
  }

  async remove(named: Named, by: string): Promise<void> {
    const { id } = this.#row(named);
    this.#registry.enter({ type: "webhook_deleted", id, by });
    await this.#settled(id);
  }

  find(named: Named): KnownWebhook {
    return knownOf(this.#row(named));
  }

  /** The endpoints of a project (null: of all), by name. */
  list(project: string | null): KnownWebhook[] {
    return [...this.#registry.enter().webhooks.live()]
      .filter((row) => row.deletedBy === null && (project === null || row.project === project))
      .map(knownOf)
      .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /** Pokes the endpoints by `poke`, if it is time (webhooks.md#attempts). `all`: the clock was set. */
  async poke(all: boolean, now: Instant, poke: (id: string) => Promise<unknown>): Promise<void> {
    if (all || arePokedAt(now)) await Promise.allSettled(this.list(null).map(({ id }) => poke(id)));
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

  #row(named: Named): WebhookRow {
    const row = webhookNamed(this.#registry.enter().webhooks, named);
    if (row !== undefined) return row;
    throw new DroverError(
      "unknown_webhook",
      `there is no webhook "${named.name}"; \`drover webhooks list\` shows all`,
    );
  }
}

function knownOf({ id, name, project, fields, createdAt, createdBy }: WebhookRow): KnownWebhook {
  return { id, name, project, fields, createdAt, createdBy };
}
