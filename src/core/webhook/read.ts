// How is an endpoint shown, and how are its deliveries?
import type { Delivery, Webhook } from "../../schema/webhook/webhook.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import { isBehind, wantsUpdates } from "./follow.ts";
import { type DeliveryRow, isLiveDelivery, type ReadonlyEndpoint, type WebhookRecord } from "./record.ts";

/** An endpoint as the API shows it, without its secrets. */
export function webhookView(state: ReadonlyEndpoint, now: Instant): Webhook {
  const { record, deliveries } = state;
  const { name, project, fields, createdAt, createdBy, secrets } = record.settings;
  const { disabled, failing, pausedUntil, unsigned } = record;
  const updates = wantsUpdates(state);
  const old = secrets.find(({ until }) => until !== null && until > now);
  const behind = Object.entries(record.cursors).filter(([, cursor]) => isBehind(cursor, updates));
  return {
    name,
    project,
    id: record.id,
    url: fields.url,
    types: fields.types,
    pools: fields.pools ?? null,
    labels: fields.labels,
    state: stateOf(record),
    disabled: disabled && { ...disabled, at: iso(disabled.at) },
    failing: failing && { ...failing, since: iso(failing.since) },
    unsigned: unsigned && {
      since: iso(unsigned.since),
      text: unsigned.text,
      nextAt: iso(unsigned.nextAt),
    },
    unknown: null,
    pausedUntil: pausedUntil > now ? iso(pausedUntil) : null,
    waiting: [...deliveries.live()].length,
    behind: behind.map(([pool]) => pool).sort(),
    gap: record.gap && { runs: record.gap.runs, at: iso(record.gap.at) },
    createdAt: iso(createdAt),
    createdBy,
    oldSecretUntil: isoOrNull(old?.until ?? null),
  };
}

/** The state of an endpoint (webhooks.md#states). */
export function stateOf({ disabled, unsigned, failing }: WebhookRecord): Webhook["state"] {
  if (disabled !== null) return "disabled";
  if (unsigned !== null) return "unsigned";
  return failing === null ? "active" : "failing";
}

/** A delivery as the API shows it. */
export function deliveryView(row: DeliveryRow): Delivery {
  const { id, type, run, pool, state, tries, createdAt, nextAt, last } = row;
  return {
    id,
    type,
    run,
    pool,
    state,
    tries,
    createdAt: iso(createdAt),
    nextAt: isLiveDelivery(row) ? iso(nextAt) : null,
    last: last && { ...last, at: iso(last.at) },
  };
}
