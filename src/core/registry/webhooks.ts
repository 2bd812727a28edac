// Which webhooks exist, and which settings does each still have to learn (webhooks.md#endpoints)?
import type { PoolConfig } from "../../schema/pool.ts";
import type { WebhookFields } from "../../schema/webhook/webhook.ts";
import { servesProject } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { NewEntry, OwedEntry } from "../audit/entry.ts";
import { newEntries } from "../audit/outbox.ts";
import type { Answered, Letter } from "../inbox.ts";
import { ownValue } from "../own-value.ts";
import type { ReadonlyRows, Rows } from "../rows.ts";
import type { SealedSecret } from "../webhook/messages.ts";
import { isFull, type Named, tooManyOf } from "./projects.ts";

/** The most endpoints that there may be. */
export const MAX_WEBHOOKS = 100;

/** How many old secrets of an endpoint can sign beside the present one. */
const MAX_OLD_SECRETS = 3;

/** A stored endpoint. Its object has a copy of the settings, and owns everything else. */
export interface WebhookRow {
  /** The name of its object: never used again, so that no late message can reach another endpoint. */
  id: string;
  name: string;
  project: string;
  revision: number;
  /** The revision that the endpoint has confirmed. */
  accepted: number;
  fields: WebhookFields;
  secrets: SealedSecret[];
  /** The pools that it follows, and since when each. */
  pools: Record<string, Instant>;
  createdAt: Instant;
  createdBy: string;
  /** Who deletes it. Null: it stays. The row goes once the endpoint has confirmed its end. */
  deletedBy: string | null;
  /** The number of the latest entry of the audit log that came from its object; 0: none came. */
  audited: number;
  at: Instant;
}

/** What was asked of an endpoint itself, from its outbox (audit.md#outbox). */
export interface WebhookEntries {
  type: "webhook_entries";
  id: string;
  entries: OwedEntry[];
}

export type WebhookEvent =
  | {
      type: "webhook_created";
      id: string;
      name: string;
      project: string;
      fields: WebhookFields;
      sealed: string;
      by: string;
    }
  | { type: "webhook_changed"; id: string; fields: WebhookFields; by: string }
  | { type: "webhook_rotated"; id: string; sealed: string; overlapMs: Millis; by: string }
  | { type: "webhook_deleted"; id: string; by: string };

export type WebhookAnswered = Answered<"webhook", "configure_webhook">;

/** Applies a request for an endpoint to the table. */
export function foldWebhook(rows: Rows<WebhookRow>, event: WebhookEvent, now: Instant): void {
  if (event.type === "webhook_created") {
    const { id, name, project, fields, sealed, by } = event;
    const secrets = [{ sealed, until: null }];
    const fresh = { revision: 1, accepted: 0, pools: {}, deletedBy: null, audited: 0 };
    const made = { createdAt: now, createdBy: by, at: now };
    rows.set(id, { id, name, project, fields, secrets, ...made, ...fresh }, now);
    return;
  }
  const row = rows.get(event.id);
  if (row === undefined || row.deletedBy !== null) return;
  const next = { ...row, revision: row.revision + 1, at: now };
  switch (event.type) {
    case "webhook_changed":
      rows.set(row.id, { ...next, fields: event.fields }, now);
      return;
    case "webhook_rotated": {
      const old = outgoing(row, now + event.overlapMs, now);
      const secrets = [{ sealed: event.sealed, until: null }, ...old.slice(0, MAX_OLD_SECRETS)];
      rows.set(row.id, { ...next, secrets }, now);
      return;
    }
    case "webhook_deleted":
      rows.set(row.id, { ...next, deletedBy: event.by, secrets: [] }, now);
  }
}

/**
 * The secrets that go on signing after a rotation, the latest first, none for longer than `until`. Among them
 * are those of an earlier rotation whose overlap is not over: its answer may be lost, and then the receiver
 * still has the secret before it.
 */
function outgoing({ secrets }: WebhookRow, until: Instant, now: Instant): SealedSecret[] {
  return secrets
    .map((one) => ({ ...one, until: Math.min(one.until ?? until, until) }))
    .filter((one) => one.until > now);
}

