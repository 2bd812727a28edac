// How is an endpoint shown, and how are its deliveries?
import type { Delivery, Webhook } from "../../schema/webhook/webhook.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import { isBehind, wantsUpdates } from "./follow.ts";
import { type DeliveryRow, isLiveDelivery, type ReadonlyEndpoint } from "./record.ts";

/** An endpoint as the API shows it, without its secrets. */
export function webhookView(state: ReadonlyEndpoint, now: Instant): Webhook {
  const { record, deliveries } = state;
  const { name, project, fields, createdAt, createdBy, secrets } = record.settings;
  const { disabled, failing, pausedUntil } = record;
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
    state: disabled !== null ? "disabled" : failing !== null ? "failing" : "active",
    disabled: disabled && { ...disabled, at: iso(disabled.at) },
    failing: failing && { ...failing, since: iso(failing.since) },
    pausedUntil: pausedUntil > now ? iso(pausedUntil) : null,
    waiting: [...deliveries.live()].length,
    behind: behind.map(([pool]) => pool).sort(),
    createdAt: iso(createdAt),
    createdBy,
    oldSecretUntil: isoOrNull(old?.until ?? null),
  };
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