/** The entries among these that are new. Each is stored once, however often it comes. */
export function foldWebhookEntries(
  rows: Rows<WebhookRow>,
  { id, entries: sent }: WebhookEntries,
  now: Instant,
): NewEntry[] {
  const row = rows.get(id);
  if (row === undefined) return [];
  const target = { kind: "webhook", id, name: row.name } as const;
  const { entries, upTo } = newEntries(sent, row.audited, {
    target,
    pool: null,
    run: null,
    project: row.project,
  });
  if (entries.length > 0) rows.set(id, { ...row, audited: upTo }, now);
  return entries;
}

/** Applies the answer of an endpoint. */
export function foldWebhookAnswer(
  rows: Rows<WebhookRow>,
  { sent, answer }: WebhookAnswered,
  now: Instant,
): void {
  const row = rows.get(sent.webhook);
  if (row === undefined || answer.revision < row.revision) return;
  if (row.deletedBy !== null) rows.delete(row.id);
  else if (row.accepted < row.revision) rows.set(row.id, { ...row, accepted: row.revision }, now);
}

/**
 * Gives each endpoint the pools that exist for its project and match its filter, each since it is there. A
 * pool that comes back counts from then on. A pool that serves the project no longer is still followed, since
 * runs that the project has there end later (webhooks.md#following).
 */
export function followPools(
  rows: Rows<WebhookRow>,
  existing: readonly [name: string, config: Pick<PoolConfig, "projects">][],
  now: Instant,
): void {
  for (const row of rows.live()) {
    if (row.deletedBy !== null) continue;
    const { pools: chosen } = row.fields;
    const isFor = (pool: string, config: Pick<PoolConfig, "projects">) =>
      servesProject(config, row.project) || Object.hasOwn(row.pools, pool);
    const wanted = existing
      .filter(([pool, config]) => isFor(pool, config) && (chosen?.includes(pool) ?? true))
      .map(([pool]) => pool)
      .sort();
    if (wanted.join(" ") === Object.keys(row.pools).sort().join(" ")) continue;
    const pools = Object.fromEntries(wanted.map((pool) => [pool, ownValue(row.pools, pool) ?? now]));
    rows.set(row.id, { ...row, pools, revision: row.revision + 1, at: now }, now);
  }
}

/** The settings that endpoints have not confirmed yet. */
export function webhooksOwed(rows: ReadonlyRows<WebhookRow>): Letter<"webhook", "configure_webhook">[] {
  return [...rows.live()]
    .filter(({ accepted, revision }) => accepted < revision)
    .map((row) => {
      const { id, name, project, revision, fields, secrets, pools, createdAt, createdBy } = row;
      const live = { name, project, fields, secrets, pools, createdAt, createdBy };
      const settings = row.deletedBy === null ? live : null;
      const body = { webhook: id, revision, settings };
      return { object: "webhook", to: id, kind: "configure_webhook", repeatedBy: "self", body };
    });
}

/** How often endpoints are poked, and for how long after that each tick of the cron does it. */
const POKED_EACH_MS: Millis = 3_600_000;
const POKED_FOR_MS: Millis = 300_000;

/**
 * Whether the registry pokes the endpoints at this tick of the cron: one tick an hour. No pool repeats what
 * an endpoint owes its receiver, so an endpoint whose alarm was lost would wait for the next end of a run
 * (messages.md#self-repair).
 */
export function arePokedAt(now: Instant): boolean {
  return now % POKED_EACH_MS < POKED_FOR_MS;
}

/** The endpoint of this name, unless it is being deleted. */
export function webhookNamed(
  rows: ReadonlyRows<WebhookRow>,
  { project, name }: Named,
): WebhookRow | undefined {
  return [...rows.live()].find(
    (row) => row.name === name && row.project === project && row.deletedBy === null,
  );
}

/** Why an endpoint cannot be created; null: it can. */
export function refusalOfNewWebhook(rows: ReadonlyRows<WebhookRow>, webhook: Named): DroverError | null {
  const live = [...rows.live()];
  if (isFull(live, MAX_WEBHOOKS, webhook.project)) {
    const advice = "remove those that are not used any more";
    return tooManyOf(["webhooks", advice], MAX_WEBHOOKS, webhook.project);
  }
  if (webhookNamed(rows, webhook) === undefined) return null;
  const text = `there is a webhook "${webhook.name}" already; change it, or choose another name`;
  return new DroverError("webhook_exists", text);
}
